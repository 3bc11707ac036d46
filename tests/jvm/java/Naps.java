// SPDX-License-Identifier: Apache-2.0
// Naps [THREADS [MILLIS]]: threads that wait some milliseconds at a time, and one that waits all the time, until its input ends.
import java.util.concurrent.locks.LockSupport;

public final class Naps {
    static int millis = 25;

    static void sleeps() throws Exception {
        Thread.sleep(millis);
    }

    static void parks() {
        LockSupport.parkNanos(millis * 1_000_000L);
    }

    static void blocks() {
        LockSupport.park();
    }

    public static void main(String[] args) throws Exception {
        int threads = args.length > 0 ? Integer.parseInt(args[0]) : 3;
        if (args.length > 1)
            millis = Integer.parseInt(args[1]);
        for (int i = 0; i < threads; i++) {
            Ways.start("sleeps-" + i, Naps::sleeps);
            Ways.start("parks-" + i, Naps::parks);
        }
        Ways.start("blocks-0", Naps::blocks);
        System.out.println("started");
        while (System.in.read() >= 0)
            ;
    }
}
