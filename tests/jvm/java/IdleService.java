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

    static int deeper(int depth, Ways.Way way) throws Exception {
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
        Ways.start("accepts", server::accept);
        Ways.start("reads", () -> client.getInputStream().read());
        Ways.start("selects", () -> Selector.open().select());
        Ways.start("takes", () -> new ArrayBlockingQueue<String>(1).take());
        LOCK.lock();
        Ways.start("locks", IdleService::locks);
        synchronized (LOCK) {
            Ways.start("enters", IdleService::enters);
            for (int i = 0; i < of_a_kind; i++) {
                int depth = 10 * (i % 20);
                Ways.start("waits-" + i, () -> deeper(depth, IdleService::waits));
                Ways.start("sleeps-" + i, () -> deeper(depth, () -> Thread.sleep(3_600_000)));
            }
            System.out.println("started");
            while (System.in.read() >= 0)
                ;
        }
    }
}
