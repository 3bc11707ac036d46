// SPDX-License-Identifier: Apache-2.0
// Threads that wait, each in its own way, until they are told to end.
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public final class Off {
    private static final int OF_A_KIND = 5;
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Object MONITOR = new Object();
    static volatile double sink;

    static void sleeps() throws Exception {
        Thread.sleep(ThreadLocalRandom.current().nextInt(1, 30));
    }

    static void parks() {
        LockSupport.parkNanos(ThreadLocalRandom.current().nextInt(200_000, 20_000_000));
    }

    static void waits() throws Exception {
        synchronized (MONITOR) {
            MONITOR.wait(ThreadLocalRandom.current().nextInt(1, 40));
        }
    }

    static void locks() throws Exception {
        LOCK.lock();
        try {
            Thread.sleep(2);
        } finally {
            LOCK.unlock();
        }
    }

    static void computes() throws Exception {
        double x = 1;
        for (int i = 0; i < 20_000; i++)
            x += Math.sqrt(x + i);
        sink = x;
        Thread.sleep(20);
    }

    static void blocks() throws Exception {
        synchronized (new Object()) {
            LockSupport.park();
        }
    }

    static void pings(InputStream in, OutputStream out) throws Exception {
        out.write(1);
        if (in.read() < 0)
            throw new IllegalStateException();
        Thread.sleep(5);
    }

    public static void main(String[] args) throws Exception {
        Pipe there = Pipe.open(), back = Pipe.open();
        for (int i = 0; i < OF_A_KIND; i++) {
            Ways.start("sleeps-" + i, Off::sleeps);
            Ways.start("parks-" + i, Off::parks);
            Ways.start("waits-" + i, Off::waits);
            Ways.start("locks-" + i, Off::locks);
            Ways.start("computes-" + i, Off::computes);
        }
        for (int i = 0; i < 3; i++)
            Ways.start("blocks-" + i, Off::blocks);
        InputStream in = Channels.newInputStream(there.source()), in2 = Channels.newInputStream(back.source());
        OutputStream out = Channels.newOutputStream(back.sink()), out2 = Channels.newOutputStream(there.sink());
        Ways.start("pings-0", () -> pings(in, out));
        Ways.start("pings-1", () -> pings(in2, out2));
        System.out.println("started");
        System.in.read();
    }
}
