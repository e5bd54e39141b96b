// Asks `distill serve` who gets the executors that are free:
//
//     distill serve -p student:student.json --listen unix:distill.sock &
//     java examples/ServeClient.java distill.sock
//
// Over TCP it says the token that the server asks for (--token-file token), which is in a file:
//
//     java examples/ServeClient.java 127.0.0.1:7400 token
//
// `docs/serve.md` has the lines, `docs/cluster-state.md` the state. Use the JSON library that you have; here patterns will do.

import java.io.*;
import java.net.*;
import java.nio.channels.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.regex.*;

class ServeClient {
    public static void main(String[] args) throws IOException {
        String token = args.length > 1 ? ",'token':'" + Files.readString(Path.of(args[1])).strip() + "'" : "";
        try (SocketChannel channel = SocketChannel.open(address(args[0], !token.isEmpty()))) {
            Writer out = Channels.newWriter(channel, StandardCharsets.UTF_8);
            BufferedReader in = new BufferedReader(Channels.newReader(channel, StandardCharsets.UTF_8));
            String hello = "{'type':'hello','protocol':1,'seed':7" + token + "}";
            Matcher ready = ask(out, in, hello, "'scenario':'(.*?)','policy':'(.*?)'");
            ready.find();
            System.out.println("asked " + ready.group(2) + " of " + ready.group(1));
            String state = "{'num_executors':10,'time_ms':60000,'offered':6,'jobs':[{'id':7,'arrival_ms':42000,'stages':["
                + "{'tasks':8,'rough_ms':1500,'completed':2,'running':3,'recent_ms':1320},"
                + "{'tasks':4,'rough_ms':400,'parents':[0]}]}]}";
            String assign = "'job':(\\d+),'stage':(\\d+),'executors':(\\d+)";
            Matcher given = ask(out, in, "{'id':1,'scores':false,'state':" + state + "}", assign);
            while (given.find())
                System.out.printf("%s executors for stage %s of job %s%n", given.group(3), given.group(2), given.group(1));
            // Later only what has changed: the scan is done, and its executors are busy with the rest.
            String change = "{'time_ms':61500,'jobs':[{'id':7,'stages':[{'stage':0,'completed':8,'running':0,'promised':0}]}]}";
            Matcher more = ask(out, in, "{'id':2,'change':" + change + "}", assign);
            System.out.println(more.find() ? "more to do" : "nothing to decide");
        }
    }

    static SocketAddress address(String text, boolean tcp) {
        if (!tcp) return UnixDomainSocketAddress.of(text);
        int colon = text.lastIndexOf(':');
        return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
    }

    static Matcher ask(Writer out, BufferedReader in, String line, String wanted) throws IOException {
        out.write(line.replace('\'', '"') + "\n");
        out.flush();
        String answer = in.readLine();
        if (answer == null || answer.contains("\"type\":\"error\"")) throw new IOException("no answer: " + answer);
        return Pattern.compile(wanted.replace('\'', '"')).matcher(answer);
    }
}
