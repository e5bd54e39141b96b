package distill.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/**
 * The fields of a JSON object, of which each must be known: who writes {@code colour} and nothing comes of it is told so.
 * Whatever is wrong is an {@link IllegalArgumentException} that says where.
 */
public final class Fields {
    private static final long MOST_COUNT = 0xFFFF_FFFFL;
    private static final ObjectMapper MAPPER = new ObjectMapper()
        .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
        .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
        .configure(JsonParser.Feature.INCLUDE_SOURCE_IN_LOCATION, false);

    private final JsonNode node;
    private final String where;

    /**
     * The fields of an object.
     *
     * @param where what errors call it
     * @param known its fields; others are refused
     */
    public Fields(JsonNode node, String where, String... known) {
        if (!node.isObject()) {
            throw new IllegalArgumentException(where + ": expected an object, found " + brief(node));
        }
        for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            if (!Arrays.asList(known).contains(name)) {
                throw new IllegalArgumentException(
                    where + ": unknown field `" + name + "`, expected one of " + String.join(", ", known));
            }
        }
        this.node = node;
        this.where = where;
    }

    /** Reads one JSON value from a text. */
    public static JsonNode parse(String text) {
        try {
            return MAPPER.readTree(text.startsWith("\uFEFF") ? text.substring(1) : text);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("no JSON: " + e.getOriginalMessage(), e);
        }
    }

    /** What errors call it. */
    public String where() {
        return where;
    }

    /** Whether a field is there; one that is null is not. */
    public boolean has(String name) {
        return node.hasNonNull(name);
    }

    /** A field that is needed. */
    public JsonNode get(String name) {
        JsonNode found = node.path(name);
        if (found instanceof MissingNode) {
            throw new IllegalArgumentException(where + ": field `" + name + "` is missing");
        }
        return found;
    }

    private IllegalArgumentException wrong(String name, String expected, JsonNode found) {
        return new IllegalArgumentException(
            where + ", `" + name + "`: expected " + expected + ", found " + brief(found));
    }

    private static String brief(JsonNode node) {
        String text = node.toString();
        return text.length() > 40 ? text.substring(0, 40) + "..." : text;
    }

    /** A text that is needed. */
    public String text(String name) {
        JsonNode found = get(name);
        if (!found.isTextual()) {
            throw wrong(name, "a text", found);
        }
        return found.textValue();
    }

    /** Whether something is so; what is left out is not. */
    public boolean flag(String name) {
        return node.has(name) && flagNeeded(name);
    }

    /** Whether something is so; the field is needed. */
    public boolean flagNeeded(String name) {
        JsonNode found = get(name);
        if (!found.isBoolean()) {
            throw wrong(name, "true or false", found);
        }
        return found.booleanValue();
    }

    /** A number that is needed. */
    public double number(String name) {
        return number(name, get(name));
    }

    private double number(String name, JsonNode found) {
        if (!found.isNumber()) {
            throw wrong(name, "a number", found);
        }
        return found.doubleValue();
    }

    /** A whole number from 0 to 2³²−1 that is needed. */
    public long count(String name) {
        return count(name, get(name));
    }

    /** A whole number from 0 to 2³²−1; something else where it is left out. */
    public long count(String name, long otherwise) {
        return node.has(name) ? count(name) : otherwise;
    }

    private long count(String name, JsonNode found) {
        boolean fits = found.isIntegralNumber() && found.canConvertToLong();
        if (!fits || found.longValue() < 0 || found.longValue() > MOST_COUNT) {
            throw wrong(name, "a whole number from 0 to " + MOST_COUNT, found);
        }
        return found.longValue();
    }

    /** A whole number that an int holds: a larger one is no figure that can be. */
    public int small(String name) {
        long count = count(name);
        return count > Integer.MAX_VALUE ? Integer.MAX_VALUE : (int) count;
    }

    /** The same; something else where it is left out. */
    public int small(String name, int otherwise) {
        return node.has(name) ? small(name) : otherwise;
    }

    /** A list that is needed. */
    public JsonNode list(String name) {
        JsonNode found = get(name);
        if (!found.isArray()) {
            throw wrong(name, "a list", found);
        }
        return found;
    }

    /** A list; an empty one where it is left out. */
    public JsonNode listOrNone(String name) {
        return node.has(name) ? list(name) : MAPPER.createArrayNode();
    }

    /** A list of numbers that is needed. */
    public double[] numbers(String name) {
        JsonNode list = list(name);
        double[] numbers = new double[list.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = number(name, list.get(i));
        }
        return numbers;
    }

    /** A list of whole numbers from 0 to 2³²−1 that is needed. */
    public long[] counts(String name) {
        JsonNode list = list(name);
        long[] counts = new long[list.size()];
        for (int i = 0; i < counts.length; i++) {
            counts[i] = count(name, list.get(i));
        }
        return counts;
    }

    /** A list of what is so and what is not; it is needed. */
    public boolean[] flags(String name) {
        JsonNode list = list(name);
        boolean[] flags = new boolean[list.size()];
        for (int i = 0; i < flags.length; i++) {
            if (!list.get(i).isBoolean()) {
                throw wrong(name, "a list of true and false", list.get(i));
            }
            flags[i] = list.get(i).booleanValue();
        }
        return flags;
    }

    /** One of several words; the field is needed. */
    public String word(String name, List<String> words) {
        String found = text(name);
        if (!words.contains(found)) {
            throw new IllegalArgumentException(
                where + ", `" + name + "`: unknown `" + found + "`, expected one of " + String.join(", ", words));
        }
        return found;
    }
}
