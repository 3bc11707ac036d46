// SPDX-License-Identifier: Apache-2.0
// A service without work: pools, timers and sockets that wait, until its input ends.
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

public final class IdleService {
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();

    interface Way {
        void once() throws Exception;
    }

    static void start(String name, Way way) {
        Thread t = new Thread(() -> {
            try {
                way.once();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    static int deeper(int depth, Way way) throws Exception {
        if (depth > 0)
            return deeper(depth - 1, way) + 1;
        way.once();
        return 0;
    }

    static void waits() throws Exception {
        synchronized (MONITOR) {
            MONITOR.wait();
        }
    }

    static void enters() {
        synchronized (LOCK) {
            throw new IllegalStateException("nobody lets go of it");
        }
    }

    static void locks() {
        LOCK.lock();
    }

    public static void main(String[] args) throws Exception {
        int of_a_kind = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        ExecutorService pool = Executors.newFixedThreadPool(of_a_kind);
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        ForkJoinPool joins = new ForkJoinPool(4);
        ServerSocket server = new ServerSocket(0);
        ServerSocket quiet = new ServerSocket(0);
        Socket client = new Socket("localhost", quiet.getLocalPort());

        for (int i = 0; i < of_a_kind; i++)
            pool.submit(() -> {});
        timer.schedule(() -> {}, 1, TimeUnit.HOURS);
        joins.submit(() -> {}).get();
        start("accepts", server::accept);
        start("reads", () -> client.getInputStream().read());
        start("selects", () -> Selector.open().select());
        start("takes", () -> new ArrayBlockingQueue<String>(1).take());
        LOCK.lock();
        start("locks", IdleService::locks);
        synchronized (LOCK) {
            start("enters", IdleService::enters);
            for (int i = 0; i < of_a_kind; i++) {
                int depth = 10 * (i % 20);
                start("waits-" + i, () -> deeper(depth, IdleService::waits));
                start("sleeps-" + i, () -> deeper(depth, () -> Thread.sleep(3_600_000)));
            }
            System.out.println("started");
            while (System.in.read() >= 0)
                ;
        }
    }
}
