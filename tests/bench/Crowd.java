// SPDX-License-Identifier: Apache-2.0

/** Crowd THREADS: so many threads that wake up, work for a moment and sleep. */
public final class Crowd {
    static volatile long sink;

    private Crowd() {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        for (int i = 0; i < threads; i++) {
            Thread t = new Thread(Crowd::live, "crowd-" + i);
            t.setDaemon(true);
            t.start();
        }
        System.out.println("started");
        System.out.flush();
        Thread.sleep(3_600_000);
    }

    private static void live() {
        for (long n = 1; ; n++) {
            long s = n;
            for (int i = 0; i < 100_000; i++) {
                s ^= s << 13;
                s ^= s >>> 7;
                s ^= s << 17;
            }
            sink = s;
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                return;
            }
        }
    }
}
