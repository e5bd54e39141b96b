package distill.features;

import java.util.ArrayList;
import java.util.List;

/**
 * A level: the quantities of its candidates in order, each with its name and how it is worked out. Every quantity is a
 * column; its rank and its ratio within the choice may follow as columns of their own.
 *
 * <p>The tables of the levels name the quantities as {@code crates/dag/src/feature} does, in the same order and with the
 * same formulas, so that one can be held against the other.
 *
 * @param <Q> what is known of a choice
 */
final class Level<Q> {
    /** A quantity of a candidate, told by its place. */
    interface Value<Q> {
        double of(Q question, int candidate);
    }

    /** A quantity that all candidates share. */
    interface Shared<Q> {
        double of(Q question);
    }

    /** The sorts of ratios to the least of a choice. */
    enum Ratio {
        /** There is none. */
        NONE,
        /** value ÷ max(least, 1 ms). */
        TIME,
        /** (value + 1) ÷ (least + 1). */
        COUNT
    }

    /** An entry of the table. */
    static final class Quantity<Q> {
        final String name;
        final int column;
        final boolean ranked;
        final Ratio ratio;
        /** One of both, or none of the flag of the candidate that is none. */
        final Value<Q> value;
        final Shared<Q> shared;

        private Quantity(String name, int column, boolean ranked, Ratio ratio, Value<Q> value, Shared<Q> shared) {
            this.name = name;
            this.column = column;
            this.ranked = ranked;
            this.ratio = ratio;
            this.value = value;
            this.shared = shared;
        }

        int rankColumn() {
            return column + 1;
        }

        int ratioColumn() {
            return column + (ranked ? 2 : 1);
        }
    }

    final String name;
    final List<Quantity<Q>> quantities = new ArrayList<>();
    private final List<String> names = new ArrayList<>();

    Level(String name) {
        this.name = name;
    }

    private Level<Q> add(String name, boolean ranked, Ratio ratio, Value<Q> value, Shared<Q> shared) {
        quantities.add(new Quantity<>(name, names.size(), ranked, ratio, value, shared));
        names.add(name);
        if (ranked) {
            names.add(name + "_rank");
        }
        if (ratio != Ratio.NONE) {
            names.add(name + "_ratio");
        }
        return this;
    }

    /** The flag of the candidate that is none: 1 of it, and 0 of all others. */
    Level<Q> none(String name) {
        return add(name, false, Ratio.NONE, null, null);
    }

    /** One column. The candidate that is none has 0. */
    Level<Q> value(String name, Value<Q> value) {
        return add(name, false, Ratio.NONE, value, null);
    }

    /** A value and its rank. */
    Level<Q> ranked(String name, Value<Q> value) {
        return add(name, true, Ratio.NONE, value, null);
    }

    /** A time, ms, its rank and its ratio. */
    Level<Q> comparedTime(String name, Value<Q> value) {
        return add(name, true, Ratio.TIME, value, null);
    }

    /** A number of something, its rank and its ratio. */
    Level<Q> comparedCount(String name, Value<Q> value) {
        return add(name, true, Ratio.COUNT, value, null);
    }

    /** One column that all candidates share, the one that is none included. */
    Level<Q> shared(String name, Shared<Q> value) {
        return add(name, false, Ratio.NONE, null, value);
    }

    /** Number of columns. */
    int width() {
        return names.size();
    }

    /** The columns' names in order. */
    String[] names() {
        return names.toArray(new String[0]);
    }
}
