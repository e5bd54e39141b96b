package distill.student;

import com.fasterxml.jackson.databind.JsonNode;
import distill.json.Fields;

/** Reads and checks trees of a student file. */
final class TreeReader {
    /** The child of a leaf, as files have it. */
    private static final long LEAF = 0xFFFF_FFFFL;

    private TreeReader() {}

    /** A tree over rows of so many columns; {@code type} is a field that it may have besides. */
    static Tree read(JsonNode json, String where, int width) {
        Fields fields = new Fields(json, where, "type", "operator", "feature", "threshold", "left", "right",
            "default_left", "outputs", "value", "impurity", "n_samples", "weight", "linear");
        if (!fields.text("operator").equals("<=")) {
            throw wrong(where, "operator is `" + fields.text("operator") + "`, expected `<=`");
        }
        long[] feature = fields.counts("feature");
        int n = feature.length;
        if (n == 0) {
            throw wrong(where, "has no nodes");
        }
        double[] threshold = fields.numbers("threshold");
        long[] left = fields.counts("left");
        long[] right = fields.counts("right");
        boolean[] defaultLeft = fields.flags("default_left");
        int[] lengths = {threshold.length, left.length, right.length, defaultLeft.length,
            fields.numbers("impurity").length, fields.counts("n_samples").length, fields.numbers("weight").length};
        String[] names = {"threshold", "left", "right", "default_left", "impurity", "n_samples", "weight"};
        for (int i = 0; i < lengths.length; i++) {
            if (lengths[i] != n) {
                throw wrong(where,
                    "`" + names[i] + "` has " + lengths[i] + " entries, expected " + n + " as in `feature`");
            }
        }
        long outputs = fields.count("outputs", 1);
        double[] value = fields.numbers("value");
        if (outputs == 0 || n * outputs != value.length) {
            throw wrong(where, "`value` has " + value.length + " entries, expected " + n + " × " + outputs + " outputs");
        }
        checkNodes(where, width, feature, left, right);
        checkFinite(where, "value", value);
        Tree.Linear linear = fields.has("linear") ? linear(json.get("linear"), where, n, width, outputs) : null;
        int[] columns = new int[n];
        for (int node = 0; node < n; node++) {
            // The column of a leaf means nothing.
            columns[node] = left[node] == LEAF ? 0 : (int) feature[node];
        }
        return new Tree(columns, singles(where, threshold), children(left), children(right), defaultLeft, (int) outputs,
            value, linear);
    }

    private static IllegalArgumentException wrong(String where, String problem) {
        return new IllegalArgumentException(where + ": " + problem);
    }

    private static void checkFinite(String where, String name, double[] numbers) {
        for (double number : numbers) {
            if (Double.isNaN(number) || Double.isInfinite(number)) {
                throw wrong(where, "`" + name + "` holds a number that is not finite");
            }
        }
    }

    private static float[] singles(String where, double[] numbers) {
        float[] singles = new float[numbers.length];
        for (int i = 0; i < singles.length; i++) {
            singles[i] = (float) numbers[i];
            if (Float.isNaN(singles[i]) || Float.isInfinite(singles[i])) {
                throw wrong(where, "node " + i + " holds a number that is not finite");
            }
        }
        return singles;
    }

    private static int[] children(long[] children) {
        int[] list = new int[children.length];
        for (int i = 0; i < list.length; i++) {
            list[i] = children[i] == LEAF ? Tree.LEAF : (int) children[i];
        }
        return list;
    }

    /** Checks that every way from the root ends at a leaf. */
    private static void checkNodes(String where, int width, long[] feature, long[] left, long[] right) {
        int n = feature.length;
        int[] parents = new int[n];
        for (int node = 0; node < n; node++) {
            if ((left[node] == LEAF) != (right[node] == LEAF)) {
                throw wrong(where, "node " + node + " has only one child");
            }
            if (left[node] == LEAF) {
                continue;
            }
            if (feature[node] >= width) {
                throw wrong(where, "node " + node + " tests feature " + feature[node] + ", but there are " + width);
            }
            for (long child : new long[] {left[node], right[node]}) {
                if (child <= node || child >= n) {
                    throw wrong(where,
                        "node " + node + " has child " + child + "; children are in " + (node + 1) + ".." + n);
                }
                parents[(int) child]++;
            }
        }
        for (int node = 1; node < n; node++) {
            if (parents[node] != 1) {
                throw wrong(where, "node " + node + " has " + parents[node] + " parents, expected 1");
            }
        }
    }

    private static Tree.Linear linear(JsonNode json, String tree, int nodes, int width, long outputs) {
        String where = tree + ", linear leaves";
        if (outputs != 1) {
            throw wrong(where, "they need one output, found " + outputs);
        }
        Fields fields = new Fields(json, where, "intercept", "start", "feature", "coefficient");
        double[] intercept = fields.numbers("intercept");
        long[] start = fields.counts("start");
        long[] feature = fields.counts("feature");
        double[] coefficient = fields.numbers("coefficient");
        if (intercept.length != nodes || start.length != nodes + 1 || coefficient.length != feature.length) {
            throw wrong(where, "their lists do not have one entry per node, or per term");
        }
        boolean rises = start[0] == 0 && start[nodes] == feature.length;
        for (int node = 0; node < nodes; node++) {
            rises &= start[node] <= start[node + 1];
        }
        if (!rises) {
            throw wrong(where, "`start` must rise from 0 to " + feature.length + ", the number of terms");
        }
        for (long column : feature) {
            if (column >= width) {
                throw wrong(where, "feature " + column + " is used, but there are " + width);
            }
        }
        checkFinite(where, "intercept", intercept);
        checkFinite(where, "coefficient", coefficient);
        return new Tree.Linear(intercept, ints(start), ints(feature), coefficient);
    }

    private static int[] ints(long[] list) {
        int[] ints = new int[list.length];
        for (int i = 0; i < ints.length; i++) {
            ints[i] = (int) list[i];
        }
        return ints;
    }
}
