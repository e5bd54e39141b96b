package distill.state;

/** The words for figures that cannot be. */
final class Refused {
    private Refused() {}

    /** About a figure by its name. */
    static IllegalArgumentException figure(String name, String problem) {
        return new IllegalArgumentException(name + ": " + problem);
    }

    /** About a figure of a job. */
    static IllegalArgumentException ofJob(int job, String name, String problem) {
        return figure("job " + job + ", `" + name + "`", problem);
    }

    /** About a figure of a stage. */
    static IllegalArgumentException ofStage(int job, int stage, String name, String problem) {
        return figure("job " + job + ", stage " + stage + ", `" + name + "`", problem);
    }

    /** Whether this is no time that a job or a clock may have. */
    static boolean isNoTime(double ms) {
        return !(ms >= 0 && ms <= JobGraph.MOST_MS);
    }

    /** What is wrong with such a time. */
    static String noTime(double ms) {
        return "must be a number in 0..=1e15 ms, got " + ms;
    }
}
