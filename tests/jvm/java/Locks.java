// SPDX-License-Identifier: Apache-2.0
// Threads that wait for locks and keep a record of it. It reads lines "FROM TO" (System.nanoTime()) of its input,
// or of the named pipe that is its argument. For each it prints how long and how often each thread waited in that time for
// which lock, and who had the lock when the wait began: "KIND WAITER OWNER NANOSECONDS WAITS".
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public final class Locks {
    static final class LockA {
        volatile String holder = "-";
    }

    static final class LockB {
        volatile String holder = "-";
    }

    static final class Signal {
    }

    static final class Shared {
        static volatile String holder = "-";

        static synchronized void enter(Waiter w) throws Exception {
            w.end();
            holder = w.getName();
            holds();
            holder = "-";
        }
    }

    private static final int WAITS_MAX = 20_000;
    private static final List<Waiter> WAITERS = new CopyOnWriteArrayList<>();

    abstract static class Waiter extends Thread {
        final String kind;
        final long[] from, to;
        final String[] owners;
        volatile int begun, ended;

        Waiter(String kind, int number) {
            this(kind, number, WAITS_MAX);
        }

        Waiter(String kind, int number, int most) {
            super(kind + "-" + number);
            this.kind = kind;
            from = new long[most];
            to = new long[most];
            owners = new String[most];
            setDaemon(true);
            WAITERS.add(this);
        }

        void begin(String owner) {
            owners[begun] = owner;
            from[begun] = System.nanoTime();
            begun++;
        }

        void end() {
            to[ended] = System.nanoTime();
            ended++;
        }

        abstract void once() throws Exception;

        @Override
        public void run() {
            try {
                while (ended < from.length)
                    once();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void holds() throws Exception {
        Thread.sleep(4);
    }

    static void pauses() throws Exception {
        Thread.sleep(1);
    }

    public static void main(String[] args) throws Exception {
        LockA a = new LockA();
        LockB b = new LockB();
        Signal signal = new Signal();
        ReentrantLock lock = new ReentrantLock(), other = new ReentrantLock();
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        Condition condition = other.newCondition();
        String[] holders = { "-", "-" };
        for (int i = 0; i < 4; i++)
            new Waiter("LockA", i) {
                void once() throws Exception {
                    begin(a.holder);
                    synchronized (a) {
                        end();
                        a.holder = getName();
                        holds();
                        a.holder = "-";
                    }
                    pauses();
                }
            }.start();
        for (int i = 0; i < 3; i++)
            new Waiter("LockB", i) {
                void once() throws Exception {
                    begin(b.holder);
                    synchronized (b) {
                        end();
                        b.holder = getName();
                        holds();
                        b.holder = "-";
                    }
                    pauses();
                }
            }.start();
        for (int i = 0; i < 3; i++)
            new Waiter("Static", i) {
                void once() throws Exception {
                    begin(Shared.holder);
                    Shared.enter(this);
                    pauses();
                }
            }.start();
        for (int i = 0; i < 4; i++)
            new Waiter("ReentrantLock", i) {
                void once() throws Exception {
                    begin(holders[0]);
                    lock.lock();
                    end();
                    holders[0] = getName();
                    holds();
                    holders[0] = "-";
                    lock.unlock();
                    pauses();
                }
            }.start();
        for (int i = 0; i < 3; i++)
            new Waiter("ReentrantReadWriteLock", i) {
                void once() throws Exception {
                    begin(holders[1]);
                    both.writeLock().lock();
                    end();
                    holders[1] = getName();
                    holds();
                    holders[1] = "-";
                    both.writeLock().unlock();
                    pauses();
                }
            }.start();
        for (int i = 0; i < 2; i++)
            new Waiter("Condition", i) {
                void once() throws Exception {
                    other.lock();
                    begin("-");
                    condition.await();
                    end();
                    other.unlock();
                }
            }.start();
        for (int i = 0; i < 2; i++)
            new Waiter("Signal", i) {
                void once() throws Exception {
                    synchronized (signal) {
                        begin("-");
                        signal.wait();
                        end();
                    }
                }
            }.start();
        /* Waits all the time. */
        new Waiter("Held", 0) {
            void once() throws Exception {
                Object held = new Object();
                begin("-");
                synchronized (held) {
                    held.wait();
                }
            }
        }.start();
        Thread signals = new Thread(() -> {
            try {
                while (true) {
                    Thread.sleep(6);
                    synchronized (signal) {
                        signal.notifyAll();
                    }
                    other.lock();
                    condition.signalAll();
                    other.unlock();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, "signals");
        signals.setDaemon(true);
        signals.start();
        obey(args);
    }

    static void obey(String[] args) throws Exception {
        System.out.println("started");
        do { /* a named pipe ends with each that writes to it */
            BufferedReader in = new BufferedReader(args.length > 0 ? new FileReader(args[0]) : new InputStreamReader(System.in));
            for (String line; (line = in.readLine()) != null;)
                tell(line.split(" "));
            in.close();
        } while (args.length > 0);
    }

    private static void tell(String[] window) {
        long from = Long.parseLong(window[0]), to = Long.parseLong(window[1]);
        Map<String, long[]> sums = new TreeMap<>();
        for (Waiter w : WAITERS) {
            int begun = w.begun;
            for (int i = 0; i < begun; i++) {
                long end = i < w.ended ? w.to[i] : Long.MAX_VALUE;
                long time = Math.min(end, to) - Math.max(w.from[i], from);
                if (time <= 0)
                    continue;
                long[] sum = sums.computeIfAbsent(w.kind + " " + w.getName() + " " + w.owners[i], name -> new long[2]);
                sum[0] += time;
                sum[1]++;
            }
        }
        for (Map.Entry<String, long[]> e : sums.entrySet())
            System.out.println(e.getKey() + " " + e.getValue()[0] + " " + e.getValue()[1]);
        System.out.println(".");
    }
}
