// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** Uses the given share (default 4) of 100 ms of CPU time, ten times a second, until it is killed. That is by the clock of its
 *  thread, so that it has its part also where others have to be waited for. */
public class Pulse {
    static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    static volatile long sink;

    static void beat(long nanos) {
        long end = CLOCK.getCurrentThreadCpuTime() + nanos;
        long x = sink;
        while (CLOCK.getCurrentThreadCpuTime() < end)
            for (int i = 0; i < 2000; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    public static void main(String[] args) throws InterruptedException {
        long milliseconds = args.length > 0 ? Long.parseLong(args[0]) : 4;
        beat(1000000);
        System.out.println("started");
        for (;;) {
            beat(milliseconds * 1000000);
            Thread.sleep(100 - milliseconds);
        }
    }
}
