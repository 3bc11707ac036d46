// SPDX-License-Identifier: Apache-2.0
// An HTTP service without a tracer: Handled PORT_FILE. Clients of its own ask for /fast and /slow all the time, whose handlers burn CPU. GET /totals
// has the CPU time in ns of either, by the clocks of their threads.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;

public class Handled {
    static volatile long sink;

    static void burn(int rounds) {
        long x = rounds;

        for (int i = 0; i < rounds * 1000; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }

    static void answer(HttpExchange exchange, String text) throws IOException {
        byte[] body = text.getBytes("UTF-8");

        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    abstract static class Measured implements HttpHandler {
        final AtomicLong ns = new AtomicLong();

        void measure(HttpExchange exchange, int rounds) throws IOException {
            long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();

            burn(rounds);
            ns.addAndGet(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin);
            answer(exchange, "done");
        }
    }

    static class Fast extends Measured {
        public void handle(HttpExchange exchange) throws IOException {
            measure(exchange, 4000);
        }
    }

    static class Slow extends Measured {
        public void handle(HttpExchange exchange) throws IOException {
            measure(exchange, 8000);
        }
    }

    static void ask(URL url) {
        for (;;) {
            try {
                HttpURLConnection connection = (HttpURLConnection) url.openConnection();

                connection.getInputStream().readAllBytes();
            } catch (IOException e) {
                Thread.yield();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        Measured fast = new Fast(), slow = new Slow();
        String base = "http://127.0.0.1:" + server.getAddress().getPort();
        Path port = Path.of(args[0] + ".new");

        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/fast", fast);
        server.createContext("/slow", slow);
        server.createContext("/totals", exchange -> answer(exchange, fast.ns + " " + slow.ns));
        server.start();
        for (String path : new String[] { "/fast", "/slow" }) {
            URL url = new URL(base + path);
            Thread client = new Thread(() -> ask(url));

            client.setDaemon(true);
            client.start();
        }
        Files.writeString(port, String.valueOf(server.getAddress().getPort()));
        Files.move(port, Path.of(args[0]), StandardCopyOption.ATOMIC_MOVE);
        Thread.sleep(Long.MAX_VALUE);
    }
}
