// SPDX-License-Identifier: Apache-2.0
// Threads that wait some milliseconds at a time, and one that waits all the time, until its input ends.
import java.util.concurrent.locks.LockSupport;

public final class Naps {
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
            Ways.start("sleeps-" + i, Naps::sleeps);
            Ways.start("parks-" + i, Naps::parks);
        }
        Ways.start("blocks-0", Naps::blocks);
        System.out.println("started");
        while (System.in.read() >= 0)
            ;
    }
}
