/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileInputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** Sick HOW: has one fault, from its beginning on. */
public class Sick {
    static final List<Object> KEPT = new ArrayList<>();
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        switch (args[0]) {
        case "garbage": // most of the heap lives, and the rest of it is thrown away again and again
            garbage(Integer.getInteger("lives", 24), Integer.getInteger("rest", 0));
            break;
        case "leak":
            Thread.sleep(Integer.getInteger("after", 0));
            leak(Integer.getInteger("bytes", 65536), Integer.getInteger("rest", 20));
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
            KEPT.add(new FileInputStream("/dev/null"));
            Thread.sleep(rest);
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
}
