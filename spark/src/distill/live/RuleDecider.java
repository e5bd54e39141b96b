package distill.live;

import distill.state.ClusterState;
import distill.state.Job;
import distill.state.Round;

/** Gives all that a stage can use to the first stages by a {@link Rule}. */
final class RuleDecider implements Decider {
    private final Rule rule;
    private final Queries queries;

    RuleDecider(Rule rule, Queries queries) {
        this.rule = rule;
        this.queries = queries;
    }

    @Override
    public void answer(ClusterState state, Assignments out) {
        boolean open = state.hasQuestion();
        while (open) {
            Round round = state.round();
            int best = 0;
            double least = Double.POSITIVE_INFINITY;
            for (int i = 0; i < round.numReady(); i++) {
                double rank = rule.rank(queries.of(round.readyJob(i).id(), 0).query);
                if (rank < least) {
                    least = rank;
                    best = i;
                }
            }
            Job job = round.readyJob(best);
            int stage = round.readyStage(best);
            int executors = Math.max(1, Math.min(round.room(job), job.demand(stage)));
            out.add(job.id(), stage, executors);
            open = state.answer(job.id(), stage, executors);
        }
    }
}
