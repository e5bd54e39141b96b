package distill.student;

/** Different models for different states of the cluster: a tree, asked about the first candidate, says which one scores. */
final class Regime implements Model {
    private final Tree tree;
    private final Model[] models;

    Regime(Tree tree, Model[] models) {
        this.tree = tree;
        this.models = models;
    }

    @Override
    public void score(float[] x, int from, int width, int count, double[] scores, int at) {
        if (count > 0) {
            models[(int) tree.predict(x, from)].score(x, from, width, count, scores, at);
        }
    }

    @Override
    public void mark(boolean[] read) {
        tree.mark(read);
        for (Model model : models) {
            model.mark(read);
        }
    }
}
