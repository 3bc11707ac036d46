// SPDX-License-Identifier: Apache-2.0

/** A compiled leaf below interpreted methods (the command line excludes them), half of the time. */
public class Leaves {
    static volatile long sink;

    static long leaf(int n) {
        long s = 1;
        for (int i = 0; i < n; i++)
            s = s * 31 + (s >>> 7) + i;
        return s;
    }

    static void round() {
        long end = System.nanoTime() + 5_000_000;
        while (System.nanoTime() < end)
            sink += leaf(20_000);
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("started");
        for (;;) {
            round();
            Thread.sleep(5);
        }
    }
}
