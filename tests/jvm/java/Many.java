// SPDX-License-Identifier: Apache-2.0
// Many THREADS: half of them sleep some milliseconds at a time, half of them wait until its input ends.
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

public final class Many {
    static void naps() {
        while (true) {
            try {
                Thread.sleep(ThreadLocalRandom.current().nextInt(50, 500));
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    static void blocks() {
        while (true)
            LockSupport.park();
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        for (int i = 0; i < threads; i++) {
            Thread t = new Thread(null, i % 2 == 0 ? Many::naps : Many::blocks, (i % 2 == 0 ? "naps-" : "blocks-") + i, 1 << 18);
            t.setDaemon(true);
            t.start();
        }
        System.out.println("started");
        while (System.in.read() >= 0)
            ;
    }
}
