package distill.live;

import java.util.ArrayList;
import java.util.List;

/** Orders that need no student: to compare with, and to fall back to. */
enum Rule {
    /** Stages of the query with the fewest tasks to launch first. */
    FEWEST_TASKS("rule:fewest-tasks") {
        @Override
        double rank(Query query) {
            double left = 0;
            for (QueryStage stage : query.stages) {
                left += stage.pending();
            }
            return left;
        }
    },
    /** Stages of the query with the least work to launch first: tasks, times what one takes. */
    LEAST_WORK("rule:least-work") {
        @Override
        double rank(Query query) {
            double left = 0;
            for (QueryStage stage : query.stages) {
                left += stage.pending() * stage.duration();
            }
            return left;
        }
    },
    /** By arrival, as Spark itself. */
    FIFO("rule:fifo") {
        @Override
        double rank(Query query) {
            return query.number;
        }
    };

    private final String name;

    Rule(String name) {
        this.name = name;
    }

    /** The smaller, the earlier. */
    abstract double rank(Query query);

    static Rule of(String name, String setting, String others) {
        for (Rule rule : values()) {
            if (rule.name.equals(name)) {
                return rule;
            }
        }
        throw new IllegalArgumentException(setting + " is " + name + "; allowed are " + others + names());
    }

    static String names() {
        List<String> names = new ArrayList<>();
        for (Rule rule : values()) {
            names.add(rule.name);
        }
        return String.join(", ", names);
    }
}
