package distill.state;

/** Writes a state as the JSON of {@code docs/cluster-state.md}. */
final class StateWriter {
    private StateWriter() {}

    static void append(ClusterState state, StringBuilder out) {
        Round round = state.round();
        boolean open = state.hasQuestion();
        out.append("{\"time_ms\":");
        number(out, state.timeMs());
        out.append(",\"num_executors\":").append(state.numExecutors()).append(",\"source\":");
        source(out, round.source());
        out.append(",\"offered\":").append(open ? round.committable() : 0);
        if (open && round.isOfferedAgain()) {
            out.append(",\"again\":true");
        }
        out.append(",\"jobs\":[");
        int kept = 0;
        long movingElsewhere = state.movingElsewhere;
        for (int place = 0; place < state.numJobs(); place++) {
            Job job = state.jobAt(place);
            if (isKept(job, round)) {
                out.append(kept++ > 0 ? "," : "");
                job(out, job);
            } else {
                for (int stage = 0; stage < job.numStages(); stage++) {
                    movingElsewhere += job.moving[stage];
                }
            }
        }
        out.append(']');
        gone(state, kept, out);
        if (movingElsewhere > 0) {
            out.append(",\"moving_elsewhere\":").append(movingElsewhere);
        }
        out.append('}');
    }

    /** Of a completed job only the arrival counts, unless the executors on offer are its own. */
    private static boolean isKept(Job job, Round round) {
        if (job.id == round.source().job()) {
            return true;
        }
        for (int stage = 0; stage < job.numStages(); stage++) {
            if (!job.isComplete(stage)) {
                return true;
            }
        }
        return false;
    }

    private static void gone(ClusterState state, int kept, StringBuilder out) {
        long gone = state.jobs.gone() + state.numJobs() - kept;
        if (gone == 0) {
            return;
        }
        out.append(",\"jobs_gone\":").append(gone);
        String before = ",\"gone_arrivals_ms\":[";
        int written = 0;
        for (int place = 0; place < state.jobs.goneArrivals(); place++) {
            out.append(written++ > 0 ? "," : before);
            number(out, state.jobs.goneArrivalMs(place));
        }
        for (int place = 0; place < state.numJobs(); place++) {
            if (!isKept(state.jobAt(place), state.round())) {
                out.append(written++ > 0 ? "," : before);
                number(out, state.jobAt(place).arrivalMs);
            }
        }
        out.append(written > 0 ? "]" : "");
    }

    private static void job(StringBuilder out, Job job) {
        out.append("{\"id\":").append(job.id).append(",\"name\":");
        text(out, job.graph.name());
        out.append(",\"arrival_ms\":");
        number(out, job.arrivalMs);
        out.append(",\"supply\":").append(job.supply).append(",\"attached\":").append(job.attached).append(",\"stages\":[");
        for (int stage = 0; stage < job.numStages(); stage++) {
            out.append(stage > 0 ? "," : "");
            stage(out, job, stage);
        }
        out.append("]}");
    }

    private static void stage(StringBuilder out, Job job, int stage) {
        double roughMs = job.graph.roughMs(stage);
        out.append("{\"tasks\":").append(job.graph.numTasks(stage)).append(",\"rough_ms\":");
        number(out, roughMs);
        int[] parents = job.graph.parents(stage);
        for (int i = 0; i < parents.length; i++) {
            out.append(i > 0 ? "," : ",\"parents\":[").append(parents[i]);
        }
        out.append(parents.length > 0 ? "]" : "");
        count(out, ",\"completed\":", job.completed[stage]);
        count(out, ",\"running\":", job.executing[stage]);
        count(out, ",\"moving\":", job.moving[stage]);
        count(out, ",\"promised\":", job.promised[stage]);
        if (Double.doubleToRawLongBits(job.recentMs[stage]) != Double.doubleToRawLongBits(roughMs)) {
            out.append(",\"recent_ms\":");
            number(out, job.recentMs[stage]);
        }
        out.append(job.chosen[stage] ? ",\"chosen\":true" : "").append('}');
    }

    private static void count(StringBuilder out, String field, int count) {
        if (count != 0) {
            out.append(field).append(count);
        }
    }

    private static void source(StringBuilder out, Source source) {
        if (source.job() < 0) {
            out.append("\"common\"");
        } else if (source.stage() < 0) {
            out.append("{\"job\":").append(source.job()).append('}');
        } else {
            out.append("{\"stage\":[").append(source.job()).append(',').append(source.stage()).append("]}");
        }
    }

    /** A number that reads back as the same; whole ones as people write them. */
    private static void number(StringBuilder out, double value) {
        // Whole numbers up to 2⁵³ are exact as such; −0 is not one of them.
        boolean isWhole = value == Math.rint(value) && Math.abs(value) <= 1L << 53;
        if (isWhole && (value != 0 || Double.doubleToRawLongBits(value) == 0)) {
            out.append((long) value);
        } else {
            out.append(value);
        }
    }

    private static void text(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
