// SPDX-License-Identifier: Apache-2.0
/** Runs early() alone for the given seconds, then late() alone until it is killed. Prints "late" when it changes. */
public class TwoHalves {
    static volatile long sink;

    static void early(long nanos) {
        long end = System.nanoTime() + nanos;
        long x = sink;
        while (System.nanoTime() < end)
            for (int i = 0; i < 2000; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    static void late(long nanos) {
        long end = System.nanoTime() + nanos;
        long x = sink;
        while (System.nanoTime() < end)
            for (int i = 0; i < 2000; i++)
                x = (x ^ x >>> 7) * 0x9e3779b97f4a7c15L;
        sink = x;
    }

    public static void main(String[] args) {
        long change = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
        System.out.println("started");
        while (System.nanoTime() < change)
            early(50000000);
        System.out.println("late");
        for (;;)
            late(50000000);
    }
}
