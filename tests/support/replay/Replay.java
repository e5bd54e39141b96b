import com.sun.management.ThreadMXBean;
import java.io.PrintStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;

/**
 * Decides again what files of recorded decisions hold: every question must come, and in its order. Students are found by name, as by
 * a program that knows none of their classes.
 */
public final class Replay implements Function<int[], FloatBuffer> {
  private static final int BEFORE = 3;
  private static final double UNTOUCHED = 1234.5;

  private final IntBuffer words;
  private final float[] rows;
  /** Buffers that begin at their position, and in the midst of their array. */
  private final FloatBuffer[] buffers;

  private int questions;
  private int asked;

  private Replay(IntBuffer words) {
    this.words = words;
    rows = new float[BEFORE + words.limit()];
    buffers = new FloatBuffer[] {FloatBuffer.wrap(rows), FloatBuffer.wrap(rows, BEFORE, rows.length - BEFORE).slice()};
  }

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new IllegalStateException(what);
    }
  }

  @Override
  public FloatBuffer apply(int[] path) {
    check(questions-- > 0, "a question too many");
    int depth = words.get();
    for (int level = 0; level < path.length; level++) {
      check(path[level] == (level < depth ? words.get() : -1), "another path");
    }
    words.get();
    int n = words.get();
    for (int i = 0; i < n; i++) {
      rows[BEFORE + i] = Float.intBitsToFloat(words.get());
    }
    int which = asked++ % 2;
    int from = which == 0 ? BEFORE : 0;
    buffers[which].clear();
    buffers[which].limit(from + n);
    buffers[which].position(from);
    return buffers[which];
  }

  private static IntBuffer read(String file) throws Exception {
    return ByteBuffer.wrap(Files.readAllBytes(Path.of(file))).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
  }

  private static void replay(String name, String file, PrintStream out) throws Throwable {
    Class<?> student = Class.forName(name);
    MethodType type = MethodType.methodType(int.class, Function.class, double[].class, int[].class);
    MethodHandle decide = MethodHandles.publicLookup().findStatic(student, "decide", type);
    int levels = student.getField("LEVELS").getInt(null);
    check(student.getMethod("features", int.class).invoke(null, 0) instanceof Integer, "features");
    Replay replay = new Replay(read(file));
    IntBuffer words = replay.words;
    int decisions = words.get();
    int first = words.position();
    int most = 1;
    int capacity = 1;
    int[] path = new int[levels];
    for (int i = 0; i < decisions; i++) {
      if (i % 16 == 0) {
        capacity = 1;
      }
      int begin = words.position();
      int depth = -capacity;
      while (depth < 0) {
        capacity = -depth;
        most = Math.max(most, capacity);
        double[] scores = new double[capacity];
        words.position(begin);
        replay.questions = words.get();
        depth = (int) decide.invokeExact((Function<int[], FloatBuffer>) replay, scores, path);
      }
      check(replay.questions == 0, "a question too few");
      for (int level = 0; level < levels; level++) {
        check((path[level] >= 0) == (level < depth), "no end of the path");
        if (level < depth) {
          out.print(path[level] + " ");
        }
      }
      out.println();
    }
    // Once more, with room enough and to spare: nothing is allocated, and what is not needed is not touched.
    double[] scores = new double[most + 1];
    scores[most] = UNTOUCHED;
    ThreadMXBean memory = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long thread = Thread.currentThread().getId();
    memory.getThreadAllocatedBytes(thread);
    long least = Long.MAX_VALUE;
    // The JVM itself may allocate something for what it compiles.
    for (int attempt = 0; attempt < 5 && least > 0; attempt++) {
      long before = memory.getThreadAllocatedBytes(thread);
      words.position(first);
      for (int i = 0; i < Math.min(decisions, 60); i++) {
        replay.questions = words.get();
        int depth = (int) decide.invokeExact((Function<int[], FloatBuffer>) replay, scores, path);
        check(depth >= 0 && replay.questions == 0, "another answer");
      }
      least = Math.min(least, memory.getThreadAllocatedBytes(thread) - before);
    }
    check(least == 0, least + " bytes allocated");
    check(scores[most] == UNTOUCHED, "a score too many");
  }

  /** Names of classes, then their recordings. */
  public static void main(String[] args) throws Throwable {
    PrintStream out = new PrintStream(new java.io.BufferedOutputStream(System.out), false);
    for (int i = 0; i < args.length / 2; i++) {
      replay(args[i], args[args.length / 2 + i], out);
    }
    out.flush();
  }
}
