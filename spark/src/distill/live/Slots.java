package distill.live;

import java.util.List;

/**
 * Who has which slots: counted from one offer to the next. Between offers tasks only end, so what runs less than after the last offer has been
 * freed.
 */
final class Slots {
    private final Queries queries;
    private final ClusterListener listener;
    private final Settings.Release release;
    private int running;

    Slots(Queries queries, ClusterListener listener, Settings.Release release) {
        this.queries = queries;
        this.listener = listener;
        this.release = release;
    }

    /** Slots that a stage has freed and may keep without a question, if it has tasks to launch. */
    int own(QueryStage stage) {
        return release == Settings.Release.STAGE ? stage.freed : 0;
    }

    /** Looks at all task sets; the number of free slots. */
    int look() {
        running = 0;
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            Query query = all.get(i);
            for (int j = 0; j < query.stages.size(); j++) {
                QueryStage stage = query.stages.get(j);
                stage.freed = Math.max(0, stage.ranBefore - stage.runs());
                stage.kept = 0;
                stage.quota = 0;
                stage.launched = 0;
                stage.promised = 0;
                stage.look();
                running += stage.runs();
                query.idle += stage.freed;
            }
        }
        int free = total() - running;
        // What is idle cannot be more than what is free: executors go, and some slots were taken without a question.
        int left = Math.max(0, free);
        for (int i = 0; i < all.size(); i++) {
            all.get(i).idle = Math.min(all.get(i).idle, left);
            left -= all.get(i).idle;
        }
        return free;
    }

    /** Slots of the cluster; never fewer than run tasks, as executors are told of a little late. */
    int total() {
        return Math.max(1, Math.max(listener.slots(), running));
    }

    /** Tasks that run. */
    int running() {
        return running;
    }

    /** A slot that its stage freed stays with it for the next task. */
    void keep(QueryStage stage, int slots) {
        stage.kept += slots;
        stage.query.idle = Math.max(0, stage.query.idle - slots);
    }

    /** The offer has been answered, and this is what runs now. */
    void remember() {
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            List<QueryStage> stages = all.get(i).stages;
            for (int j = 0; j < stages.size(); j++) {
                stages.get(j).ranBefore = stages.get(j).runs();
            }
        }
    }
}
