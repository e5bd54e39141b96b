package distill.live;

/**
 * When to stop asking for a while. A call into the student cannot be cut off, so an answer that took too long is used; after three in a
 * row that came late or not at all nobody is asked for ten seconds.
 */
final class Patience {
    static final long LATE_NS = 2_000_000;
    static final int IN_A_ROW = 3;
    static final long PAUSE_NS = 10_000_000_000L;

    private int row;
    private boolean paused;
    private long until;

    /** Whether somebody may be asked at this moment of {@link System#nanoTime}. */
    boolean allows(long now) {
        if (paused && now - until >= 0) {
            paused = false;
            row = 0;
        }
        return !paused;
    }

    /** An answer, or its absence, took so long; whether that was too long. */
    boolean took(long ns, long now, boolean answered) {
        boolean late = ns > LATE_NS;
        if (answered && !late) {
            row = 0;
        } else if (++row >= IN_A_ROW) {
            paused = true;
            until = now + PAUSE_NS;
        }
        return late;
    }
}
