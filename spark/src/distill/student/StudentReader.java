package distill.student;

import com.fasterxml.jackson.databind.JsonNode;
import distill.features.Extractor;
import distill.json.Fields;
import distill.student.Guard.Action;
import distill.student.Guard.Operator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Reads student files ({@code docs/student-format.md}). Unknown fields, models and versions are refused, as are other
 * features than those of {@link Extractor}. Whether the numbers are those that {@code patches} say is not looked at.
 */
public final class StudentReader {
    private static final long FORMAT_VERSION = 1;
    private static final List<String> OPERATORS = List.of(">", ">=", "<", "<=");

    private StudentReader() {}

    /** Reads a file. What is wrong with it is an {@link IllegalArgumentException} that names the file and the place. */
    public static JsonStudent load(Path file) throws IOException {
        try {
            return read(Files.readString(file));
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(file + ": not a student that can be used here: " + e.getMessage(), e);
        }
    }

    /** Reads the text of a file. */
    public static JsonStudent read(String text) {
        JsonNode json = Fields.parse(text);
        // The version first: fields of another version would only confuse the message.
        JsonNode version = json.path("format_version");
        if (!version.isIntegralNumber()) {
            throw wrong("`format_version` is missing; `distill fit` writes students");
        }
        if (version.longValue() != FORMAT_VERSION) {
            throw wrong("student format version " + version + " is not supported (this reads " + FORMAT_VERSION + ")");
        }
        Fields fields = new Fields(json, "student", "format_version", "scenario", "abstains", "feature_set_hash",
            "feature_set", "structure", "levels", "guards", "patches", "provenance");
        if (!fields.text("scenario").equals("dag")) {
            throw wrong("it is one of the scenario `" + fields.text("scenario") + "`, expected `dag`");
        }
        checkFeatures(fields);
        checkRest(fields);
        boolean isFlat = json.has("structure")
            && fields.word("structure", List.of("hierarchical", "flat")).equals("flat");
        JsonNode[] byLevel = byLevel(fields.list("levels"));
        JsonStudent.Level[] levels = new JsonStudent.Level[Extractor.LEVELS];
        for (int level = 0; level < levels.length; level++) {
            levels[level] = level(level, byLevel[level], guards(level, fields.listOrNone("guards")), isFlat);
        }
        return new JsonStudent(levels, isFlat ? Extractor.LEVELS - 1 : 0, fields.flagNeeded("abstains"));
    }

    private static IllegalArgumentException wrong(String problem) {
        return new IllegalArgumentException(problem);
    }

    /** Checks that the features are those that are worked out here. */
    private static void checkFeatures(Fields student) {
        String hash = student.text("feature_set_hash");
        if (!hash.equals(Extractor.FEATURE_SET)) {
            throw wrong("it was fitted on other features than are worked out here: their hash is " + hash + ", expected "
                + Extractor.FEATURE_SET + "; fit it again with a distill of this version");
        }
        Fields set = new Fields(student.get("feature_set"), "feature_set", "scenario", "levels");
        JsonNode levels = set.list("levels");
        if (levels.size() != Extractor.LEVELS) {
            throw wrong("feature_set: " + levels.size() + " levels, expected " + Extractor.LEVELS);
        }
        for (int level = 0; level < Extractor.LEVELS; level++) {
            Fields spec = new Fields(levels.get(level), "feature_set, level " + level, "name", "question", "candidates",
                "entities", "features");
            if (levelOf(spec.text("name")) != level) {
                throw wrong(spec.where() + ": it is called `" + spec.text("name") + "`, expected `"
                    + Extractor.level(level) + "`");
            }
            List<String> names = new ArrayList<>();
            for (JsonNode feature : spec.list("features")) {
                names.add(feature.path("name").asText());
            }
            List<String> expected = Arrays.asList(Extractor.names(level));
            if (!names.equals(expected)) {
                throw wrong(spec.where() + ": its features are " + names + ", expected " + expected);
            }
        }
    }

    /** The place of a level; −1 if there is none of that name. The level `amount` was called `cluster` once. */
    private static int levelOf(String name) {
        for (int level = 0; level < Extractor.LEVELS; level++) {
            if (Extractor.level(level).equals(name)) {
                return level;
            }
        }
        return name.equals("cluster") ? Extractor.LEVELS - 1 : -1;
    }

    private static int knownLevel(Fields fields) {
        int level = levelOf(fields.text("level"));
        if (level < 0) {
            throw wrong(fields.where() + ": there is no level `" + fields.text("level") + "`");
        }
        return level;
    }

