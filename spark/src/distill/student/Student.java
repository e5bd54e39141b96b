package distill.student;

import java.nio.FloatBuffer;
import java.util.function.Function;

/** A distilled student: scores the candidates of each level, and takes one. */
public interface Student {
    /**
     * Decides.
     *
     * @param candidates is told a path, the candidates taken at the levels above and −1 from there on, and lends the rows
     *     of the candidates there, one after the other, from position to limit of a buffer that an array backs; none where
     *     the path is a whole decision. The rows are lent until it is asked again.
     * @param scores room to work in
     * @param path one place per level: takes the decision, the candidate of each level, and −1 beyond its length
     * @return the length of the decision; −n if there is no room for n scores
     */
    int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path);

    /** Whether to give nothing is a candidate of the first level, the last one there. */
    boolean abstains();

    /** By level, which columns of rows it reads; others may hold anything. */
    boolean[][] columns();
}
