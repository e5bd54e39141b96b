package distill.state;

/**
 * Whether a decision strands the cluster: whether it may be that nothing happens any more after it, or next to nothing.
 * A student then decides otherwise. The port of {@code crates/dag/src/state/strand.rs}, which says why the rules are as
 * they are; {@code docs/cluster-state.md} has them in words.
 */
public final class Strand {
    private Strand() {}

    /** Whether it strands the cluster to give so many of the executors on offer to a stage that may be chosen. */
    public static boolean assigning(Round round, Job job, int stage, int executors) {
        if (job.incompleteParents(stage) == 0) {
            // Nearly all decisions end here: they give the stage all that it can use.
            return executors < wants(round, job, stage) && executors < leastAmount(round, job, stage);
        }
        return round.isOfferedAgain() && someCanStart(round)
            || assigningStops(round, job, stage, executors)
            || stopsJob(round, job, job, stage);
    }

    /** Whether it strands the cluster to give nothing to anybody. */
    public static boolean abstaining(Round round) {
        Job source = round.sourceJob();
        return !somethingGoesOn(round, null, -1)
            || source != null && hasTasksLeft(source) && stopsJob(round, source, null, -1)
            || leavesIdle(round);
    }

    /** Whether a stage had better be left out: to give it all that is on offer strands the cluster. */
    public static boolean assigningAll(Round round, Job job, int stage) {
        return assigning(round, job, stage, round.committable());
    }

    /** Whether nothing at all need happen any more after an assignment. */
    private static boolean assigningStops(Round round, Job job, int stage, int executors) {
        if (round.numReady() == 1) {
            return false;
        }
        if (Math.min(executors, job.demand(stage)) < round.committable()) {
            // The next question of the round can still put it right.
            return false;
        }
        return !somethingGoesOn(round, job, stage);
    }

