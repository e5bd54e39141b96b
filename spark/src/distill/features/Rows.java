package distill.features;

import java.nio.FloatBuffer;
import java.util.Arrays;

/** Rows of features of the candidates of one level, in a buffer that is kept from one choice to the next. */
public final class Rows {
    private final int width;
    private int count;
    private float[] values;
    private FloatBuffer lent;

    /** A buffer for rows of so many features. */
    public Rows(int width) {
        this.width = width;
        keep(new float[16 * width]);
    }

    private void keep(float[] values) {
        this.values = values;
        lent = FloatBuffer.wrap(values);
    }

    /** Makes so many rows of zeros, and gives the list that holds them. */
    float[] begin(int rows) {
        int needed = Math.multiplyExact(rows, width);
        if (values.length < needed) {
            keep(new float[Math.max(needed, 2 * values.length)]);
        } else {
            Arrays.fill(values, 0, needed, 0f);
        }
        count = rows;
        return values;
    }

    /** Number of features of a row. */
    public int width() {
        return width;
    }

    /** Number of rows. */
    public int count() {
        return count;
    }

    /** The list that holds the rows, one after the other from its beginning. */
    public float[] values() {
        return values;
    }

    /** Puts a row in the place of an earlier one. */
    public void move(int from, int to) {
        System.arraycopy(values, from * width, values, to * width, width);
    }

    /** Keeps the first rows alone. */
    public void cut(int rows) {
        count = rows;
    }

    /** The rows from position to limit of a buffer. It is lent until the next rows are written. */
    public FloatBuffer lend() {
        lent.limit(count * width);
        lent.position(0);
        return lent;
    }
}
