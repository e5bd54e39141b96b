package distill.live;

import distill.state.ClusterState;

/** Asks for the answer to a round, in time or not at all. */
final class Asking {
    private static final int MOST_COMPLAINTS = 5;

    private final Decider decider;
    private final Decider fallback;
    private final Numbers numbers;
    private final Patience patience = new Patience();
    private int complaints;

    Asking(Decider decider, Decider fallback, Numbers numbers) {
        this.decider = decider;
        this.fallback = fallback;
        this.numbers = numbers;
    }

    /** Whether anybody can be asked at this moment; if not, that is counted. */
    boolean ready() {
        if (fallback != null || isAsked(System.nanoTime())) {
            return true;
        }
        numbers.fallbacks.inc();
        return false;
    }

    private boolean isAsked(long now) {
        return patience.allows(now) && decider.ready(now);
    }

    /** Answers the open round; false if nobody could: Spark's own order then holds, and the state is of no use any more. */
    boolean answer(ClusterState state, Assignments out) {
        long began = System.nanoTime();
        if (isAsked(began)) {
            try {
                decider.answer(state, out);
                long now = System.nanoTime();
                numbers.decisions.inc();
                numbers.decisionMicros.update((now - began) / 1000);
                if (patience.took(now - began, now, true)) {
                    numbers.late.inc();
                }
                return true;
            } catch (Exception | LinkageError | StackOverflowError e) {
                complain("the student gave no answer", e);
                long now = System.nanoTime();
                patience.took(now - began, now, false);
                numbers.fallbacks.inc();
                return false;
            }
        }
        numbers.fallbacks.inc();
        if (fallback == null) {
            return false;
        }
        try {
            fallback.answer(state, out);
            return true;
        } catch (Exception e) {
            complain("the fallback gave no answer", e);
            return false;
        }
    }

    void complain(String what, Throwable why) {
        if (complaints++ < MOST_COMPLAINTS) {
            Log.warn(what + "; Spark's own order holds for this offer" + (complaints == MOST_COMPLAINTS ? " (not said again)" : ""), why);
        }
    }
}
