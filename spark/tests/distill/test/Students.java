package distill.test;

import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.function.Function;

/** Students that misbehave, in the form of exported classes. */
final class Students {
    private Students() {}


    /** Takes the candidate that {@code last} says, level by level. */
    private static int take(boolean last, Function<int[], FloatBuffer> candidates, int[] path) {
        int[] widths = {distill.features.Extractor.width(0), distill.features.Extractor.width(1), distill.features.Extractor.width(2)};
        Arrays.fill(path, -1);
        int depth = 0;
        while (depth < 3) {
            int n = candidates.apply(path).remaining() / widths[depth];
            if (n == 0) {
                break;
            }
            path[depth++] = last ? n - 1 : 0;
        }
        return depth;
    }

    /** The job that came last, its last stage, and as much as can be. */
    public static final class Last {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = distill.features.Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = false;

        private Last() {}

        public static int features(int level) {
            return distill.features.Extractor.width(level);
        }

        public static int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
            return take(true, candidates, path);
        }
    }

    /** Fails at every third question. */
    public static final class Throws {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = distill.features.Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = false;
        private static int asked;

        private Throws() {}

        public static int features(int level) {
            return distill.features.Extractor.width(level);
        }

        public static int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
            // The rehearsal before the first job goes well.
            if (Students.live() && ++asked % 3 == 0) {
                throw new IllegalStateException("on purpose");
            }
            return take(true, candidates, path);
        }
    }

    /** Thinks for 4 ms. */
    public static final class Slow {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = distill.features.Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = false;

        private Slow() {}

        public static int features(int level) {
            return distill.features.Extractor.width(level);
        }

        public static int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
            if (Students.live()) {
                long until = System.nanoTime() + 4_000_000;
                while (System.nanoTime() < until) {
                    Thread.onSpinWait();
                }
            }
            return take(false, candidates, path);
        }
    }

    /** Never gives anything, where it may. */
    public static final class Abstains {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = distill.features.Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = true;

        private Abstains() {}

        public static int features(int level) {
            return distill.features.Extractor.width(level);
        }

        public static int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
            Arrays.fill(path, -1);
            int n = candidates.apply(path).remaining() / distill.features.Extractor.width(0);
            path[0] = n - 1;
            return n == 0 ? 0 : 1;
        }
    }

    /** Answers what nobody asked. */
    public static final class Wild {
        public static final String SCENARIO = "dag";
        public static final String FEATURE_SET = distill.features.Extractor.FEATURE_SET;
        public static final int LEVELS = 3;
        public static final boolean ABSTAINS = false;

        private Wild() {}

        public static int features(int level) {
            return distill.features.Extractor.width(level);
        }

        public static int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
            if (!Students.live()) {
                return take(false, candidates, path);
            }
            Arrays.fill(path, 1_000_000);
            return 3;
        }
    }

    /** Whether the scheduler asks, not the rehearsal. */
    private static boolean live() {
        return !Thread.currentThread().getName().equals("main");
    }
}
