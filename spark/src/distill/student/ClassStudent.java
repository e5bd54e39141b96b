package distill.student;

import distill.features.Extractor;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.FloatBuffer;
import java.util.function.Function;

/**
 * A student that is a class, as {@code distill export --to java} writes it: public and static, with the fields
 * {@code SCENARIO}, {@code FEATURE_SET}, {@code LEVELS} and {@code ABSTAINS}, and the methods {@code features(level)} and
 * {@code decide}. A method {@code boolean[] columns(int level)} may say which columns it reads; without it all are worked
 * out.
 */
public final class ClassStudent implements Student {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.publicLookup();
    private static final MethodType DECIDE =
        MethodType.methodType(int.class, Function.class, double[].class, int[].class);

    private final MethodHandle decide;
    private final boolean abstains;
    private final boolean[][] columns;

    private ClassStudent(MethodHandle decide, boolean abstains, boolean[][] columns) {
        this.decide = decide;
        this.abstains = abstains;
        this.columns = columns;
    }

    /**
     * Loads a class by its name and checks that it is a student of this scenario and these features.
     *
     * @throws IllegalArgumentException if it is none; the message says what is wrong
     */
    public static ClassStudent load(String name, ClassLoader loader) {
        Class<?> type;
        try {
            type = Class.forName(name, true, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            throw wrong(name, "it cannot be loaded: " + e, e);
        }
        String scenario = (String) field(type, "SCENARIO", String.class);
        if (!"dag".equals(scenario)) {
            throw wrong(name, "it is a student of the scenario `" + scenario + "`, expected `dag`", null);
        }
        String hash = (String) field(type, "FEATURE_SET", String.class);
        if (!Extractor.FEATURE_SET.equals(hash)) {
            throw wrong(name, "it was fitted on other features than are worked out here: their hash is " + hash
                + ", expected " + Extractor.FEATURE_SET + "; fit and export it again with a distill of this version", null);
        }
        int levels = (int) field(type, "LEVELS", int.class);
        if (levels != Extractor.LEVELS) {
            throw wrong(name, "it has " + levels + " levels, expected " + Extractor.LEVELS, null);
        }
        checkWidths(type);
        boolean abstains = (boolean) field(type, "ABSTAINS", boolean.class);
        return new ClassStudent(method(type, "decide", DECIDE), abstains, columns(type));
    }

    private static IllegalArgumentException wrong(String name, String problem, Throwable cause) {
        return new IllegalArgumentException("class " + name + " is no student that can be used here: " + problem, cause);
    }

    private static Object field(Class<?> type, String name, Class<?> of) {
        try {
            return LOOKUP.findStaticGetter(type, name, of).invoke();
        } catch (Throwable e) {
            throw wrong(type.getName(), "it needs a field `public static final " + of.getSimpleName() + " " + name
                + "`; `distill export --to java` writes students (" + e + ")", e);
        }
    }

    private static MethodHandle method(Class<?> type, String name, MethodType signature) {
        try {
            return LOOKUP.findStatic(type, name, signature);
        } catch (ReflectiveOperationException e) {
            throw wrong(type.getName(), "it needs a method `public static " + name + "` of the type " + signature
                + "; `distill export --to java` writes students (" + e + ")", e);
        }
    }

    private static void checkWidths(Class<?> type) {
        MethodHandle features = method(type, "features", MethodType.methodType(int.class, int.class));
        for (int level = 0; level < Extractor.LEVELS; level++) {
            int found = (int) call(type, features, level);
            if (found != Extractor.width(level)) {
                throw wrong(type.getName(), "level " + level + " has " + found + " features, expected "
                    + Extractor.width(level), null);
            }
        }
    }

    private static Object call(Class<?> type, MethodHandle method, int level) {
        try {
            return method.invoke(level);
        } catch (Throwable e) {
            throw wrong(type.getName(), "it fails: " + e, e);
        }
    }

    private static boolean[][] columns(Class<?> type) {
        MethodHandle method;
        try {
            method = LOOKUP.findStatic(type, "columns", MethodType.methodType(boolean[].class, int.class));
        } catch (ReflectiveOperationException e) {
            return Extractor.all();
        }
        boolean[][] columns = new boolean[Extractor.LEVELS][];
        for (int level = 0; level < columns.length; level++) {
            columns[level] = (boolean[]) call(type, method, level);
        }
        return columns;
    }

    @Override
    public int decide(Function<int[], FloatBuffer> candidates, double[] scores, int[] path) {
        try {
            return (int) decide.invokeExact(candidates, scores, path);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("a student failed: " + e, e);
        }
    }

    @Override
    public boolean abstains() {
        return abstains;
    }

    @Override
    public boolean[][] columns() {
        boolean[][] copy = new boolean[columns.length][];
        for (int level = 0; level < copy.length; level++) {
            copy[level] = columns[level].clone();
        }
        return copy;
    }
}
