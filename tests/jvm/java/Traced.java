// SPDX-License-Identifier: Apache-2.0
// An HTTP service whose tracer is an agent: Traced PORT_FILE LOG_FILE. GET /fast and /slow burn CPU in methods that the agent has spans for. Each
// request leaves a line in LOG_FILE: thread, trace id, method, begin and end in ns of CLOCK_MONOTONIC.
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.FileWriter;
import java.io.PrintWriter;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.Executors;

public class Traced {
    static final String OTEL = "io.opentelemetry.javaagent.shaded.io.opentelemetry.api.trace.Span";
    static final String DATADOG = "datadog.trace.api.CorrelationIdentifier";
    static volatile long sink;
    static PrintWriter log;

    interface Ids {
        String trace() throws Exception;
    }

    static Ids ids;

    static Ids find() throws Exception {
        try {
            Class<?> span = Class.forName(OTEL);
            Method current = span.getMethod("current"), context = span.getMethod("getSpanContext");
            Method trace = Class.forName("io.opentelemetry.javaagent.shaded.io.opentelemetry.api.trace.SpanContext").getMethod("getTraceId");
            return () -> (String) trace.invoke(context.invoke(current.invoke(null)));
        } catch (ClassNotFoundException e) {
            Method trace = Class.forName(DATADOG).getMethod("getTraceId");
            return () -> (String) trace.invoke(null);
        }
    }

    static void burn(int rounds) {
        long x = rounds;

        for (int i = 0; i < rounds * 1000; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }

    static String measure(String method, int rounds) throws Exception {
        String thread = new File("/proc/thread-self").getCanonicalFile().getName(), trace = ids.trace();
        long begin = System.nanoTime();

        burn(rounds);
        return thread + " " + trace + " " + method + " " + begin + " " + System.nanoTime();
    }

    static String fast() throws Exception {
        return measure("Traced.fast", 1000);
    }

    static String slow() throws Exception {
        return measure("Traced.slow", 10000);
    }

    interface Handler {
        String handle() throws Exception;
    }

    static void serve(HttpServer server, String path, Handler handler) {
        server.createContext(path, exchange -> {
            try {
                String line = handler.handle();

                synchronized (log) {
                    log.println(line);
                }
                exchange.sendResponseHeaders(200, -1);
            } catch (Exception e) {
                e.printStackTrace();
            }
            exchange.close();
        });
    }

    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);

        ids = find();
        log = new PrintWriter(new FileWriter(args[1]), true);
        server.setExecutor(Executors.newFixedThreadPool(3));
        serve(server, "/fast", Traced::fast);
        serve(server, "/slow", Traced::slow);
        server.start();
        Files.write(Paths.get(args[0] + ".new"), ("" + server.getAddress().getPort()).getBytes());
        Files.move(Paths.get(args[0] + ".new"), Paths.get(args[0]), StandardCopyOption.ATOMIC_MOVE);
    }
}
