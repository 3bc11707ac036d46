// SPDX-License-Identifier: Apache-2.0
// Calls of known lengths, by its own clock: a line "METHOD BEGIN END" for each, in ns of the wall clock, once it is asked.
import java.time.Instant;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

public final class KnownCalls {
    interface Body {
        void run(long ms) throws Exception;
    }

    static final Queue<String> done = new ConcurrentLinkedQueue<>();
    static final Object lock = new Object();
    static volatile double sink;

    static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000L + now.getNano();
    }

    static void spin(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        double x = 1;
        while (System.nanoTime() < end)
            for (int i = 0; i < 100; i++)
                x += Math.sqrt(x + i);
        sink = x;
    }

    static void brief(long ms) throws Exception {
        Thread.sleep(ms);
    }

    static void sleeps(long ms) throws Exception {
        Thread.sleep(ms);
    }

    static void longs(long ms) throws Exception {
        Thread.sleep(ms);
    }

    static void spins(long ms) {
        spin(ms);
    }

    // It runs, sleeps and waits for a lock by turns, in what it calls.
    static void mixes(long ms) throws Exception {
        spin(ms / 3);
        step(ms / 3);
        synchronized (lock) {
            lock.wait(ms - 2 * (ms / 3));
        }
    }

    static void step(long ms) throws Exception {
        Thread.sleep(ms / 2);
        spin(ms - ms / 2);
    }

    static void start(String name, Body body, long rest, long... lengths) {
        Thread thread = new Thread(() -> {
            try {
                for (int i = 0;; i++) {
                    Thread.sleep(rest);
                    long begin = now();
                    body.run(lengths[i % lengths.length]);
                    done.add(name + " " + begin + " " + now());
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        start("brief", KnownCalls::brief, 21, 1);
        start("sleeps", KnownCalls::sleeps, 30, 35, 60, 60, 120, 250);
        start("longs", KnownCalls::longs, 50, 500, 500, 2000);
        start("spins", KnownCalls::spins, 90, 50, 65, 80);
        start("mixes", KnownCalls::mixes, 40, 90, 120, 150);
        System.out.println("started");
        while (System.in.read() > 0) {
            for (String line; (line = done.poll()) != null;)
                System.out.println(line);
            System.out.println("end");
        }
    }
}
