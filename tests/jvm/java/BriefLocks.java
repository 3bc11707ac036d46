// SPDX-License-Identifier: Apache-2.0
// Threads that live for a fifth of a second and wait for a lock again and again meanwhile. Another one follows each. Its input
// and what it prints are those of Locks.
import java.util.concurrent.locks.ReentrantLock;

public final class BriefLocks {
    static final class Key {
        volatile String holder = "-";
    }

    private static final int WAITS_MAX = 100, THREADS = 3;
    private static final long LIFE_NS = 200_000_000;
    private static final Key KEY = new Key(), NEAR = new Key();
    private static final ReentrantLock LOCK = new ReentrantLock();

    private BriefLocks() {}

    abstract static class Brief extends Locks.Waiter {
        final int number;

        Brief(String kind, int number) {
            super(kind, number, WAITS_MAX);
            this.number = number;
        }

        abstract Brief next();

        @Override
        public void run() {
            long until = System.nanoTime() + LIFE_NS;

            try {
                while (System.nanoTime() < until && ended < WAITS_MAX)
                    once();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            next().start();
        }

        void holds(Key key) throws Exception {
            key.holder = getName();
            Locks.holds();
            key.holder = "-";
        }
    }

    static final class Enters extends Brief {
        Enters(int number) {
            super("Enters", number);
        }

        @Override
        Brief next() {
            return new Enters(number + THREADS);
        }

        @Override
        void once() throws Exception {
            begin(KEY.holder);
            synchronized (KEY) {
                end();
                holds(KEY);
            }
            Locks.pauses();
        }
    }

    static final class Takes extends Brief {
        Takes(int number) {
            super("Takes", number);
        }

        @Override
        Brief next() {
            return new Takes(number + THREADS);
        }

        @Override
        void once() throws Exception {
            begin(NEAR.holder);
            LOCK.lock();
            end();
            holds(NEAR);
            LOCK.unlock();
            Locks.pauses();
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < THREADS; i++) {
            new Enters(i).start();
            new Takes(i).start();
        }
        Locks.obey(args);
    }
}
