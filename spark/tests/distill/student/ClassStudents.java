package distill.student;

import distill.features.Extractor;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.Function;

/** Classes as {@code distill export --to java} may write them, and some that cannot be used. */
public final class ClassStudents {
    private ClassStudents() {}

    /** Takes the first candidate of every level. */
    public static final class First {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = true;

        private First() {}

        public static int features(int level) {
            return Extractor.width(level);
        }

        public static int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
            if (scores.length < 1000) {
                return -1000;
            }
            Arrays.fill(path, -1);
            int depth = 0;
            // Also asks at whole paths, where there are no candidates.
            while (candidates.apply(path).hasRemaining()) {
                path[depth++] = 0;
            }
            return depth;
        }
    }

    /** Of other features. */
    public static final class Old {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = "0123";

        private Old() {}
    }

    /** With too few features at a level. */
    public static final class Narrow {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = false;

        private Narrow() {}

        public static int features(int level) {
            return level == 1 ? 1 : Extractor.width(level);
        }
    }
}
