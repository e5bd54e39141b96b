package distill.live;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** Finds who {@code spark.distill.student} names. */
final class Deciders {
    private Deciders() {}

    /**
     * The decider of the settings.
     *
     * @throws IOException if a file cannot be read
     * @throws IllegalArgumentException if it is no student of {@code dag}; says why
     */
    static Decider of(Settings settings, Queries queries) throws IOException {
        String name = settings.student;
        if (name.startsWith("rule:")) {
            return new RuleDecider(Rule.of(name, Settings.PREFIX + "student", ""), queries);
        }
        if (name.startsWith("unix:")) {
            return new SocketDecider(name.substring("unix:".length()), Patience.LATE_NS);
        }
        if (name.endsWith(".json")) {
            Path file = Paths.get(name);
            if (!Files.isRegularFile(file)) {
                throw new IllegalArgumentException(name + " is no file; name a student file, a class, unix:PATH or " + Rule.names());
            }
            return StudentDecider.ofFile(file);
        }
        return StudentDecider.ofClass(name, Thread.currentThread().getContextClassLoader());
    }
}