    private static boolean somethingGoesOn(Round round, Job lastJob, int lastStage) {
        for (int place = 0; place < round.numActive(); place++) {
            if (goesOn(round, round.active(place), lastJob, lastStage)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Whether nothing need happen any more in a job, with executors for its stage {@code lastStage} that cannot start or
     * with those on offer that stay in it, although some other stage could be given some.
     */
    private static boolean stopsJob(Round round, Job job, Job lastJob, int lastStage) {
        return !goesOn(round, job, lastJob, lastStage) && someCanStart(round);
    }

    private static boolean hasTasksLeft(Job job) {
        for (int stage = 0; stage < job.numStages(); stage++) {
            if (!job.isComplete(stage) && job.remaining(stage) > 0) {
                return true;
            }
        }
        return false;
    }

    /** Whether some stage that may be chosen can start. */
    private static boolean someCanStart(Round round) {
        for (int place = 0; place < round.numReady(); place++) {
            if (round.readyJob(place).incompleteParents(round.readyStage(place)) == 0) {
                return true;
            }
        }
        return false;
    }

    /**
     * How many executors a stage that can start has to get at least: with fewer, more than half of all would be without
     * work, and more than need be. What it does not get is taken to go to other stages that can start.
     */
    private static long leastAmount(Round round, Job job, int stage) {
        long left = round.committable() - wanted(round, job, stage);
        if (left <= 0) {
            return 0;
        }
        // With `taken`, `left - taken + waiting` are without work.
        long most = Math.max(0, left + waiting(round) - round.numExecutors() / 2);
        return Math.min(Math.min(wants(round, job, stage), left), most);
    }

    /** Whether more than half of the executors are without work if nobody gets any, and more than need be. */
    private static boolean leavesIdle(Round round) {
        long without = round.committable() + waiting(round);
        return 2 * without > round.numExecutors() && wanted(round, null, -1) > 0;
    }

    /** How many of the executors on offer a stage can use. */
    private static int wants(Round round, Job job, int stage) {
        return Math.min(job.demand(stage), round.room(job));
    }

    /**
     * How many of the executors on offer stages can use that can start, one of them aside; not all are counted where these
     * are enough.
     */
    private static long wanted(Round round, Job asideJob, int asideStage) {
        long wanted = 0;
        for (int place = 0; place < round.numReady(); place++) {
            Job job = round.readyJob(place);
            int stage = round.readyStage(place);
            if ((job == asideJob && stage == asideStage) || job.incompleteParents(stage) > 0) {
                continue;
            }
            wanted += wants(round, job, stage);
            if (wanted >= round.committable()) {
                break;
            }
        }
        return wanted;
    }

    /** About how many executors have no work and are not on offer: idle ones, and those for stages that cannot start yet. */
    private static long waiting(Round round) {
        int working = Math.max(0, round.numExecutors() - round.busyExecutors());
        long idle = Math.max(0, working - round.movingExecutors());
        long offered = round.committable() + promisedInRound(round);
        int sourceStage = round.source().stage();
        // Those at work at a stage are on offer too. At least one has ended its task.
        long here = sourceStage < 0 ? offered : Math.max(1, Math.max(0, offered - round.owner().executing(sourceStage)));
        long bound = 0;
        for (int place = 0; place < round.numActive(); place++) {
            Job job = round.active(place);
            if (job.supply() == 0) {
                continue;
            }
            for (int stage = 0; stage < job.numStages(); stage++) {
                if (!job.isComplete(stage) && job.incompleteParents(stage) > 0) {
                    bound += job.executors(stage);
                }
            }
        }
        return Math.max(0, idle - here) + bound;
    }

    /** Whether a job sees to it that the cluster goes on, if the round ends with all executors for one stage, or nobody. */
    private static boolean goesOn(Round round, Job job, Job lastJob, int lastStage) {
        for (int stage = 0; stage < job.numStages(); stage++) {
            if (job.isComplete(stage)) {
                continue;
            }
            boolean hasSome = job.executors(stage) > 0 || (job == lastJob && stage == lastStage);
            if (job.incompleteParents(stage) == 0) {
                if (hasSome && job.remaining(stage) > 0) {
                    return true;
                }
            } else if (parentsRunOut(job, stage) && (hasSome || keepsOne(round, job, stage, lastJob))) {
                return true;
            }
        }
        return false;
    }

    /** Whether all parents of a stage end without another executor: all their tasks have ended or run. */
    private static boolean parentsRunOut(Job job, int stage) {
        for (int parent : job.graph().parents(stage)) {
            if (job.remaining(parent) > 0) {
                return false;
            }
        }
        return true;
    }

    /** Whether the job of a stage certainly has an executor without a task and without a promise when the stage opens. */
    private static boolean keepsOne(Round round, Job job, int stage, Job lastJob) {
        long running = 0;
        for (int s = 0; s < job.numStages(); s++) {
            running += job.executing(s);
        }
        long idle = Math.max(0, job.attached() - running);
        if (round.sourceJob() != job) {
            return idle > 0;
        }
        boolean stays = lastJob == null || lastJob == job;
        int sourceStage = round.source().stage();
        if (sourceStage < 0) {
            // All of them are idle, and those that the job is given wait in it.
            return stays;
        }
        // What is on offer at a stage may be running still, and carries promises until it has ended. It has if the stage
        // that opens waits for it; otherwise those count that are with the job and not at the source.
        int atWork = job.executing(sourceStage);
        long atSource = round.committable() + promisedInRound(round);
        return stays && (atWork == 0 || isParent(job, sourceStage, stage)) || idle > Math.max(0, atSource - atWork);
    }

    private static boolean isParent(Job job, int stage, int child) {
        for (int parent : job.graph().parents(child)) {
            if (parent == stage) {
                return true;
            }
        }
        return false;
    }

    /** No fewer executors than were promised in this round. */
    private static long promisedInRound(Round round) {
        long promised = 0;
        for (int place = 0; place < round.numActive(); place++) {
            Job job = round.active(place);
            for (int stage = 0; stage < job.numStages(); stage++) {
                promised += job.isComplete(stage) ? 0 : job.promisedInRound(stage);
            }
        }
        return promised;
    }
}
