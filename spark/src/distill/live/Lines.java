package distill.live;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The log: a line of the protocol of {@code distill serve} for each round, written by a thread of its own. Where the disk cannot follow, lines are
 * left out and counted; each has the whole state, so that the others can be read all the same.
 */
final class Lines implements AutoCloseable {
    /** Lines that wait for the disk, and their characters. */
    private static final int MOST_WAITING = 10_000;
    private static final long MOST_CHARACTERS = 32_000_000;

    private final BlockingQueue<String> waiting = new ArrayBlockingQueue<>(MOST_WAITING);
    private final AtomicLong characters = new AtomicLong();
    private final BufferedWriter writer;
    private final Thread thread;
    private final Numbers numbers;
    private volatile boolean closing;
    private volatile boolean broken;

    Lines(Path file, Numbers numbers) throws IOException {
        this.numbers = numbers;
        try {
            writer = Files.newBufferedWriter(file, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new IOException(Settings.PREFIX + "log: " + file + " cannot be written: " + e.getMessage() + "; name a file in a folder that is there", e);
        }
        writer.write("{\"type\":\"reset\",\"seed\":0}\n");
        thread = new Thread(this::run, "distill-log");
        thread.setDaemon(true);
        thread.start();
    }

    void add(String line) {
        if (broken || characters.get() > MOST_CHARACTERS || !waiting.offer(line)) {
            numbers.lostLines.inc();
        } else {
            characters.addAndGet(line.length());
        }
    }

    private void run() {
        try {
            while (true) {
                String line = waiting.poll(200, TimeUnit.MILLISECONDS);
                if (line != null) {
                    characters.addAndGet(-line.length());
                    writer.write(line);
                    writer.write('\n');
                } else {
                    writer.flush();
                    if (closing) {
                        writer.close();
                        return;
                    }
                }
            }
        } catch (IOException | InterruptedException e) {
            broken = true;
            Log.warn("the log cannot be written any more: " + e);
        }
    }

    @Override
    public void close() {
        closing = true;
        try {
            thread.join(5000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
