package distill.tools;

import com.fasterxml.jackson.databind.JsonNode;
import distill.features.Extractor;
import distill.features.Rows;
import distill.features.Snapshot;
import distill.json.Fields;
import distill.state.ClusterState;
import distill.state.StateReader;
import distill.student.ClassStudent;
import distill.student.Student;
import distill.student.StudentReader;
import distill.student.StudentScheduler;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * The rows of all candidates at every question of every round, and what a student decides: the twin of
 * {@code crates/dag/examples/state_rows}, whose lines must be the same.
 *
 * <pre>StateRows rows FILE STUDENT... [--full|--decisions] [--every N]</pre>
 *
 * <p>A student is a file, or {@code class:NAME}.
 */
public final class StateRows {
    private static final String USAGE = "StateRows rows FILE STUDENT... [--full|--decisions] [--every N]";
    private static final String[] LEVELS = {"jobs", "stages", "amounts"};
    private static final char[] DIGITS = "0123456789abcdef".toCharArray();

    private final boolean isFull;
    private final boolean isDecisionsOnly;
    private final Extractor extractor = new Extractor();
    private final StringBuilder out = new StringBuilder();
    private final Student student;
    private final StudentScheduler scheduler;
    private long states;
    private long questions;
    private long rows;

    private StateRows(Student student, boolean isFull, boolean isDecisionsOnly) {
        this.student = student;
        this.isFull = isFull;
        this.isDecisionsOnly = isDecisionsOnly;
        scheduler = new StudentScheduler(student);
    }

    /** Prints what comes of the states of a file under each student. */
    public static void main(String[] args) throws IOException {
        List<String> words = new ArrayList<>();
        int every = 1;
        for (int i = 0; i < args.length; i++) {
            if (args[i].equals("--every")) {
                every = Integer.parseInt(args[++i]);
            } else if (!args[i].startsWith("--")) {
                words.add(args[i]);
            }
        }
        if (words.size() < 3 || !words.get(0).equals("rows")) {
            System.err.println(USAGE);
            System.exit(2);
        }
        List<String> all = Arrays.asList(args);
        Iterable<JsonNode> lines = parsed(lines(Path.of(words.get(1)), every), words.size() > 3);
        try (PrintStream to = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            for (String name : words.subList(2, words.size())) {
                Student student = student(name);
                StateRows tool = new StateRows(student, all.contains("--full"), all.contains("--decisions"));
                tool.playAll(lines, to);
                tool.total(name, to);
            }
        }
    }

    /** A student by the name of its file, or of its class behind {@code class:}. */
    static Student student(String name) throws IOException {
        return name.startsWith("class:")
            ? ClassStudent.load(name.substring(6), StateRows.class.getClassLoader())
            : StudentReader.load(Path.of(name));
    }

    private void total(String student, PrintStream to) {
        out.append("total of ").append(student).append(": ").append(states).append(" states ").append(questions)
            .append(" questions ").append(rows).append(" rows\n");
        to.append(out);
        out.setLength(0);
    }

    /** The lines of a file: every so many of those that tell a whole state, and what changes after these. */
    static List<String> lines(Path file, int every) throws IOException {
        List<String> lines = new ArrayList<>();
        long whole = 0;
        try (BufferedReader reader = Files.newBufferedReader(file)) {
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                // Whether it tells a whole state is seen without reading all of it.
                whole += line.startsWith("{\"change\"") ? 0 : 1;
                if ((whole - 1) % every == 0) {
                    lines.add(line);
                }
            }
        }
        return lines;
    }

    /** What is read again and again is kept as it was read. */
    private static Iterable<JsonNode> parsed(List<String> lines, boolean isReadAgain) {
        return isReadAgain
            ? lines.stream().map(Fields::parse).collect(Collectors.toList())
            : lines.stream().map(Fields::parse)::iterator;
    }

    private void playAll(Iterable<JsonNode> lines, PrintStream to) {
        ClusterState state = null;
        for (JsonNode line : lines) {
            state = read(line, state);
            if (state == null) {
                out.append("refused ").append(line.get("id").asLong()).append('\n');
                continue;
            }
            states++;
            out.append("state ").append(line.get("id").asLong()).append('\n');
            play(state);
            to.append(out);
            out.setLength(0);
        }
    }

    /** The state of a line; null if it is refused, or says what has changed in one that was. */
    static ClusterState read(JsonNode line, ClusterState before) {
        try {
            if (line.has("state")) {
                return StateReader.state(line.get("state"));
            }
            if (before != null) {
                StateReader.change(before, line.get("change"));
            }
            return before;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private void play(ClusterState state) {
        boolean isOpen = state.hasQuestion();
        while (isOpen) {
            questions++;
            if (!isDecisionsOnly) {
                question(state);
            }
            if (scheduler.decide(state)) {
                out.append("decision assign ").append(scheduler.job()).append(' ').append(scheduler.stage()).append(' ')
                    .append(scheduler.executors()).append('\n');
                isOpen = state.answer(scheduler.job(), scheduler.stage(), scheduler.executors());
            } else {
                out.append("decision abstain\n");
                isOpen = state.abstain();
            }
        }
    }

    private void question(ClusterState state) {
        extractor.update(state);
        print(0, extractor.jobRows(student.abstains()), -1, -1);
        Snapshot snapshot = extractor.snapshot();
        for (int candidate = 0; candidate < snapshot.numCandidates(); candidate++) {
            int job = snapshot.candidateJob(candidate).id();
            print(1, extractor.stageRows(candidate), job, -1);
            for (int place = 0; place < snapshot.numStages(candidate); place++) {
                print(2, extractor.amountRows(candidate, place), job, snapshot.stage(candidate, place));
            }
        }
    }

    private void print(int level, Rows of, int job, int stage) {
        out.append(LEVELS[level]);
        if (job >= 0) {
            out.append(' ').append(job);
        }
        if (stage >= 0) {
            out.append(' ').append(stage);
        }
        rows += of.count();
        for (int row = 0; row < of.count(); row++) {
            int from = row * of.width();
            if (isFull) {
                out.append("\n ");
                for (int column = 0; column < of.width(); column++) {
                    out.append(' ');
                    hex(Float.floatToRawIntBits(of.values()[from + column]), 32);
                }
            } else {
                out.append(' ');
                hex(hash(of.values(), from, of.width()), 64);
            }
        }
        out.append('\n');
    }

    /** FNV-1a of the bits of a row, the low byte of each column first. */
    private static long hash(float[] values, int from, int width) {
        long hash = 0xcbf29ce484222325L;
        for (int column = 0; column < width; column++) {
            int bits = Float.floatToRawIntBits(values[from + column]);
            for (int shift = 0; shift < 32; shift += 8) {
                hash = (hash ^ (bits >>> shift & 0xff)) * 0x100000001b3L;
            }
        }
        return hash;
    }

    private void hex(long bits, int width) {
        for (int shift = width - 4; shift >= 0; shift -= 4) {
            out.append(DIGITS[(int) (bits >>> shift) & 15]);
        }
    }
}
