// SPDX-License-Identifier: Apache-2.0
import io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext;
import io.opentelemetry.context.ArrayBasedContext;
import io.opentelemetry.context.ThreadLocalContextStorage;
import io.opentelemetry.sdk.trace.SdkSpan;
import java.io.File;
import java.io.FileInputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.zip.Deflater;

/**
 * Threads that make requests without end, in a tracer of their own: Requests THREADS [virtual | collect | LIBRARY]. A stack says what is right: in `a`
 * it is "GET /a" and a trace id that begins with a, in `b` the same of b, in `outside` none. All of them burn, wait, contend for a lock, allocate
 * objects and native memory. With collect, the heap is compacted most of the time, while they wait or run native code. With LIBRARY
 * (native/records.c) the tracer is native and has records of threads.
 */
public final class Requests {
    static final Object LOCK = new Object();
    static volatile long sink;
    static volatile Object kept;
    static final ThreadLocal<ByteBuffer> BUFFER = ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(8_000_000));
    static final AtomicInteger DEFLATERS = new AtomicInteger();
    static final AtomicReferenceArray<Deflater> LATE = new AtomicReferenceArray<>(64);
    static boolean records;
    static FileChannel file; // with collect

    static native void attach(int which);

    static native void detach();

    static native void tear();

    static void burn(int rounds) {
        long x = rounds;

        for (int i = 0; i < rounds; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }

    static void contend() {
        synchronized (LOCK) {
            burn(100_000);
        }
    }

    static void allocate() {
        for (int i = 0; i < 40; i++)
            kept = new byte[20_000];
    }

    static void nap() throws Exception {
        Thread.sleep(1);
    }

    /** The JDK's own classes: a large file, also where nothing but the JDK is. */
    static FileChannel classes() throws Exception {
        File lib = new File(System.getProperty("java.home"), "lib"), old = new File(lib, "rt.jar");

        return new FileInputStream(old.exists() ? old : new File(lib, "modules")).getChannel();
    }

    /** Some milliseconds in native code, where threads do not stop for a collection. */
    static void read(ByteBuffer buffer) throws Exception {
        buffer.clear();
        file.read(buffer, 0);
    }

    static void work() throws Exception {
        if (file != null) {
            read(BUFFER.get());
            nap();
            allocate();
            return;
        }
        burn(300_000);
        contend();
        allocate();
        nap();
        deflate();
    }

    /** Every twentieth one stays for seconds, so that some native memory is not freed. */
    static void deflate() {
        Deflater deflater = new Deflater();
        int n = DEFLATERS.incrementAndGet();

        if (n % 20 == 0)
            deflater = LATE.getAndSet(n / 20 % LATE.length(), deflater);
        if (deflater != null)
            deflater.end();
    }

    static void collect() throws Exception {
        for (;;) {
            System.gc();
            Thread.sleep(2);
        }
    }

    static void a() throws Exception {
        work();
    }

    static void b() throws Exception {
        work();
    }

    static void outside() throws Exception {
        work();
    }

    interface Handler {
        void handle() throws Exception;
    }

    static String hex(char first, int digits) {
        StringBuilder s = new StringBuilder().append(first);

        while (s.length() < digits)
            s.append(Character.forDigit(ThreadLocalRandom.current().nextInt(16), 16));
        return s.toString();
    }

    static void request(char which, Handler handler) throws Exception {
        if (!records) {
            trace(which, handler);
            return;
        }
        attach(which);
        handler.handle();
        detach();
    }

    /** A root span, which has its name late, and one in it. */
    static void trace(char which, Handler handler) throws Exception {
        String trace = hex(which, 32);
        SdkSpan root = new SdkSpan(new AutoValue_ImmutableSpanContext(trace, hex('1', 16)), "GET");
        SdkSpan inner = new SdkSpan(new AutoValue_ImmutableSpanContext(trace, hex('2', 16)), "handle");

        ThreadLocalContextStorage.attach(new ArrayBasedContext("current", inner, "root", root));
        root.rename("GET /" + which);
        handler.handle();
        ThreadLocalContextStorage.attach(new ArrayBasedContext());
    }

    static void serve() {
        try {
            for (;;) {
                request('a', Requests::a);
                outside();
                request('b', Requests::b);
                if (records) {
                    tear();
                    outside();
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
        }
    }

    static Thread start(boolean virtual) throws Exception {
        Runnable serve = Requests::serve; // JDK 8 has no virtual threads

        if (virtual)
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, serve);
        Thread thread = new Thread(serve);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Thread last = null;
        boolean virtual = args.length > 1 && args[1].equals("virtual");

        if (args.length > 1 && args[1].equals("collect"))
            file = classes();
        records = args.length > 1 && !virtual && file == null;
        if (records)
            System.load(args[1]);
        for (int i = Integer.parseInt(args[0]); i > 0; i--)
            last = start(virtual);
        System.out.println("started");
        if (file != null)
            collect();
        last.join();
    }
}
