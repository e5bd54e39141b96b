// Times decisions of a recording: prints ns a decision in the fastest round, and the sum of all paths.
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

final class Main implements Function<int[], FloatBuffer> {
  private final FloatBuffer[] all;
  private int next;

  private Main(FloatBuffer[] all) {
    this.all = all;
  }

  @Override
  public FloatBuffer apply(int[] path) {
    return all[next++];
  }

  public static void main(String[] args) throws Exception {
    byte[] bytes = Files.readAllBytes(Path.of(args[0]));
    IntBuffer words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
    int decisions = words.get();
    List<FloatBuffer> all = new ArrayList<>();
    while (words.hasRemaining()) {
      for (int left = words.get(); left > 0; left--) {
        words.get();
        float[] rows = new float[words.get()];
        for (int i = 0; i < rows.length; i++) {
          rows[i] = Float.intBitsToFloat(words.get());
        }
        all.add(FloatBuffer.wrap(rows));
      }
    }
    Main replay = new Main(all.toArray(new FloatBuffer[0]));
    double[] scores = new double[100_000];
    int[] path = new int[Student.LEVELS];
    int rounds = Integer.parseInt(args[1]);
    double least = Double.POSITIVE_INFINITY;
    long sum = 0;
    for (int round = -rounds; round < rounds; round++) {
      replay.next = 0;
      sum = 0;
      long start = System.nanoTime();
      for (int i = 0; i < decisions; i++) {
        int depth = Student.decide(replay, scores, path);
        for (int level = 0; level < depth; level++) {
          sum += path[level];
        }
      }
      double taken = (double) (System.nanoTime() - start) / decisions;
      least = round < 0 ? least : Math.min(least, taken);
    }
    System.out.printf(java.util.Locale.ROOT, "%.1f %d%n", least, sum);
  }
}
