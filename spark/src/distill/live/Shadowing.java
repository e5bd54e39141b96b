package distill.live;

import distill.state.ClusterState;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.scheduler.TaskSetManager;
import scala.collection.mutable.ArrayBuffer;

/**
 * Spark decides, the student looks on. What Spark has launched is told as the answers of rounds: a stage that launched from a slot that it had freed
 * itself kept it, which is no question; all else was on offer.
 */
final class Shadowing implements Offers.Way {
    private final Queries queries;
    private final Slots slots;
    private final Mirror mirror;
    private final Asking asking;
    private final Questions questions;
    private final Numbers numbers;
    private final Offers.Clock clock;

    private final Assignments did = new Assignments();
    private final Assignments would = new Assignments();
    private final List<QueryStage> launching = new ArrayList<>();
    private boolean asked;
    private int first;
    private int second;

    Shadowing(Queries queries, Slots slots, Mirror mirror, Asking asking, Questions questions, Numbers numbers, Offers.Clock clock) {
        this.queries = queries;
        this.slots = slots;
        this.mirror = mirror;
        this.asking = asking;
        this.questions = questions;
        this.numbers = numbers;
        this.clock = clock;
    }

    @Override
    public LaunchQueue before(ArrayBuffer<TaskSetManager> own, int free, LaunchTurns turns) {
        return LaunchQueue.unlimited(own, turns);
    }

    @Override
    public void after(int launched, int free) {
        if (launched == 0 || free <= 0) {
            return;
        }
        int left = free;
        launching.clear();
        List<Query> all = queries.all();
        for (int i = 0; i < all.size(); i++) {
            List<QueryStage> stages = all.get(i).stages;
            for (int j = 0; j < stages.size(); j++) {
                QueryStage stage = stages.get(j);
                int kept = Math.min(Math.min(slots.own(stage), stage.launched), left);
                if (kept > 0) {
                    slots.keep(stage, kept);
                    stage.launched -= kept;
                    left -= kept;
                }
                if (stage.launched > 0) {
                    launching.add(stage);
                }
            }
        }
        if (launching.isEmpty()) {
            return;
        }
        // The stages still have the figures of before the launch.
        mirror.update(clock.ms(), slots.total());
        for (int i = 0; i < all.size() && left > 0; i++) {
            Query query = all.get(i);
            int own = query.told ? Math.min(query.idle, left) : 0;
            if (own > 0) {
                left -= own;
                query.idle -= Math.min(query.idle, round(query, own));
            }
        }
        if (left > 0) {
            round(null, left);
        }
    }

    /** Tells a round; the slots that were taken in it. */
    private int round(Query source, int free) {
        ClusterState state = mirror.state();
        if (!state.offer(Mirror.source(source), free, false)) {
            return 0;
        }
        asked = false;
        if (asking.ready()) {
            ask(state);
            mirror.update(clock.ms(), slots.total());
            state = mirror.state();
            if (!state.offer(Mirror.source(source), free, false)) {
                return 0;
            }
        }
        questions.begin(state);
        did.clear();
        int left = free;
        // First what the source's own stages took, then the others in order.
        for (int pass = source == null ? 1 : 0; pass < 2; pass++) {
            for (int i = 0; i < launching.size() && left > 0; i++) {
                QueryStage stage = launching.get(i);
                int taken = Math.min(stage.launched, left);
                if (taken > 0 && stage.query.told && (pass == 1 || stage.query == source) && state.mayChoose(stage.query.number, stage.number)) {
                    did.add(stage.query.number, stage.number, taken);
                    stage.launched -= taken;
                    stage.promised += taken;
                    left -= taken;
                    stage.told.forget();
                    state.answer(stage.query.number, stage.number, taken);
                }
            }
        }
        if (did.count() > 0) {
            questions.end(did);
            if (asked && did.job(0) == first && did.stage(0) == second) {
                numbers.agreed.inc();
            }
        }
        return free - left;
    }

    /** What the student would begin with. */
    private void ask(ClusterState state) {
        would.clear();
        boolean answered = asking.answer(state, would);
        if (!answered) {
            mirror.startAnew();
        }
        asked = answered && would.count() > 0;
        for (int i = 0; i < would.count(); i++) {
            queries.of(would.job(i), would.stage(i)).told.forget();
        }
        if (asked) {
            first = would.job(0);
            second = would.stage(0);
        }
    }
}
