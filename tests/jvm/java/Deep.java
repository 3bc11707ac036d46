// SPDX-License-Identifier: Apache-2.0

/** Deep DEPTH [THREADS]: all CPU time is spent in the leaf of a recursion of DEPTH frames. */
public final class Deep {
    static volatile long sink;

    private Deep() {}

    static long down(int depth, long seed, int work) {
        if (depth <= 1) {
            return leaf(seed, work);
        }
        return down(depth - 1, seed, work) + 1; // not a tail call: the frame stays
    }

    static long leaf(long s, int work) {
        for (int i = 0; i < work; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        return s;
    }

    public static void main(String[] args) throws Exception {
        int depth = Integer.parseInt(args[0]);
        int threads = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        // A short leaf and many rounds first, so that the recursion is compiled.
        for (int i = 0; i < 20_000; i++) {
            sink = down(20, i, 10);
        }
        Thread[] started = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            started[i] = new Thread(null, () -> {
                for (long n = 1; ; n++) {
                    sink = down(depth, n, 5_000_000);
                }
            }, "deep-" + i, 256L << 20);
            started[i].start();
        }
        System.out.println("started");
        System.out.flush();
        started[0].join();
    }
}
