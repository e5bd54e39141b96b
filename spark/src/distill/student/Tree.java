package distill.student;

/** A decision tree as flat arrays, node 0 the root; each row gets the value of the leaf that it reaches. */
final class Tree implements Model {
    /** The child of a leaf. */
    static final int LEAF = -1;

    private final int[] feature;
    private final float[] threshold;
    private final int[] left;
    private final int[] right;
    private final boolean[] defaultLeft;
    private final int outputs;
    private final double[] value;
    private final Linear linear;

    /** Linear functions that take the place of the leaves' values. */
    static final class Linear {
        final double[] intercept;
        /** Where each node's terms begin in the lists below, and the end. */
        final int[] start;
        final int[] feature;
        final double[] coefficient;

        Linear(double[] intercept, int[] start, int[] feature, double[] coefficient) {
            this.intercept = intercept;
            this.start = start;
            this.feature = feature;
            this.coefficient = coefficient;
        }

        double of(int leaf, float[] x, int from) {
            // The terms are added up by themselves first, as in the original.
            double sum = -0.0;
            for (int term = start[leaf]; term < start[leaf + 1]; term++) {
                sum += coefficient[term] * x[from + feature[term]];
            }
            return intercept[leaf] + sum;
        }
    }

    /** A tree whose arrays have been checked; {@code linear} may be null. */
    Tree(int[] feature, float[] threshold, int[] left, int[] right, boolean[] defaultLeft, int outputs, double[] value,
        Linear linear) {
        this.feature = feature;
        this.threshold = threshold;
        this.left = left;
        this.right = right;
        this.defaultLeft = defaultLeft;
        this.outputs = outputs;
        this.value = value;
        this.linear = linear;
    }

    int outputs() {
        return outputs;
    }

    boolean isLinear() {
        return linear != null;
    }

    int nodes() {
        return feature.length;
    }

    boolean isLeaf(int node) {
        return left[node] == LEAF;
    }

    /** The first output of a node. */
    double value(int node) {
        return value[node * outputs];
    }

    private boolean goesLeft(int node, float x) {
        // A missing value compares with nothing.
        return x <= threshold[node] || (x != x && defaultLeft[node]);
    }

    /** The leaf that a row reaches. */
    private int leaf(float[] x, int from) {
        int node = 0;
        while (left[node] != LEAF) {
            node = goesLeft(node, x[from + feature[node]]) ? left[node] : right[node];
        }
        return node;
    }

    /** The leaf that a pair of rows reaches: columns beyond a row are differences, first − second. */
    int leafOfPair(float[] x, int first, int second, int width) {
        int node = 0;
        while (left[node] != LEAF) {
            int column = feature[node];
            float value = column < width
                ? x[first + column]
                : x[first + column - width] - x[second + column - width];
            node = goesLeft(node, value) ? left[node] : right[node];
        }
        return node;
    }

    /** The first output for a row, or its leaf's linear function. */
    double predict(float[] x, int from) {
        int leaf = leaf(x, from);
        return linear == null ? value(leaf) : linear.of(leaf, x, from);
    }

    @Override
    public void score(float[] x, int from, int width, int count, double[] scores, int at) {
        for (int row = 0; row < count; row++) {
            scores[at + row] = predict(x, from + row * width);
        }
    }

    @Override
    public void mark(boolean[] read) {
        // Columns of a pair are a candidate's features, then the differences to its opponent's.
        for (int node = 0; node < feature.length; node++) {
            if (!isLeaf(node)) {
                read[feature[node] % read.length] = true;
            }
        }
        if (linear != null) {
            for (int column : linear.feature) {
                read[column] = true;
            }
        }
    }
}
