// SPDX-License-Identifier: Apache-2.0
// Threads that wait some milliseconds at a time, and one that waits all the time, until its input ends.
import java.util.concurrent.locks.LockSupport;

public final class Naps {
    interface Way {
        void once() throws Exception;
    }

    static void start(String name, Way way) {
        Thread t = new Thread(() -> {
            try {
                while (true)
                    way.once();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    static void sleeps() throws Exception {
        Thread.sleep(25);
    }

    static void parks() {
        LockSupport.parkNanos(25_000_000);
    }

    static void blocks() {
        LockSupport.park();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            start("sleeps-" + i, Naps::sleeps);
            start("parks-" + i, Naps::parks);
        }
        start("blocks-0", Naps::blocks);
        System.out.println("started");
        while (System.in.read() >= 0)
            ;
    }
}
