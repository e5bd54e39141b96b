package distill.live;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import distill.state.ClusterState;
import java.io.IOException;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/** Asks {@code distill serve} over its Unix socket; an answer that is not there after 2 ms is not waited for. Needs Java 16. */
final class SocketDecider implements Decider {
    private static final long CONNECT_NS = TimeUnit.SECONDS.toNanos(5);
    private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(1);
    private static final long AWAKE_NS = TimeUnit.MILLISECONDS.toNanos(1);
    private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

    private final Path path;
    private final long usualNs;
    /** How long an answer is waited for now. */
    private long timeoutNs;
    private final StringBuilder line = new StringBuilder();
    private final ObjectMapper mapper = new ObjectMapper();
    private SocketChannel channel;
    private Selector selector;
    private ByteBuffer received = ByteBuffer.allocate(1 << 16);
    private long id;
    private long triedAt;
    private boolean tried;

    SocketDecider(String path, long timeoutNs) {
        this.path = Paths.get(path);
        usualNs = timeoutNs;
    }

    /** Says hello, and asks what does not count; here there is time. */
    @Override
    public void warm() throws Exception {
        long until = System.nanoTime() + CONNECT_NS;
        connect(until);
        timeoutNs = CONNECT_NS;
        WarmUp.run(this);
        timeoutNs = usualNs;
        // A client that has asked so much is served after others; this is another one, that has seen nothing.
        connect(System.nanoTime() + CONNECT_NS);
    }

    private void connect(long until) throws IOException {
        close();
        tried = true;
        triedAt = System.nanoTime();
        channel = open();
        selector = Selector.open();
        channel.register(selector, SelectionKey.OP_READ);
        send("{\"type\":\"hello\",\"protocol\":1}\n", until);
        JsonNode ready = mapper.readTree(receive(until));
        if (!"ready".equals(ready.path("type").asText()) || !"dag".equals(ready.path("scenario").asText())) {
            throw new IOException(path + " answers " + ready + "; wanted is `distill serve` with a policy of scenario dag");
        }
    }

    /** By reflection, as the plugin runs on Java 11 too. */
    private SocketChannel open() throws IOException {
        try {
            Object address = Class.forName("java.net.UnixDomainSocketAddress").getMethod("of", Path.class).invoke(null, path);
            Object family = StandardProtocolFamily.valueOf("UNIX");
            SocketChannel opened = (SocketChannel) SocketChannel.class.getMethod("open", ProtocolFamily.class).invoke(null, family);
            opened.configureBlocking(false);
            if (!opened.connect((SocketAddress) address)) {
                // A server that hangs, and lets nobody in.
                opened.close();
                throw new IOException(path + " lets nobody in");
            }
            return opened;
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            throw new IOException("sockets of Unix need Java 16 or newer, this is " + System.getProperty("java.version"), e);
        }
    }

    /** Who does not answer is not called again at once. */
    @Override
    public boolean ready(long now) {
        return channel != null || !tried || now - triedAt >= RETRY_NS;
    }

    @Override
    public void answer(ClusterState state, Assignments out) throws IOException {
        long until = System.nanoTime() + timeoutNs;
        try {
            if (channel == null) {
                connect(until);
            }
            line.setLength(0);
            line.append("{\"id\":").append(++id).append(",\"scores\":false,\"state\":");
            state.appendJson(line);
            line.append("}\n");
            send(line.toString(), until);
            JsonNode answer;
            do {
                answer = mapper.readTree(receive(until));
            } while (answer.path("id").asLong(-1) < id && "answer".equals(answer.path("type").asText()));
            if (!"answer".equals(answer.path("type").asText())) {
                throw new IOException(path + " says " + answer.path("error").asText(answer.toString()));
            }
            take(state, answer.path("decisions"), out);
        } catch (IOException | RuntimeException e) {
            // What is still under way would be taken for the next answer.
            close();
            throw e;
        }
    }

    /** The state is answered, so that a decision that cannot be is refused here. */
    private static void take(ClusterState state, JsonNode decisions, Assignments out) {
        for (JsonNode decision : decisions) {
            if ("abstain".equals(decision.path("do").asText())) {
                out.abstain();
                state.abstain();
            } else {
                int job = decision.path("job").asInt();
                int stage = decision.path("stage").asInt();
                int executors = decision.path("executors").asInt();
                state.answer(job, stage, executors);
                out.add(job, stage, executors);
            }
        }
    }

    private void send(String text, long until) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        while (bytes.hasRemaining()) {
            if (channel.write(bytes) == 0) {
                await(SelectionKey.OP_WRITE, until);
            }
        }
    }

    private byte[] receive(long until) throws IOException {
        while (true) {
            for (int i = 0; i < received.position(); i++) {
                if (received.get(i) == '\n') {
                    byte[] text = Arrays.copyOf(received.array(), i);
                    received.flip().position(i + 1);
                    received.compact();
                    return text;
                }
            }
            if (!received.hasRemaining()) {
                ByteBuffer larger = ByteBuffer.allocate(2 * received.capacity());
                received.flip();
                received = larger.put(received);
            }
            int n = readAwake(until);
            if (n < 0) {
                throw new IOException(path + " has hung up");
            }
            if (n == 0) {
                await(SelectionKey.OP_READ, until);
            }
        }
    }

    /**
     * Waits awake for as long as an answer usually takes: on a busy machine a thread that sleeps is woken late. Where there is one processor, the server needs
     * it.
     */
    private int readAwake(long until) throws IOException {
        long awake = Math.min(until, System.nanoTime() + AWAKE_NS);
        int n = channel.read(received);
        while (n == 0 && PROCESSORS > 1 && System.nanoTime() < awake) {
            Thread.onSpinWait();
            n = channel.read(received);
        }
        return n;
    }

    private void await(int what, long until) throws IOException {
        long left = until - System.nanoTime();
        if (left <= 0) {
            throw new IOException(path + " did not answer in time");
        }
        channel.keyFor(selector).interestOps(what);
        // Selectors know whole milliseconds.
        selector.select(Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
        selector.selectedKeys().clear();
    }

    @Override
    public void close() {
        received.clear();
        try {
            if (selector != null) {
                selector.close();
            }
            if (channel != null) {
                channel.close();
            }
        } catch (IOException e) {
            Log.warn(path + ": " + e);
        }
        selector = null;
        channel = null;
    }
}
