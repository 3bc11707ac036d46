// SPDX-License-Identifier: Apache-2.0

/** A thread "spinner" does rounds of the same work; every 100 ms its number so far is printed, after "started". */
public final class Rounds {
    static volatile long rounds;
    static volatile long sink;

    private Rounds() {}

    static long round(long s) {
        for (int i = 0; i < 20000; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        return s;
    }

    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            for (long s = 88172645463325252L; ; ) {
                s = round(s);
                sink = s;
                rounds++;
            }
        }, "spinner");
        t.setDaemon(true);
        t.start();
        Thread.sleep(1000);
        System.out.println("started");
        while (true) {
            Thread.sleep(100);
            System.out.println("rounds " + rounds);
        }
    }
}
