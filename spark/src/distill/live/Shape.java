package distill.live;

import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.RDDOperationScope;
import org.apache.spark.scheduler.Stage;
import scala.collection.Iterable;
import scala.collection.Iterator;

/**
 * What a stage does, by which it is known in other runs of its query: its operators, and the folder of the files that it reads. Stages have numbers in the
 * order in which they come, and those that come together come in any order.
 */
final class Shape {
    /** Data sets that are looked at. */
    private static final int MOST = 100;
    /** Nothing is known. */
    static final String NONE = "";

    private Shape() {}

    /** A short hash; {@link #NONE} if Spark does not say it in a way that is understood here. */
    static String of(Stage stage) {
        try {
            StringBuilder text = new StringBuilder();
            Deque<RDD<?>> left = new ArrayDeque<>();
            left.add(stage.rdd());
            for (int looked = 0; looked < MOST && !left.isEmpty(); looked++) {
                RDD<?> rdd = left.removeFirst();
                RDDOperationScope scope = Scala.orNull(rdd.scope());
                text.append(rdd.getClass().getSimpleName()).append(' ').append(scope == null ? "" : scope.name()).append('\n');
                boolean reads = true;
                for (Iterator<?> all = dependencies(rdd).iterator(); all.hasNext();) {
                    Dependency<?> dependency = (Dependency<?>) all.next();
                    reads = false;
                    if (dependency instanceof NarrowDependency) {
                        left.add(dependency.rdd());
                    }
                }
                if (reads && rdd.partitions().length > 0) {
                    text.append(folder(rdd.partitions()[0])).append('\n');
                }
            }
            return Integer.toHexString(text.toString().hashCode());
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            return NONE;
        }
    }

    /** Its Scala type differs between the lines that Spark is compiled with. */
    private static Iterable<?> dependencies(RDD<?> rdd) throws ReflectiveOperationException {
        return (Iterable<?>) RDD.class.getMethod("dependencies").invoke(rdd);
    }

    /** Where the first file of a partition lies, if it is one of files. */
    private static String folder(Partition partition) throws ReflectiveOperationException {
        if (!partition.getClass().getSimpleName().equals("FilePartition")) {
            return NONE;
        }
        Object[] files = (Object[]) partition.getClass().getMethod("files").invoke(partition);
        if (files.length == 0) {
            return NONE;
        }
        String path = (String) files[0].getClass().getMethod("urlEncodedPath").invoke(files[0]);
        return path.substring(0, path.lastIndexOf('/') + 1);
    }
}
