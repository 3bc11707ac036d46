// SPDX-License-Identifier: Apache-2.0
// A load of fourteen kinds of thread that between them make every kind of frame the unwinder knows.
// Runs on JDK 8 and later; those that have virtual threads get a fifteenth. Arguments: seconds, and the name
// of a thread to leave out. For each line of its input it prints of each thread how often it has run its work
// and the CPU nanoseconds that it took.

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

public class Mixed {
    static volatile boolean stop;
    static String leftOut = "";
    static volatile long sink;

    interface Shape {
        double area();
    }

    static final class A implements Shape {
        public double area() { return 1.5; }
    }

    static final class B implements Shape {
        double r = 2;
        public double area() { return r * r * 3; }
    }

    static final class C implements Shape {
        public double area() { return Math.sin(sink); }
    }

    static final class D implements Shape {
        public double area() { return sink * 0.5; }
    }

    abstract static class Virtual {
        abstract int step(int x);
    }

    static class V1 extends Virtual {
        int step(int x) { return x * 31 + 7; }
    }

    static class V2 extends Virtual {
        int step(int x) { return x ^ x >>> 3; }
    }

    static class V3 extends Virtual {
        int step(int x) { return x + 0x1234567; }
    }

    static int recurse(int n, int x) {
        if (n == 0)
            return spin(x, 200);
        return recurse(n - 1, x * 17 + n) + n;
    }

    static int spin(int x, int n) {
        for (int i = 0; i < n; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
        }
        return x;
    }

    static void megamorphic() {
        Shape[] shapes = { new A(), new B(), new C(), new D() };
        Virtual[] virtuals = { new V1(), new V2(), new V3() };
        double sum = 0;
        int x = 1;
        for (int i = 0; i < 20000; i++) {
            sum += shapes[i & 3].area();
            x = virtuals[i % 3].step(x);
        }
        sink += (long) sum + x;
    }

    static void streams() {
        IntUnaryOperator f = v -> v * 3 + 1;
        sink += IntStream.range(0, 5000).map(f).filter(v -> (v & 1) == 0).mapToObj(Integer::toString)
                .mapToInt(String::length).sum();
        List<String> l = new ArrayList<>();
        for (int i = 0; i < 300; i++)
            l.add("k" + spin(i, 3));
        l.sort((a, b) -> b.compareTo(a));
        sink += l.get(0).hashCode();
    }

