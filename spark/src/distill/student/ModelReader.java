package distill.student;

import com.fasterxml.jackson.databind.JsonNode;
import distill.json.Fields;
import distill.student.Additive.Factor;
import distill.student.Additive.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Reads and checks the models of a student file, those of earlier versions too. */
final class ModelReader {
    private final String where;
    private final int width;

    /** For models of a level of so many features; {@code where} is what errors call the model. */
    ModelReader(String where, int width) {
        this.where = where;
        this.width = width;
    }

    private IllegalArgumentException wrong(String problem) {
        return new IllegalArgumentException(where + ": " + problem);
    }

    Model read(JsonNode json) {
        String type = json.path("type").asText();
        switch (type) {
            case "tree":
                return TreeReader.read(json, where, width);
            case "additive":
                Fields sum = new Fields(json, where, "type", "intercept", "terms");
                return terms(json.has("intercept") ? sum.number("intercept") : 0, sum.list("terms"));
            case "spline_logit":
                return terms(0, new Fields(json, where, "type", "terms").list("terms"));
            case "linear":
                Fields linear = new Fields(json, where, "type", "coefficient", "intercept", "feature_sd");
                return lists(linear, linear.number("intercept"), new long[0][]);
            case "choice_logit":
                return choiceLogit(json);
            case "pairwise":
                return pairwise(json);
            case "regime":
                return regime(json);
            default:
                throw wrong("unknown type of model `" + type + "`, expected tree, additive, pairwise or regime");
        }
    }

    private Model pairwise(JsonNode json) {
        Tree tree = TreeReader.read(new Fields(json, where, "type", "tree").get("tree"), where, 2 * width);
        if (tree.outputs() != 1 || tree.isLinear()) {
            throw wrong("a pairwise tree has one output and no linear leaves");
        }
        return new Pairwise(tree);
    }

    private Model regime(JsonNode json) {
        Fields fields = new Fields(json, where, "type", "tree", "models");
        Tree tree = TreeReader.read(fields.get("tree"), where, width);
        if (tree.outputs() != 1 || tree.isLinear()) {
            throw wrong("the tree of a regime has one output and no linear leaves");
        }
        JsonNode list = fields.list("models");
        Model[] models = new Model[list.size()];
        for (int node = 0; node < tree.nodes(); node++) {
            double value = tree.value(node);
            if (tree.isLeaf(node) && !(value >= 0 && value == Math.rint(value) && value < models.length)) {
                throw wrong("leaf " + node + " of a regime names model " + value + "; it has " + models.length);
            }
        }
        for (int i = 0; i < models.length; i++) {
            ModelReader reader = new ModelReader(where + ", model " + i + " of the regime", width);
            if (list.get(i).path("type").asText().equals("regime")) {
                throw reader.wrong("it is a regime itself");
            }
            models[i] = reader.read(list.get(i));
        }
        return new Regime(tree, models);
    }

    /** Coefficients as they used to be written: one per feature, then one per product of two. */
    private Model choiceLogit(JsonNode json) {
        Fields fields = new Fields(json, where, "type", "coefficient", "standard_error", "feature_sd", "interactions");
        JsonNode pairs = fields.listOrNone("interactions");
        long[][] interactions = new long[pairs.size()][];
        for (int i = 0; i < interactions.length; i++) {
            interactions[i] = new long[] {pairs.get(i).path(0).asLong(-1), pairs.get(i).path(1).asLong(-1)};
            if (pairs.get(i).size() != 2) {
                throw wrong("`interactions` holds " + pairs.get(i) + ", expected two columns");
            }
        }
        if (fields.has("standard_error") && fields.list("standard_error").size() != fields.list("coefficient").size()) {
            throw wrong("`standard_error` and `coefficient` have different lengths");
        }
        return lists(fields, 0, interactions);
    }

    private Model lists(Fields fields, double intercept, long[][] interactions) {
        double[] coefficient = fields.numbers("coefficient");
        int features = coefficient.length - interactions.length;
        if (fields.numbers("feature_sd").length != coefficient.length || features < 0) {
            throw wrong("`coefficient` and the lists beside it have different lengths");
        }
        Sum sum = new Sum(intercept);
        for (int i = 0; i < coefficient.length; i++) {
            if (i >= features) {
                sum.add(coefficient[i], linear(interactions[i - features][0]), linear(interactions[i - features][1]));
            } else if (coefficient[i] != 0) {
                // Features whose coefficient is 0 were not used.
                sum.add(coefficient[i], linear(i), null);
            }
        }
        return sum.model();
    }

    private Factor linear(long column) {
        return new Factor(column(column), Shape.LINEAR, 0);
    }

    private int column(long column) {
        if (column < 0 || column >= width) {
            throw wrong("feature " + column + " is used, but there are " + width);
        }
        return (int) column;
    }

    private Model terms(double intercept, JsonNode terms) {
        Sum sum = new Sum(intercept);
        for (int i = 0; i < terms.size(); i++) {
            String place = where + ", term " + i;
            Fields term = new Fields(terms.get(i), place, "coefficient", "factors", "sd", "standard_error");
            term.number("sd");
            JsonNode factors = term.list("factors");
            if (factors.size() < 1 || factors.size() > 2) {
                throw wrong("term " + i + " has " + factors.size() + " factors, expected 1 or 2");
            }
            Factor first = factor(factors.get(0), place);
            sum.add(term.number("coefficient"), first, factors.size() > 1 ? factor(factors.get(1), place) : null);
        }
        return sum.model();
    }

    private Factor factor(JsonNode json, String place) {
        Fields fields = new Fields(json, place, "feature", "shape", "threshold");
        String word = fields.word("shape", List.of("linear", "log", "above", "excess"));
        Shape shape = Shape.valueOf(word.toUpperCase(Locale.ROOT));
        boolean needed = shape == Shape.ABOVE || shape == Shape.EXCESS;
        if (needed != fields.has("threshold")) {
            throw new IllegalArgumentException(
                place + ": a factor " + (needed ? "lacks its `threshold`" : "has a `threshold` without use"));
        }
        float threshold = needed ? (float) fields.number("threshold") : 0;
        if (Float.isNaN(threshold) || Float.isInfinite(threshold)) {
            throw new IllegalArgumentException(place + ": a `threshold` is not finite");
        }
        return new Factor(column(fields.count("feature")), shape, threshold);
    }

    /** Terms that come together. */
    private final class Sum {
        private final double intercept;
        private final List<Double> coefficient = new ArrayList<>();
        private final List<Factor> first = new ArrayList<>();
        private final List<Factor> second = new ArrayList<>();

        Sum(double intercept) {
            this.intercept = intercept;
            check(intercept, "intercept");
        }

        private void check(double number, String name) {
            if (Double.isNaN(number) || Double.isInfinite(number)) {
                throw wrong("`" + name + "` is not finite");
            }
        }

        void add(double coefficient, Factor first, Factor second) {
            check(coefficient, "coefficient");
            this.coefficient.add(coefficient);
            this.first.add(first);
            this.second.add(second);
        }

        Model model() {
            return new Additive(intercept, coefficient.stream().mapToDouble(c -> c).toArray(),
                first.toArray(new Factor[0]), second.toArray(new Factor[0]));
        }
    }
}
