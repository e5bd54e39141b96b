package distill.student;

/** Scores the candidates of one choice. */
interface Model {
    /**
     * Writes one score per candidate; higher is better.
     *
     * @param x rows of features, one after the other
     * @param from where the first row begins
     * @param width number of features of a row
     * @param count number of candidates
     * @param at where their scores begin
     */
    void score(float[] x, int from, int width, int count, double[] scores, int at);

    /** Marks the columns that it reads of a row. */
    void mark(boolean[] read);
}
