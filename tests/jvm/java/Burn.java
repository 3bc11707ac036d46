// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Burn SECONDS: uses a CPU for so long, 70 % of it in hot() and 30 % in warm(), prints the CPU nanoseconds of each, and ends. */
public final class Burn {
    static volatile long sink;
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    private Burn() {}

    static long hot(long until) {
        long x = sink;
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 20000; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
        return CLOCK.getCurrentThreadCpuTime();
    }

    static long warm(long until) {
        long x = sink;
        while (CLOCK.getCurrentThreadCpuTime() < until)
            for (int i = 0; i < 20000; i++)
                x ^= x << 13 ^ x >>> 7 ^ i;
        sink = x;
        return CLOCK.getCurrentThreadCpuTime();
    }

    public static void main(String[] args) {
        System.out.println("started");
        System.out.flush();
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9), hot = 0, warm = 0;
        long now = CLOCK.getCurrentThreadCpuTime();
        while (System.nanoTime() < end) {
            long middle = hot(now + 7000000);
            long after = warm(middle + 3000000);
            hot += middle - now;
            warm += after - middle;
            now = after;
        }
        System.out.println(hot + " " + warm);
    }
}
