// SPDX-License-Identifier: Apache-2.0
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/** Carriers HOW: virtual threads that need a carrier every few ms, beside others that keep all carriers ("initializer", "synchronized",
 * "computes") or none ("healthy",
 * "permits": twelve want one of three permits, with which they rest). */
public class Carriers {
    static final int OTHERS = 20;
    static volatile long sink;

    static void rest(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static class First {
        static { rest(Long.MAX_VALUE); }
    }

    static class Second {
        static { rest(Long.MAX_VALUE); }
    }

    static synchronized void holdClass() {
        rest(Long.MAX_VALUE);
    }

    void holdObject() {
        synchronized (this) {
            rest(Long.MAX_VALUE);
        }
    }

    static void compute() {
        for (long x = 1;; sink = x)
            x = x * 6364136223846793005L + 1;
    }

    static final Semaphore PERMITS = new Semaphore(3);

    static void query() {
        rest(1000);
    }

    static void save() {
        for (;;) {
            PERMITS.acquireUninterruptibly();
            try {
                query();
            } finally {
                PERMITS.release();
            }
        }
    }

    /** Each request is of a platform thread: from JDK 25 on a carrier ends what waits for a time. */
    static final List<BlockingQueue<Long>> REQUESTS = new CopyOnWriteArrayList<>();

    static void feed() {
        for (;; rest(5)) {
            for (BlockingQueue<Long> one : REQUESTS)
                one.offer(1L);
        }
    }

    static void serve() {
        BlockingQueue<Long> requests = new ArrayBlockingQueue<>(1);
        REQUESTS.add(requests);
        for (long x = 1;; sink = x) {
            try {
                x += requests.take();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            for (int i = 0; i < 20000; i++)
                x = x * 6364136223846793005L + i;
        }
    }

    static void start(ExecutorService all, Runnable... keepers) {
        for (Runnable one : keepers)
            all.submit(one);
    }

    public static void main(String[] args) throws Exception {
        ExecutorService all = (ExecutorService)Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        for (int i = 0; i < OTHERS; i++)
            all.submit(Carriers::serve);
        Thread feeder = new Thread(Carriers::feed, "feeder");
        feeder.setDaemon(true);
        feeder.start();
        while (REQUESTS.size() < OTHERS)
            rest(10);
        switch (args[0]) {
        case "initializer":
            start(all, First::new, Second::new);
            break;
        case "synchronized":
            start(all, Carriers::holdClass, () -> new Carriers().holdObject());
            break;
        case "computes":
            start(all, Carriers::compute, Carriers::compute);
            break;
        case "permits":
            for (int i = 0; i < 12; i++)
                all.submit(Carriers::save);
            break;
        default:
        }
        System.out.println("started");
        System.in.read();
        System.exit(0);
    }
}
