// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Waits THREADS: so many threads that work for a moment, and then wait: a quarter each sleeps, parks, waits for a monitor and for a
 * lock. For each line of its input it prints how often they worked.
 */
public final class Waits {
    private static final int SHARE = 8; // threads that share a lock
    private static final Object BLOCKER = new Object();
    static volatile long sink;

    private Waits() {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        for (int i = 0; i < 10_000; i++)
            work(i); // compiled before so many threads run it
        AtomicLongArray turns = new AtomicLongArray(threads);
        Object[] monitors = new Object[threads / SHARE + 1];
        ReentrantLock[] locks = new ReentrantLock[threads / SHARE + 1];
        for (int i = 0; i < locks.length; i++) {
            monitors[i] = new Object();
            locks[i] = new ReentrantLock();
        }
        for (int i = 0; i < threads; i++) {
            int mine = i;
            int group = i / 4 / SHARE;
            Thread t = new Thread(() -> {
                for (long n = 1; ; n++) {
                    work(n);
                    turns.lazySet(mine, n);
                    rest(mine, monitors[group], locks[group]);
                }
            }, "waits-" + i);
            t.setDaemon(true);
            t.start();
        }
        Answers.give(() -> Answers.sum(turns));
    }

    private static void work(long seed) {
        long s = seed;
        for (int i = 0; i < 4_000; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        sink = s;
    }

    private static void pause(int atMostMs) {
        try {
            Thread.sleep(1 + ThreadLocalRandom.current().nextInt(atMostMs));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void rest(int mine, Object monitor, ReentrantLock lock) {
        switch (mine % 4) {
        case 0:
            pause(2000);
            break;
        case 1:
            LockSupport.parkNanos(BLOCKER, TimeUnit.MILLISECONDS.toNanos(1 + ThreadLocalRandom.current().nextInt(2000)));
            break;
        case 2:
            pause(1000);
            synchronized (monitor) {
                pause(10);
            }
            break;
        default:
            pause(1000);
            lock.lock();
            try {
                pause(10);
            } finally {
                lock.unlock();
            }
            break;
        }
    }
}
