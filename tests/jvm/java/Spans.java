// SPDX-License-Identifier: Apache-2.0
// Threads that make requests without end, with a tracing library of the class path: Spans KIND. A stack says what is right: in `a` the trace id
// begins with a, or the operation is "GET:/a"; in `b` the same of b; in `outside` there is none. The library is called by reflection, so that
// this is compiled without it.
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.concurrent.ThreadLocalRandom;

public final class Spans {
    static volatile long sink;

    interface Tracer {
        /** Begins a request and returns what ends it. */
        AutoCloseable begin(char which) throws Exception;
    }

    static void burn() {
        long x = 1;

        for (int i = 0; i < 1_000_000; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }

    static void a() {
        burn();
    }

    static void b() {
        burn();
    }

    static void outside() {
        burn();
    }

    static long id(char first) {
        return Long.parseUnsignedLong(first + String.format("%015x", ThreadLocalRandom.current().nextLong() >>> 4), 16);
    }

    static String hex(char first, int digits) {
        String low = Long.toUnsignedString(id(first), 16);

        return digits == 32 ? low + Long.toUnsignedString(id('7'), 16) : low;
    }

    static Object call(Object of, String name, Object... arguments) throws Exception {
        for (Class<?> c = of instanceof Class ? (Class<?>) of : of.getClass(); c != null; c = c.getSuperclass()) {
            for (Method method : c.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments.length && !method.isBridge()) {
                    method.setAccessible(true);
                    return method.invoke(of, arguments);
                }
            }
        }
        throw new NoSuchMethodException(name);
    }

    /** Brave, with the context that its default has, or with the one that Micrometer takes. */
    static Tracer brave(boolean inherited) throws Exception {
        Class<?> context = Class.forName("brave.propagation.TraceContext");
        Object current = inherited ? call(Class.forName("brave.propagation.CurrentTraceContext$Default"), "inheritable")
                                   : call(call(Class.forName("brave.propagation.ThreadLocalCurrentTraceContext"), "newBuilder"), "build");

        return which -> {
            Object builder = call(context, "newBuilder");
            for (String name : new String[] {"traceIdHigh", "traceId", "spanId"})
                builder = context.getClassLoader().loadClass("brave.propagation.TraceContext$Builder").getMethod(name, long.class)
                    .invoke(builder, id(which));
            return (AutoCloseable) call(current, "newScope", call(builder, "build"));
        };
    }

    /** An application's own keys: a UUID, and a name. */
    static Tracer keys(Class<?> mdc) throws Exception {
        Method put = mdc.getMethod("put", String.class, String.class), remove = mdc.getMethod("remove", String.class);

        return which -> {
            String id = hex(which, 32);

            put.invoke(null, "user", "someone");
            put.invoke(null, "traceId", hex('7', 32));
            put.invoke(null, "spanId", hex('7', 16));
            put.invoke(null, "endpoint", "GET /" + which);
            put.invoke(null, "requestId", id.replaceAll("(.{8})(.{4})(.{4})(.{4})(.{12})", "$1-$2-$3-$4-$5"));
            return () -> {
                remove.invoke(null, "endpoint");
                remove.invoke(null, "requestId");
            };
        };
    }

    /** What OpenTelemetry, Micrometer or Zipkin puts into the context of a log. */
    static Tracer log(Class<?> mdc, String trace, String span, int digits) throws Exception {
        Method put = mdc.getMethod("put", String.class, String.class), remove = mdc.getMethod("remove", String.class);

        return which -> {
            put.invoke(null, "user", "someone");
            put.invoke(null, trace, hex(which, digits));
            put.invoke(null, span, hex('1', 16));
            return () -> {
                remove.invoke(null, trace);
                remove.invoke(null, span);
            };
        };
    }

    static Tracer skywalking() throws Exception {
        Class<?> manager = Class.forName("org.apache.skywalking.apm.agent.core.context.ContextManager");
        Class<?> carrier = Class.forName("org.apache.skywalking.apm.agent.core.context.ContextCarrier");
        Constructor<?> make = carrier.getConstructor();
        Method entry = manager.getMethod("createEntrySpan", String.class, carrier), local = manager.getMethod("createLocalSpan", String.class),
               stop = manager.getMethod("stopSpan");

        return which -> {
            entry.invoke(null, "GET:/" + which, make.newInstance());
            local.invoke(null, "handle");
            return () -> {
                stop.invoke(null);
                stop.invoke(null);
            };
        };
    }

    static Tracer find(String kind) throws Exception {
        switch (kind) {
        case "brave":
            return brave(false);
        case "brave-inherited":
            return brave(true);
        case "skywalking":
            return skywalking();
        case "log4j":
        case "log4j-arrays":
        case "log4j-in-place":
            return log(Class.forName("org.apache.logging.log4j.ThreadContext"), "trace_id", "span_id", 32);
        case "log4j-keys":
            return keys(Class.forName("org.apache.logging.log4j.ThreadContext"));
        case "logback-keys":
            return keys(Class.forName("org.slf4j.MDC"));
        case "logback-b3":
            return log(Class.forName("org.slf4j.MDC"), "X-B3-TraceId", "X-B3-SpanId", 16);
        case "logback-other":
            return log(Class.forName("org.slf4j.MDC"), "traceId", "tenant", 32);
        default:
            return log(Class.forName("org.slf4j.MDC"), "traceId", "spanId", 32);
        }
    }

    static void serve(Tracer tracer) {
        try {
            for (;;) {
                try (AutoCloseable request = tracer.begin('a')) {
                    a();
                }
                outside();
                try (AutoCloseable request = tracer.begin('b')) {
                    b();
                }
                Thread.sleep(5); // of some 8 ms: two threads with a processor each take what other tests need
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        Tracer tracer = find(args[0]);
        Thread[] threads = new Thread[2];

        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> serve(tracer));
            threads[i].start();
        }
        System.out.println("started");
        for (Thread thread : threads)
            thread.join();
    }
}
