package distill.features;

import java.util.Arrays;

/** Ranks within a choice: the number of smaller values, so that ties share the lowest. */
final class Ranks {
    /** Up to so many candidates, counting the smaller ones for each is faster than sorting. */
    private static final int FEW = 32;

    private double[] sorted = new double[64];

    /** Sets a column of rows to the ranks of these values. */
    void write(double[] values, int count, float[] rows, int column, int width) {
        if (count <= FEW) {
            for (int i = 0; i < count; i++) {
                int smaller = 0;
                for (int j = 0; j < count; j++) {
                    smaller += values[j] < values[i] ? 1 : 0;
                }
                rows[i * width + column] = smaller;
            }
            return;
        }
        if (sorted.length < count) {
            sorted = Arrays.copyOf(sorted, Math.max(count, 2 * sorted.length));
        }
        System.arraycopy(values, 0, sorted, 0, count);
        sort(sorted, count);
        for (int i = 0; i < count; i++) {
            rows[i * width + column] = smaller(sorted, count, values[i]);
        }
    }

    /** How many of some sorted values are smaller than this one. */
    private static int smaller(double[] sorted, int count, double value) {
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (sorted[middle] < value) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Sorts the first of some numbers, ascending. (That of the JDK allocates for long lists.) */
    static void sort(double[] list, int count) {
        boolean isSorted = true;
        for (int i = 1; i < count && isSorted; i++) {
            isSorted = list[i - 1] <= list[i];
        }
        if (isSorted) {
            return;
        }
        for (int root = count / 2 - 1; root >= 0; root--) {
            sink(list, root, count);
        }
        for (int end = count - 1; end > 0; end--) {
            double largest = list[0];
            list[0] = list[end];
            list[end] = largest;
            sink(list, 0, end);
        }
    }

    /** Lets a number sink in a heap whose largest comes first. */
    private static void sink(double[] heap, int root, int count) {
        double value = heap[root];
        int place = root;
        for (int child = 2 * place + 1; child < count; child = 2 * place + 1) {
            if (child + 1 < count && heap[child + 1] > heap[child]) {
                child++;
            }
            if (!(heap[child] > value)) {
                break;
            }
            heap[place] = heap[child];
            place = child;
        }
        heap[place] = value;
    }
}
