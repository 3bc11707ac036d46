// SPDX-License-Identifier: Apache-2.0
// Threads that wait for short times, each kind for an object of a class of its own. Meanwhile the collector moves these objects.
// With argument "full", each collection is a full one.
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

public final class MovedLocks {
    static final class ParkA {
        long a;
    }

    static final class ParkB {
        long a, b;
    }

    static final class WaitA {
        long a;
    }

    static final class WaitB {
        long a, b;
    }

    // What may have the place of an object that moved.
    static final class Other {
        final Other next;

        Other(Other next) {
            this.next = next;
        }
    }

    private static final int THREADS = 30, LIVE = 2_000_000, GARBAGE = 200_000;
    static volatile Other live, garbage;

    private MovedLocks() {}

    interface Wait {
        void once() throws InterruptedException;
    }

    static void start(String kind, Wait wait) {
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(() -> {
                try {
                    while (true)
                        wait.once();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, kind + "-" + i);
            thread.setDaemon(true);
            thread.start();
        }
    }

    // The wait may end at any time of a collection.
    static int milliseconds() {
        return 1 + ThreadLocalRandom.current().nextInt(200);
    }

    static void parkFor(Object object) {
        LockSupport.parkNanos(object, milliseconds() * 1_000_000L);
    }

    static void waitAt(Object object) throws InterruptedException {
        synchronized (object) {
            object.wait(milliseconds());
        }
    }

    static Other chain(int count) {
        Other last = null;
        for (int i = 0; i < count; i++)
            last = new Other(last);
        return last;
    }

    public static void main(String[] args) throws Exception {
        boolean full = args.length > 0 && args[0].equals("full");
        live = chain(LIVE);
        start("ParkA", () -> parkFor(new ParkA()));
        start("ParkB", () -> parkFor(new ParkB()));
        start("WaitA", () -> waitAt(new WaitA()));
        start("WaitB", () -> waitAt(new WaitB()));
        System.out.println("started");
        while (true) {
            garbage = chain(GARBAGE);
            if (full)
                System.gc();
            Thread.sleep(full ? 20 : 1);
        }
    }
}
