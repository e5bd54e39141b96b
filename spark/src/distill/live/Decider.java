package distill.live;

import distill.state.ClusterState;

/** Who is asked. */
interface Decider extends AutoCloseable {
    /**
     * Answers the open round of a state: who gets the slots on offer, until none are left, wanted, or given. The state is answered as well.
     *
     * @throws Exception if it cannot; the state is then of no use any more
     */
    void answer(ClusterState state, Assignments out) throws Exception;

    /** Whether it can be asked at this moment of {@link System#nanoTime}. */
    default boolean ready(long now) {
        return true;
    }

    /** Ready for the first question that counts: what would otherwise be slow at first has been done. */
    default void warm() throws Exception {}

    @Override
    default void close() {}
}
