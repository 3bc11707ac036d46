// SPDX-License-Identifier: Apache-2.0
/** Uses the given share (default 4) of 100 ms of CPU, ten times a second, until it is killed. */
public class Pulse {
    static volatile long sink;

    static void beat(long nanos) {
        long end = System.nanoTime() + nanos;
        long x = sink;
        while (System.nanoTime() < end)
            for (int i = 0; i < 200; i++)
                x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    public static void main(String[] args) throws InterruptedException {
        long milliseconds = args.length > 0 ? Long.parseLong(args[0]) : 4;
        System.out.println("started");
        for (;;) {
            beat(milliseconds * 1000000);
            Thread.sleep(100 - milliseconds);
        }
    }
}
