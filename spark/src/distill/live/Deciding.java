package distill.live;

import distill.state.ClusterState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.mutable.ArrayBuffer;

/**
 * The student decides.
 *
 * <ol>
 *   <li>A stage that was passed over for very long gets a slot.
 *   <li>A slot whose task has ended stays with its stage while that has tasks to launch, if slots are released by stages.
 *   <li>The other free slots are on offer: those that a query freed as its own, the rest as nobody's. The student says which stage gets how many.
 *   <li>Spark launches from the stages in that order, and no more than that; then from all others in its own order, since slots may be left
 *       that a stage refused: it waits for data near by.
 * </ol>
 */
final class Deciding implements Offers.Way {
    private final Queries queries;
    private final Slots slots;
    private final Mirror mirror;
    private final Asking asking;
    private final Questions questions;
    private final Numbers numbers;
    private final Offers.Clock clock;
    private final int maxPassedOver;

    private final Assignments answers = new Assignments();
    /** Stages with a quota, in the order in which they got it. */
    private final List<QueryStage> chosen = new ArrayList<>();
    /** The stage that was put first in this offer, since it was passed over for long. */
    private QueryStage overdue;
    /** Whether the student left slots idle on purpose. */
    private boolean abstained;

    Deciding(Queries queries, Slots slots, Mirror mirror, Asking asking, Questions questions, Numbers numbers, Offers.Clock clock,
            int maxPassedOver) {
        this.queries = queries;
        this.slots = slots;
        this.mirror = mirror;
        this.asking = asking;
        this.questions = questions;
        this.numbers = numbers;
        this.clock = clock;
        this.maxPassedOver = maxPassedOver;
    }

    @Override
    public LaunchQueue before(ArrayBuffer<TaskSetManager> own, int free, LaunchTurns turns) {
        chosen.clear();
        abstained = false;
        overdue = null;
        int left = free;
        if (left > 0) {
            left -= passedOver(left);
            left -= keep(left);
        }
        if (left > 0 && asksAnything() && asking.ready()) {
            mirror.update(clock.ms(), slots.total());
            ask(left);
        }
        return queue(own, turns);
    }

    /** Gives the stage that was passed over for longest a slot, if that was too long; the slots given. */
    private int passedOver(int free) {
        QueryStage longest = null;
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            List<QueryStage> stages = all.get(i).stages;
            for (int j = 0; j < stages.size(); j++) {
                QueryStage stage = stages.get(j);
                if (stage.passedOver >= maxPassedOver && (longest == null || stage.passedOver > longest.passedOver) && stage.waits()
                        && needs(stage) <= free) {
                    longest = stage;
                }
            }
        }
        if (longest == null) {
            return 0;
        }
        numbers.passedOver.inc();
        overdue = longest;
        int slots = needs(longest);
        // For the state it is at work already.
        longest.kept += slots;
        give(longest, slots);
        return slots;
    }

    /** Slots without which it launches nothing. */
    private static int needs(QueryStage stage) {
        return stage.live().isBarrier() ? stage.pending() : 1;
    }

    /** Lets slots stay with their stages; how many do. */
    private int keep(int free) {
        int left = free;
        List<Query> all = queries.all();
        for (int i = 0; i < all.size() && left > 0; i++) {
            List<QueryStage> stages = all.get(i).stages;
            for (int j = 0; j < stages.size() && left > 0; j++) {
                QueryStage stage = stages.get(j);
                int slotsKept = !stage.canLaunch() ? 0 : Math.min(Math.min(slots.own(stage), stage.pending() - stage.kept), left);
                if (slotsKept > 0) {
                    slots.keep(stage, slotsKept);
                    give(stage, slotsKept);
                    left -= slotsKept;
                }
            }
        }
        return free - left;
    }

    /** Whether more than one stage could take a slot: with one there is nothing to ask. */
    private boolean asksAnything() {
        int open = 0;
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            List<QueryStage> stages = all.get(i).stages;
            for (int j = 0; j < stages.size(); j++) {
                if (stages.get(j).canLaunch() && ++open > 1) {
                    return true;
                }
            }
        }
        return false;
    }

    private void ask(int free) {
        int left = free;
        List<Query> all = queries.all();
        for (int i = 0; i < all.size() && left > 0; i++) {
            Query query = all.get(i);
            int own = query.told ? Math.min(query.idle, left) : 0;
            if (own > 0) {
                left -= own;
                int given = round(query, own);
                if (given < 0) {
                    return;
                }
                query.idle = Math.max(0, query.idle - given);
            }
        }
        if (left > 0) {
            round(null, left);
        }
    }

    /** Slots that a round gave, or -1 if nobody could answer it. */
    private int round(Query source, int free) {
        ClusterState state = mirror.state();
        if (!state.offer(Mirror.source(source), free, false)) {
            return 0;
        }
        questions.begin(state);
        answers.clear();
        if (!asking.answer(state, answers)) {
            mirror.startAnew();
            return -1;
        }
        questions.end(answers);
        abstained |= answers.abstained();
        int given = 0;
        for (int i = 0; i < answers.count(); i++) {
            QueryStage stage = queries.of(answers.job(i), answers.stage(i));
            // The state has promised it slots.
            stage.told.forget();
            give(stage, answers.executors(i));
            given += answers.executors(i);
        }
        return given;
    }

    private void give(QueryStage stage, int slots) {
        if (stage.quota == 0) {
            chosen.add(stage);
        }
        stage.quota += slots;
    }

    private LaunchQueue queue(ArrayBuffer<TaskSetManager> own, LaunchTurns turns) {
        int n = own.size();
        TaskSetManager[] sets = new TaskSetManager[n + 2 * chosen.size()];
        int[] quotas = new int[sets.length];
        int count = 0;
        // Of which nothing is known, since it was not understood as it came: nobody can be asked about it, and nobody counts how long it waits.
        for (int i = 0; i < n; i++) {
            if (queries.of(own.apply(i)) == null) {
                sets[count] = own.apply(i);
                quotas[count++] = LaunchQueue.ANY;
            }
        }
        for (int i = 0; i < chosen.size(); i++) {
            sets[count] = chosen.get(i).live();
            quotas[count++] = chosen.get(i).quota;
        }
        // Where nothing runs nothing would happen any more, so that nobody is left out then.
        boolean idle = abstained && slots.running() > 0;
        for (int i = 0; i < n; i++) {
            TaskSetManager set = own.apply(i);
            QueryStage stage = queries.of(set);
            if (stage != null && (stage.quota == 0 || stage.live() != set)) {
                sets[count] = set;
                // Who was not asked about it cannot want it to wait.
                quotas[count++] = idle && stage.query.told ? 0 : LaunchQueue.ANY;
            }
        }
        for (int i = 0; i < chosen.size() && !idle; i++) {
            sets[count] = chosen.get(i).live();
            quotas[count++] = LaunchQueue.ANY;
        }
        return new LaunchQueue(Arrays.copyOf(sets, count), quotas, turns);
    }

    @Override
    public void after(int launched, int free) {
        if (overdue != null && overdue.launched == 0) {
            // It refused: it waits for certain executors. The next one is not to wait behind it.
            overdue.passedOver = 0;
        }
        if (launched == 0) {
            return;
        }
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            List<QueryStage> stages = all.get(i).stages;
            for (int j = 0; j < stages.size(); j++) {
                QueryStage stage = stages.get(j);
                if (stage.launched > 0 || !stage.open) {
                    stage.passedOver = 0;
                } else {
                    stage.passedOver += launched;
                }
            }
        }
    }
}
