package distill.live;

import distill.state.ClusterState;

/** Writes the rounds down as lines of the protocol, if anybody wants them. */
final class Questions {
    private final Lines lines;
    private final StringBuilder line = new StringBuilder();
    private long id;

    /** {@code lines} may be null. */
    Questions(Lines lines) {
        this.lines = lines;
    }

    /** A round has been opened. */
    void begin(ClusterState state) {
        if (lines != null) {
            line.setLength(0);
            line.append("{\"id\":").append(++id).append(",\"state\":");
            state.appendJson(line);
        }
    }

    /** That was done in it. */
    void end(Assignments did) {
        if (lines != null) {
            line.append(",\"did\":");
            did.appendJson(line);
            line.append('}');
            lines.add(line.toString());
        }
    }
}
