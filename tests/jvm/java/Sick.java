/* SPDX-License-Identifier: Apache-2.0 */
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;
import java.util.regex.Pattern;

/** Sick HOW: has one fault, from its beginning on. With -Dbegin=FILE it is idle until there is that file; it then has -Dkept MiB already. */
public class Sick {
    static final List<Object> KEPT = new ArrayList<>();
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        for (int i = 0; i < Integer.getInteger("kept", 0) * 16; i++)
            KEPT.add(new byte[65536]);
        while (System.getProperty("begin") != null && !new File(System.getProperty("begin")).exists())
            Thread.sleep(100);
        switch (args[0]) {
        case "garbage": // most of the heap lives, and the rest of it is thrown away again and again
            garbage(Integer.getInteger("lives", 24), Integer.getInteger("rest", 0));
            break;
        case "leak":
            Thread.sleep(Integer.getInteger("after", 0));
            leak(Integer.getInteger("bytes", 65536), Integer.getInteger("rest", 20));
            break;
        case "exhausted": // it has kept all that the heap holds, and does nothing any more
            exhaust();
            Thread.sleep(Long.MAX_VALUE);
            break;
        case "threads":
            threads(Integer.getInteger("rest", 200));
            break;
        case "descriptors":
            descriptors(Integer.getInteger("rest", 50));
            break;
        case "fails":
            Thread.sleep(Integer.getInteger("after", 15000));
            System.exit(3);
            break;
        case "convoy": // six threads want one lock, and the one that has it sleeps
            pool("convoy-", 6, () -> Price.load(Integer.getInteger("rest", 40)));
            break;
        case "starved": // all threads of a pool wait for a server that does not answer
            starve(4);
            break;
        case "rules": // release 2.4.1 has regular expressions that backtrack
            if (Integer.getInteger("garbage", 0) > 0) // beside it objects are thrown away, with as many ms of rest
                pool("garbage-", 1, () -> garbage(24, Integer.getInteger("garbage")));
            rules(Boolean.getBoolean("tenant"), Integer.getInteger("rest", 100));
            break;
        case "swapped": // reads a heap that is larger than its memory
            swapped(Integer.getInteger("lives", 200), Integer.getInteger("rest", 4));
            break;
        case "storm": // code is thrown away and compiled again
            storm(Integer.getInteger("scripts", 20), Integer.getInteger("rest", 130));
            break;
        case "straggler": // a loop does not look for safepoints
            straggle(Integer.getInteger("rest", 1000));
            break;
        case "idle": // a control
            Thread.sleep(Long.MAX_VALUE);
            break;
        case "busy": // the control: honest work on one thread, and a little garbage
            busy(Integer.getInteger("rest", 0));
            break;
        default:
            throw new IllegalArgumentException(args[0]);
        }
    }

    interface Task {
        void run() throws Exception;
    }

    /** The lock of the convoy. */
    static class Price {
        static synchronized void load(int rest) throws InterruptedException {
            Thread.sleep(rest);
        }
    }

    static class Carrier {
        static void fetch(int port) throws Exception {
            try (Socket s = new Socket(InetAddress.getLoopbackAddress(), port)) {
                s.setSoTimeout(3000);
                s.getInputStream().read();
            } catch (SocketTimeoutException e) {
                return;
            }
        }
    }

    static void pool(String name, int threads, Task task) {
        AtomicInteger next = new AtomicInteger();
        ExecutorService all = Executors.newFixedThreadPool(threads, r -> new Thread(r, name + next.incrementAndGet()));

        for (int i = 0; i < threads; i++)
            all.submit(() -> {
                for (;;)
                    task.run();
            });
    }

    static void starve(int threads) throws Exception {
        ServerSocket server = new ServerSocket(0, 1000, InetAddress.getLoopbackAddress());

        KEPT.add(server);
        pool("checkout-", threads, () -> Carrier.fetch(server.getLocalPort()));
    }

    static void garbage(int lives, int rest) throws InterruptedException {
        for (int i = 0; i < lives * 16; i++)
            KEPT.add(new Object[8192]);
        for (int round = 0;; round++) {
            for (int i = 0; i < 64; i++)
                KEPT.set((round * 64 + i) % KEPT.size(), new Object[8192]);
            if (rest > 0)
                Thread.sleep(rest);
        }
    }

    static void leak(int bytes, int rest) throws InterruptedException {
        for (;;) {
            KEPT.add(new byte[bytes]);
            for (int i = 0; i < 20; i++)
                sink = new byte[bytes];
            Thread.sleep(rest);
        }
    }

    static void exhaust() {
        try {
            for (;;)
                KEPT.add(new byte[65536]);
        } catch (OutOfMemoryError e) {
            return;
        }
    }

    static void threads(int rest) throws InterruptedException {
        for (;;) {
            Thread t = new Thread(() -> {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    return;
                }
            });
            t.setDaemon(true);
            t.start();
            Thread.sleep(rest);
        }
    }

    static void descriptors(int rest) throws Exception {
        for (;;) {
            try {
                KEPT.add(Files.open());
            } catch (FileNotFoundException e) { // it may have no more
                sink = e;
            }
            Thread.sleep(rest);
        }
    }

    static class Files {
        static InputStream open() throws FileNotFoundException {
            return new FileInputStream("/dev/null");
        }
    }

    static void busy(int rest) throws InterruptedException {
        long sum = 0;

        for (long i = 0;; i++) {
            sum = sum * 31 + i;
            if ((i & 0xffff) == 0)
                sink = new byte[4096 + (int) (sum & 15)];
            if (rest > 0 && (i & 0x3fffff) == 0) // after some 5 ms
                Thread.sleep(rest);
        }
    }

    static class Rules {
        static double evaluate(Random random) {
            double sum = 0;

            for (int i = 0; i < 200_000; i++)
                sum += Math.sqrt(random.nextInt(1000) + i);
            return sum;
        }

        static int matchTenant(String text) {
            int found = 0;

            for (int i = 0; i < 100; i++)
                found += Pattern.compile("(\\w+\\s?)*@tenant" + i).matcher(text).find() ? 1 : 0;
            return found;
        }
    }

    static void rules(boolean byTenant, int rest) throws InterruptedException {
        Random random = new Random(1);

        for (;;) {
            sink = Rules.evaluate(random);
            if (byTenant)
                sink = Rules.matchTenant("customer north " + random.nextInt(9));
            Thread.sleep(rest);
        }
    }

    static void swapped(int lives, int rest) throws InterruptedException {
        Random random = new Random(1);

        for (int i = 0; i < lives * 16; i++)
            KEPT.add(new long[8192]);
        for (;;) {
            sink = Sessions.lookup((long[]) KEPT.get(random.nextInt(KEPT.size())), random);
            Thread.sleep(rest);
        }
    }

    static class Sessions {
        static long lookup(long[] session, Random random) {
            return session[random.nextInt(session.length)];
        }
    }

    /** Of a language that is compiled while it runs. Each loader has its own. */
    public static class Script implements IntUnaryOperator {
        static final MutableCallSite SITE = new MutableCallSite(MethodType.methodType(int.class, int.class));
        static final MethodHandle CALL = SITE.dynamicInvoker();
        static final MethodHandle[] TARGETS = new MethodHandle[2];
        static int next;

        public static int plus(int n) {
            return n + 1;
        }

        public static int times(int n) {
            return n * 3;
        }

        static int call(int n) {
            try {
                return (int) CALL.invokeExact(n) + (int) CALL.invokeExact(n >> 1) + (int) CALL.invokeExact(n >> 2) +
                       (int) CALL.invokeExact(n >> 3);
            } catch (Throwable e) {
                throw new AssertionError(e);
            }
        }

        static int evaluate(int n) {
            int sum = 0;

            for (int i = 0; i < n; i++)
                sum += call(i) ^ call(i + 1) ^ call(i + 2) ^ call(i + 3) ^ call(i + 4) ^ call(i + 5) ^ call(i + 6) ^ call(i + 7);
            return sum;
        }

        @Override
        public int applyAsInt(int n) {
            try {
                for (int i = 0; TARGETS[1] == null && i < 2; i++)
                    TARGETS[i] = MethodHandles.lookup().findStatic(Script.class, i == 0 ? "plus" : "times", SITE.type());
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
            SITE.setTarget(TARGETS[next++ & 1]);
            return evaluate(n);
        }
    }

    static IntUnaryOperator loadScript(byte[] code) throws Exception {
        return (IntUnaryOperator) new ClassLoader(Sick.class.getClassLoader()) {
            Class<?> define() {
                return defineClass(null, code, 0, code.length);
            }
        }.define().getDeclaredConstructor().newInstance();
    }

    static void storm(int scripts, int rest) throws Exception {
        List<IntUnaryOperator> all = new ArrayList<>();
        ByteArrayOutputStream code = new ByteArrayOutputStream();

        try (InputStream in = Sick.class.getResourceAsStream("Sick$Script.class")) {
            for (int b = in.read(); b >= 0; b = in.read())
                code.write(b);
        }
        for (int i = 0; i < scripts; i++)
            all.add(loadScript(code.toByteArray()));
        for (int round = 0;; round++) {
            for (int i = 0; i < 10; i++)
                sink = all.get(round % scripts).applyAsInt(1000);
            Thread.sleep(rest);
        }
    }

    static class Report {
        /** Some 350 ms without a look for a safepoint, on an idle machine. */
        static int sum(int n) {
            int x = 1;

            for (int i = 0; i < n; i++)
                x = x * 31 + (i ^ x >>> 3);
            return x;
        }
    }

    static void straggle(int rest) throws InterruptedException {
        Thread report = new Thread(() -> {
            for (int i = 0; i < 20_000; i++)
                sink = Report.sum(100);
            for (;;) {
                sink = Report.sum(300_000_000);
                try {
                    Thread.sleep(rest);
                } catch (InterruptedException e) {
                    return;
                }
            }
        }, "report-1");

        report.start();
        for (;;) { // some safepoints a second
            for (int i = 0; i < 100; i++)
                sink = new byte[65536];
            Thread.sleep(50);
        }
    }
}
