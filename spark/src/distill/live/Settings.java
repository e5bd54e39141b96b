package distill.live;

import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.SparkConf;
import scala.Tuple2;

/** What the operator has asked for by {@code spark.distill.*}. */
final class Settings {
    static final String PREFIX = "spark.distill.";
    /** Who decides. */
    enum Mode {
        /** Spark; the student is asked beside it. */
        SHADOW,
        /** The student. */
        DECIDE
    }

    /** When a slot is offered again. */
    enum Release {
        /** After each task. */
        TASK,
        /** When its stage has no more tasks to launch. */
        STAGE
    }

    private static final List<String> KEYS =
            Arrays.asList("student", "mode", "log", "profile", "fallback", "release", "maxPassedOver");
    static final int MAX_PASSED_OVER = 1000;

    /** A class, a student file, {@code unix:PATH} or {@code rule:NAME}. */
    final String student;
    final Mode mode;
    final Release release;
    /** Where the lines of the protocol go, or null. */
    final Path log;
    /** What earlier runs took: read at the start if it is there, written at the end; or null. */
    final Path profile;
    /** The rule whose order holds where the student has none, or null for Spark's own order. */
    final Rule fallback;
    /** Tasks that others may launch before a task set with waiting tasks launches one. */
    final int maxPassedOver;

    private Settings(SparkConf conf) {
        for (Tuple2<String, String> pair : conf.getAllWithPrefix(PREFIX)) {
            if (!KEYS.contains(pair._1())) {
                throw new IllegalArgumentException(PREFIX + pair._1() + " is no setting; there are " + PREFIX + String.join(", " + PREFIX, KEYS));
            }
        }
        student = conf.get(PREFIX + "student", "");
        if (student.isEmpty()) {
            throw new IllegalArgumentException(PREFIX + "student says who is to be asked: a student file (/path/student.json), a class of "
                    + "`distill export --to java`, unix:PATH of `distill serve`, or " + Rule.names());
        }
        mode = mode(conf.get(PREFIX + "mode", "shadow"));
        release = release(conf.get(PREFIX + "release", "task"));
        log = path(conf.get(PREFIX + "log", ""));
        profile = path(conf.get(PREFIX + "profile", ""));
        String fallback = conf.get(PREFIX + "fallback", "spark");
        this.fallback = fallback.equals("spark") ? null : Rule.of(fallback, PREFIX + "fallback", "spark, ");
        maxPassedOver = whole(conf.get(PREFIX + "maxPassedOver", Integer.toString(MAX_PASSED_OVER)));
    }

    /**
     * Reads and checks the settings.
     *
     * @throws IllegalArgumentException if one is not what it may be; says which, and what is allowed
     */
    static Settings of(SparkConf conf) {
        return new Settings(conf);
    }

    private static Mode mode(String text) {
        switch (text) {
            case "shadow":
                return Mode.SHADOW;
            case "decide":
                return Mode.DECIDE;
            default:
                throw new IllegalArgumentException(PREFIX + "mode is " + text + "; allowed are shadow and decide");
        }
    }

    private static Release release(String text) {
        switch (text) {
            case "task":
                return Release.TASK;
            case "stage":
                return Release.STAGE;
            default:
                throw new IllegalArgumentException(PREFIX + "release is " + text + "; allowed are task and stage");
        }
    }

    private static Path path(String text) {
        return text.isEmpty() ? null : Paths.get(text);
    }

    private static int whole(String text) {
        try {
            int value = Integer.parseInt(text);
            if (value >= 1) {
                return value;
            }
        } catch (NumberFormatException e) {
            // Said below.
        }
        throw new IllegalArgumentException(PREFIX + "maxPassedOver is " + text + "; allowed are whole numbers from 1 on");
    }

    /** The settings as a line to read. */
    String words() {
        List<String> words = new ArrayList<>();
        words.add("student " + student);
        words.add("mode " + mode.name().toLowerCase(java.util.Locale.ROOT));
        words.add("slots are offered after each " + release.name().toLowerCase(java.util.Locale.ROOT));
        if (log != null) {
            words.add("log " + log);
        }
        if (profile != null) {
            words.add("profile " + profile);
        }
        return String.join(", ", words);
    }
}
