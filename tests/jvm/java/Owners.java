// SPDX-License-Identifier: Apache-2.0
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that hold a lock each, and threads that wait for it for good. A holder is a platform thread (p), a virtual one that sleeps (v),
 * or one that keeps its carrier (m). Its lock is a monitor that was never wanted before it was taken (fast), one that was (heavy), or a
 * ReentrantLock (lock).
 */
public class Owners {
    static volatile boolean stop;
    static volatile long sink;

    static class Fast {}

    static class Heavy {}

    static void hold(boolean spins) {
        while (spins && !stop)
            sink++;
        try {
            Thread.sleep(3_600_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void take(Object lock, Runnable then) {
        if (lock instanceof ReentrantLock) {
            ((ReentrantLock)lock).lock();
            then.run();
        } else {
            synchronized (lock) {
                then.run();
            }
        }
    }

    /** Gives the object a monitor of the VM's own, which it keeps for a while. */
    static Object heavy(Object lock) throws Exception {
        synchronized (lock) {
            lock.wait(1);
        }
        return lock;
    }

    /** The javac that compiles this does not know virtual threads. */
    static void start(boolean virtual, String name, Runnable runs) throws Exception {
        if (virtual) {
            Class<?> builder = Class.forName("java.lang.Thread$Builder");
            Object made = Thread.class.getMethod("ofVirtual").invoke(null);
            builder.getMethod("name", String.class).invoke(made, name);
            Method start = builder.getMethod("start", Runnable.class);
            start.invoke(made, runs);
            return;
        }
        Thread thread = new Thread(runs, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        int version = (int)Double.parseDouble(System.getProperty("java.specification.version")); // 1: 8

        for (String holder : version < 21 ? new String[] {"p"} : new String[] {"p", "v", "m"}) {
            for (String kind : new String[] {"fast", "heavy", "lock"}) {
                Object lock = kind.equals("fast") ? new Fast() : kind.equals("heavy") ? heavy(new Heavy()) : new ReentrantLock();
                CountDownLatch held = new CountDownLatch(1);

                start(!holder.equals("p"), holder + "-" + kind, () -> take(lock, () -> {
                    held.countDown();
                    hold(holder.equals("m"));
                }));
                held.await();
                start(false, "p-" + holder + "-" + kind, () -> take(lock, () -> {}));
                if (version >= 24 || (version >= 21 && kind.equals("lock"))) // before 24, it would pin its carrier
                    start(true, "v-" + holder + "-" + kind, () -> take(lock, () -> {}));
            }
        }
        for (;; Thread.sleep(300))
            System.gc(); // moves what it can
    }
}
