package distill.state;

/** Whose executors are on offer. Keep those that are needed again: they never change. */
public final class Source {
    /** Executors that nobody owns. */
    public static final Source COMMON = new Source(-1, -1);

    private final int job;
    private final int stage;

    private Source(int job, int stage) {
        this.job = job;
        this.stage = stage;
    }

    /** Idle executors of a job. */
    public static Source ofJob(int job) {
        return new Source(job, -1);
    }

    /** Executors at a stage, busy ones included. */
    public static Source ofStage(int job, int stage) {
        if (stage < 0) {
            throw new IllegalArgumentException("source: stage " + stage + " of job " + job + " is unknown");
        }
        return new Source(job, stage);
    }

    /** The job that has them, −1 if nobody has. */
    public int job() {
        return job;
    }

    /** The stage that has them, −1 if none has. */
    public int stage() {
        return stage;
    }
}
