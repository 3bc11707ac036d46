// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * KnownWaits THREADS MS: threads named known-N that do one of five waits after the other by chance, of up to so many ms, and measure
 * them. For each line of its input it prints the nanoseconds of each kind so far.
 */
public final class KnownWaits {
    private static final String[] KINDS = { "sleep", "park", "notify", "lock", "network" };
    private static final AtomicLong[] SUMS = new AtomicLong[KINDS.length];
    private static final Object BLOCKER = new Object();
    static volatile long sink;

    private KnownWaits() {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]), ms = Integer.parseInt(args[1]);
        ServerSocket server = new ServerSocket(0, threads, InetAddress.getLoopbackAddress());
        for (int i = 0; i < KINDS.length; i++)
            SUMS[i] = new AtomicLong();
        for (int i = 0; i < threads; i++) {
            Socket there = new Socket(server.getInetAddress(), server.getLocalPort()), here = server.accept();
            Object monitor = new Object();
            Helper helper = new Helper(monitor, here.getOutputStream());
            start("helps-" + i, helper);
            InputStream in = there.getInputStream();
            start("known-" + i, () -> waits(ms, monitor, helper, in));
        }
        System.out.println("started");
        while (System.in.read() >= 0) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < KINDS.length; i++)
                line.append(KINDS[i]).append('=').append(SUMS[i].get()).append(' ');
            System.out.println(line);
        }
    }

    private interface Job { void run() throws Exception; }

    private static void start(String name, Job job) {
        Thread t = new Thread(() -> {
            try {
                job.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    /** Holds the monitor for as long as it is asked to, or writes a byte then. */
    private static final class Helper implements Job {
        private final Object monitor;
        private final OutputStream out;
        private long holdMs, writeMs;
        private boolean held;

        Helper(Object monitor, OutputStream out) {
            this.monitor = monitor;
            this.out = out;
        }

        @Override public void run() throws Exception {
            for (;;) {
                long hold, write;
                synchronized (this) {
                    while (holdMs == 0 && writeMs == 0)
                        wait();
                    hold = holdMs;
                    write = writeMs;
                    holdMs = writeMs = 0;
                }
                if (hold > 0) {
                    synchronized (monitor) {
                        synchronized (this) {
                            held = true;
                            notifyAll();
                        }
                        Thread.sleep(hold);
                    }
                } else {
                    Thread.sleep(write);
                    out.write(1);
                }
            }
        }

        synchronized void hold(long ms) throws InterruptedException {
            held = false;
            holdMs = ms;
            notifyAll();
            while (!held)
                wait();
        }

        synchronized void write(long ms) {
            writeMs = ms;
            notifyAll();
        }
    }

    private static void waits(int atMostMs, Object monitor, Helper helper, InputStream in) throws Exception {
        Object own = new Object();
        for (;;) {
            // By chance, and some kinds longer than others, so that each has another share.
            int kind = ThreadLocalRandom.current().nextInt(KINDS.length);
            long ms = 1 + ThreadLocalRandom.current().nextInt(atMostMs) * (kind + 2) / 6;
            if (kind == 3)
                helper.hold(ms);
            if (kind == 4)
                helper.write(ms);
            long begun = System.nanoTime();
            switch (kind) {
            case 0:
                Thread.sleep(ms);
                break;
            case 1:
                LockSupport.parkNanos(BLOCKER, TimeUnit.MILLISECONDS.toNanos(ms));
                break;
            case 2:
                synchronized (own) {
                    own.wait(ms);
                }
                break;
            case 3:
                synchronized (monitor) {
                    sink++;
                }
                break;
            default:
                if (in.read() < 0)
                    return;
                break;
            }
            SUMS[kind].addAndGet(System.nanoTime() - begun);
        }
    }
}
