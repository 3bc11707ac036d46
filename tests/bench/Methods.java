// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Methods CLASSES: calls every method of the generated classes M0 ... until each is compiled, prints "started", then works in
 * two threads. For each line on stdin it prints "OPS LONGEST-GAP-NS": what the work did so far, and the longest gap since the
 * line before. That is of a thread which sleeps a millisecond at a time. At "pause" and "go" the work stops and goes on.
 */
public final class Methods {
    static volatile long sink;
    static volatile boolean paused;

    private Methods() {}

    private static void spin(AtomicLong ops) {
        long x = ops.get() + 88172645463325252L;
        for (;;) {
            for (int i = 0; i < 20000; i++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
            sink = x;
            ops.incrementAndGet();
            while (paused) {
                LockSupport.parkNanos(1_000_000);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int classes = Integer.parseInt(args[0]);
        for (int c = 0; c < classes; c++) {
            Method all = Class.forName("M" + c).getMethod("all", int.class);
            for (int i = 0; i < 40; i++) {
                sink += (long) all.invoke(null, 300);
            }
        }
        AtomicLong[] ops = {new AtomicLong(), new AtomicLong()};
        AtomicLong gap = new AtomicLong();
        for (AtomicLong one : ops) {
            Thread t = new Thread(() -> spin(one), "worker");
            t.setDaemon(true);
            t.start();
        }
        Thread waker = new Thread(() -> {
            long last = System.nanoTime();
            for (;;) {
                LockSupport.parkNanos(1_000_000);
                long now = System.nanoTime();
                gap.accumulateAndGet(now - last, Math::max);
                last = now;
            }
        }, "waker");
        waker.setDaemon(true);
        waker.start();
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (!line.isEmpty()) {
                paused = line.equals("pause");
            }
            System.out.println((ops[0].get() + ops[1].get()) + " " + gap.getAndSet(0));
        }
    }
}