    static void strings() {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 2000; i++)
            b.append(i).append(':').append((char) ('a' + i % 26)).append("some text");
        sink += b.toString().indexOf("1999:") + b.toString().hashCode();
        sink += String.format("%08d %s %.3f", b.length(), "x", 1.5).length();
    }

    static Object[] keep = new Object[4096];

    static void garbage() {
        Map<Integer, byte[]> m = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            byte[] a = new byte[100 + i % 900];
            m.put(i, a);
            keep[(i * 31) & 4095] = a;
        }
        sink += m.size();
    }

    static void files(File f) throws Exception {
        byte[] buf = new byte[4096];
        try (RandomAccessFile r = new RandomAccessFile(f, "rw")) {
            for (int i = 0; i < 50; i++) {
                r.seek(i * 512);
                r.write(buf);
                r.seek(i * 256);
                sink += r.read(buf);
            }
        }
        sink += f.length();
    }

    static void digests() throws Exception {
        byte[] data = new byte[20000];
        MessageDigest d = MessageDigest.getInstance("SHA-256");
        sink += d.digest(data)[0];
        CRC32 c = new CRC32();
        c.update(data);
        sink += c.getValue();
        Deflater z = new Deflater(6);
        z.setInput(data, 0, 5000);
        z.finish();
        sink += z.deflate(new byte[6000]);
        z.end();
        System.arraycopy(data, 0, data, 100, 10000);
    }

    static int thrower(int n) {
        if (n == 0)
            throw new IllegalStateException("x" + sink);
        try {
            return thrower(n - 1) + 1;
        } finally {
            sink++;
        }
    }

    static void exceptions() {
        for (int i = 0; i < 50; i++) {
            try {
                thrower(i % 10);
            } catch (IllegalStateException e) {
                sink += e.getMessage().length();
            }
            try {
                Object o = i % 3 == 0 ? null : "s";
                sink += o.hashCode();
            } catch (NullPointerException e) {
                sink++;
            }
        }
    }

    static final Object LOCK = new Object();

    static void monitors() {
        for (int i = 0; i < 200; i++) {
            synchronized (LOCK) {
                sink += spin(i, 50);
            }
        }
    }

    public static class Loaded implements Runnable {
        volatile long sink;

        public void run() {
            int x = 1;
            for (int i = 0; i < 3000; i++)
                x = mix(x, i);
            sink += x;
        }

        int mix(int a, int b) {
            return a * 31 + (b ^ a >>> 3);
        }
    }

    static class Loader extends ClassLoader {
        final byte[] code;

        Loader(byte[] code) {
            super(Mixed.class.getClassLoader());
            this.code = code;
        }

        Class<?> define() {
            return defineClass("Mixed$Loaded", code, 0, code.length);
        }
    }

    static byte[] code;

    static void classes() throws Exception {
        if (code == null) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            try (InputStream in = Mixed.class.getResourceAsStream("Mixed$Loaded.class")) {
                byte[] b = new byte[4096];
                for (int n; (n = in.read(b)) > 0;)
                    out.write(b, 0, n);
            }
            code = out.toByteArray();
        }
        ((Runnable) new Loader(code).define().getDeclaredConstructor().newInstance()).run();
    }

    public static int target(int a, int b) {
        return spin(a + b, 20);
    }

    static void reflection() throws Exception {
        Method m = Mixed.class.getMethod("target", int.class, int.class);
        for (int i = 0; i < 300; i++)
            sink += (Integer) m.invoke(null, i, 3);
    }

    static void virtualThreads() throws Exception {
        Method start = Class.forName("java.lang.Thread").getMethod("startVirtualThread", Runnable.class);
        Thread[] t = new Thread[20];
        for (int i = 0; i < t.length; i++) {
            final int n = i;
            t[i] = (Thread) start.invoke(null, (Runnable) () -> {
                for (int k = 0; k < 20; k++) {
                    sink += recurse(n, k);
                    if (k % 5 == 0)
                        Thread.yield();
                    if (k == 10) {
                        try {
                            Thread.sleep(1);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                }
            });
        }
        for (Thread x : t)
            x.join();
    }

    interface Work {
        void run() throws Exception;
    }

    static final List<Thread> THREADS = new ArrayList<>();
    static final List<AtomicLong> RUNS = new ArrayList<>();

    /** Tells what the threads have done, until nobody asks any more. */
    static void answer() {
        try {
            while (System.in.read() >= 0) {
                ThreadMXBean threads = ManagementFactory.getThreadMXBean();
                StringBuilder line = new StringBuilder();
                for (int i = 0; i < THREADS.size(); i++)
                    line.append(RUNS.get(i)).append(' ').append(threads.getThreadCpuTime(THREADS.get(i).getId())).append(' ');
                System.out.println(line);
            }
        } catch (IOException e) {
            sink++;
        }
    }

    static void thread(String name, Work w) {
        if (name.equals(leftOut))
            return;
        AtomicLong runs = new AtomicLong();
        Thread t = new Thread(() -> {
            while (!stop) {
                runs.lazySet(runs.get() + 1);
                try {
                    w.run();
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }
        }, name);
        THREADS.add(t);
        RUNS.add(runs);
        t.setDaemon(true);
        t.start();
    }

    static void sockets() throws Exception {
        ServerSocket s = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        thread("echo", () -> {
            try (Socket c = s.accept(); InputStream in = c.getInputStream(); OutputStream out = c.getOutputStream()) {
                byte[] b = new byte[512];
                for (int n; !stop && (n = in.read(b)) > 0;)
                    out.write(b, 0, n);
            }
        });
        Socket c = new Socket(InetAddress.getLoopbackAddress(), s.getLocalPort());
        InputStream in = c.getInputStream();
        OutputStream out = c.getOutputStream();
        byte[] b = new byte[200];
        thread("client", () -> {
            out.write(b);
            int got = 0;
            while (got < b.length)
                got += in.read(b, got, b.length - got);
        });
    }

    public static void main(String[] args) throws Exception {
        long seconds = Long.parseLong(args[0]);
        if (args.length > 1)
            leftOut = args[1];
        File f = File.createTempFile("mixed", ".tmp");
        f.deleteOnExit();
        thread("recursion", () -> sink += recurse(100, 3));
        thread("deep", () -> sink += recurse(900, 5));
        thread("streams", Mixed::streams);
        thread("megamorphic", Mixed::megamorphic);
        thread("strings", Mixed::strings);
        thread("garbage", Mixed::garbage);
        thread("files", () -> files(f));
        thread("digests", Mixed::digests);
        thread("exceptions", Mixed::exceptions);
        thread("monitor-1", Mixed::monitors);
        thread("monitor-2", Mixed::monitors);
        thread("classes", Mixed::classes);
        thread("reflection", Mixed::reflection);
        sockets();
        try {
            Class.forName("java.lang.Thread").getMethod("startVirtualThread", Runnable.class);
            thread("virtual", Mixed::virtualThreads);
        } catch (NoSuchMethodException e) {
            sink++; // a JDK without them
        }
        Thread answers = new Thread(Mixed::answer, "answers");
        answers.setDaemon(true);
        answers.start();
        System.out.println("started");
        System.out.flush();
        Thread.sleep(seconds * 1000);
        stop = true;
        System.exit(0);
    }
}
