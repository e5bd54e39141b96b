package distill.student;

/** From scores to a choice. */
final class Scores {
    private Scores() {}

    /** The place of the best, the first of equals; NaN never is, and where nothing is more than −∞ it is the first. */
    static int best(double[] scores, int at, int count) {
        int best = 0;
        double most = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < count; i++) {
            if (scores[at + i] > most) {
                best = i;
                most = scores[at + i];
            }
        }
        return best;
    }

    /** The first place up to which the probabilities add up to one half; the best where they are none. */
    static int median(double[] scores, int at, int count, double temperature) {
        int best = best(scores, at, count);
        double most = scores[at + best];
        double all = 0;
        for (int i = 0; i < count; i++) {
            all += Elementary.exp((scores[at + i] - most) / temperature);
        }
        double half = all / 2.0;
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += Elementary.exp((scores[at + i] - most) / temperature);
            if (sum >= half) {
                return i;
            }
        }
        return best;
    }

    /** ln Σ exp: what is to be taken from each score to make log-probabilities. */
    static double logSumExp(double[] scores, int at, int count) {
        double most = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < count; i++) {
            if (scores[at + i] > most) {
                most = scores[at + i];
            }
        }
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum += Elementary.exp(scores[at + i] - most);
        }
        return most + Elementary.ln(sum);
    }
}
