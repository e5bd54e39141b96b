package distill.student;

/** A tree that compares two candidates; a candidate's score is the sum of its chances against all others. */
final class Pairwise implements Model {
    private final Tree tree;

    /** A tree of one output over the columns of a pair. */
    Pairwise(Tree tree) {
        this.tree = tree;
    }

    @Override
    public void score(float[] x, int from, int width, int count, double[] scores, int at) {
        for (int one = 0; one < count; one++) {
            double sum = -0.0;
            for (int other = 0; other < count; other++) {
                if (other != one) {
                    sum += tree.value(tree.leafOfPair(x, from + one * width, from + other * width, width));
                }
            }
            scores[at + one] = sum;
        }
    }

    @Override
    public void mark(boolean[] read) {
        tree.mark(read);
    }
}
