package distill.live;

import distill.state.Source;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What counts as one job: a job of Spark, or all jobs of one SQL execution. */
final class Query {
    /** Its number in the cluster's state; numbers ascend by arrival. */
    final int number;
    /** What it shares with its other runs: the description or the place in the program. */
    final String key;
    /** Which job of Spark or SQL execution it is. */
    Object origin;
    final double arrivalMs;
    /** Its slots, as the source of an offer. */
    final Source source;
    final List<QueryStage> stages = new ArrayList<>();
    final Map<Integer, QueryStage> bySparkId = new HashMap<>();
    /** Stages that write a shuffle, by its number: jobs of one query that come later know them by other numbers of stages. */
    final Map<Integer, QueryStage> byShuffle = new HashMap<>();
    /** Jobs of Spark that have begun and not ended, as far as was heard. */
    int openJobs;
    /** Whether more jobs may come: a SQL execution that has not ended. */
    boolean mayGrow;
    /** Slots that it freed and nobody has taken since. */
    int idle;
    /** Whether the state knows it, of which nobody is asked about else, and whether its graph has changed since. */
    boolean told;
    boolean graphChanged = true;

    Query(int number, String key, double arrivalMs, boolean mayGrow) {
        this.number = number;
        this.key = key;
        this.arrivalMs = arrivalMs;
        this.mayGrow = mayGrow;
        this.source = Source.ofJob(number);
    }

    /** Numbers of the stages that have ended and that no stage which has come is known to wait for. */
    List<Integer> unread() {
        Set<Integer> read = new HashSet<>();
        for (QueryStage stage : stages) {
            if (stage.sparkId >= 0) {
                Arrays.stream(stage.parents).forEach(read::add);
            }
        }
        List<Integer> unread = new ArrayList<>();
        for (QueryStage stage : stages) {
            if (stage.sparkId >= 0 && stage.completed == stage.tasks && !read.contains(stage.number)) {
                unread.add(stage.number);
            }
        }
        return unread;
    }

    /** Whether anything of it waits or runs. */
    boolean isOver() {
        if (mayGrow || openJobs > 0) {
            return false;
        }
        for (QueryStage stage : stages) {
            if (!stage.sets.isEmpty()) {
                return false;
            }
        }
        return true;
    }
}