    /** Checks what decides nothing, as far as its fields go. */
    private static void checkRest(Fields student) {
        new Fields(student.get("provenance"), "provenance", "trace_hash", "teacher", "workload", "crate_version",
            "parameters", "fidelity");
        for (JsonNode patch : student.listOrNone("patches")) {
            Fields fields = new Fields(patch, "patch", "changes", "evidence");
            for (JsonNode change : fields.list("changes")) {
                new Fields(change, "change of a patch", "place", "was", "now");
            }
            checkEvidence(fields);
        }
    }

    private static void checkEvidence(Fields edit) {
        if (edit.has("evidence")) {
            new Fields(edit.get("evidence"), edit.where() + ", evidence", "reason", "gain", "firing_rate");
        }
    }

    /** Models and what belongs to them, by level; the first of a name counts. */
    private static JsonNode[] byLevel(JsonNode levels) {
        JsonNode[] byLevel = new JsonNode[Extractor.LEVELS];
        for (JsonNode json : levels) {
            Fields fields = new Fields(json, "level", "level", "use", "pick", "models");
            int level = knownLevel(fields);
            byLevel[level] = byLevel[level] == null ? json : byLevel[level];
        }
        for (int level = 0; level < byLevel.length; level++) {
            if (byLevel[level] == null) {
                throw wrong("it has no models for level `" + Extractor.level(level) + "`");
            }
        }
        return byLevel;
    }

    private static JsonStudent.Level level(int level, JsonNode json, Guard[] guards, boolean isFlat) {
        String where = "level `" + Extractor.level(level) + "`";
        Fields fields = new Fields(json, where, "level", "use", "pick", "models");
        boolean isMedian = json.has("pick") && fields.word("pick", List.of("mode", "median")).equals("median");
        if (isMedian && isFlat && level + 1 < Extractor.LEVELS) {
            throw wrong(where + ": a flat student takes the most probable path, and the median only of amounts");
        }
        String used = fields.text("use");
        JsonStudent.Level found = null;
        // All models are checked, as they are in the original; the one in use schedules.
        for (JsonNode named : fields.list("models")) {
            Fields m = new Fields(named, where + ", model", "name", "temperature", "model");
            String place = where + ", model `" + m.text("name") + "`";
            double temperature = m.number("temperature");
            if (!(temperature > 0 && temperature < Double.POSITIVE_INFINITY)) {
                throw wrong(place + ": temperature must be positive, got " + temperature);
            }
            int width = Extractor.width(level);
            Model model = new ModelReader(place, width).read(m.get("model"));
            if (found == null && m.text("name").equals(used)) {
                found = new JsonStudent.Level(model, temperature, isMedian, guards, width);
            }
        }
        if (found == null) {
            throw wrong(where + ": `use` names model `" + used + "`, which is not there");
        }
        return found;
    }

    /** The guards of a level, in order. */
    private static Guard[] guards(int level, JsonNode all) {
        List<Guard> guards = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            Fields fields = new Fields(all.get(i), "guard " + i, "level", "when", "action", "evidence");
            checkEvidence(fields);
            if (knownLevel(fields) == level) {
                guards.add(guard(level, fields));
            }
        }
        return guards.toArray(new Guard[0]);
    }

    private static Guard guard(int level, Fields fields) {
        List<String> names = Arrays.asList(Extractor.names(level));
        JsonNode when = fields.list("when");
        int n = when.size();
        if (n == 0) {
            throw wrong(fields.where() + ": it has no condition");
        }
        int none = names.indexOf("is_none");
        int[] column = new int[n];
        Operator[] operator = new Operator[n];
        float[] value = new float[n];
        for (int i = 0; i < n; i++) {
            Fields condition = new Fields(when.get(i), fields.where(), "feature", "operator", "value");
            String feature = condition.text("feature");
            column[i] = names.indexOf(feature);
            if (column[i] < 0) {
                throw wrong(
                    fields.where() + ": level `" + Extractor.level(level) + "` has no feature `" + feature + "`");
            }
            operator[i] = Operator.values()[OPERATORS.indexOf(condition.word("operator", OPERATORS))];
            value[i] = (float) condition.number("value");
            if (Float.isNaN(value[i]) || Float.isInfinite(value[i])) {
                throw wrong(fields.where() + ": `" + feature + "` is compared with a value that is not finite");
            }
            none = feature.equals("is_none") ? -1 : none;
        }
        String action = fields.word("action", List.of("first", "last", "never"));
        return new Guard(none, column, operator, value, Action.valueOf(action.toUpperCase(Locale.ROOT)));
    }
}
