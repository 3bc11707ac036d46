// SPDX-License-Identifier: Apache-2.0
// Compiled code of known structure, for tests/unit/hotspot/test_hotspot_live.c: it says when it was in which phase,
// in nanoseconds of CLOCK_MONOTONIC, so that each sampled pc has a known truth. The marks behind lines are
// read by the test.
public class HotspotProof implements Runnable {
    static final int ROUNDS_MAX = 4096;
    static final int PHASES = 6;
    static final String[] NAMES = { "A", "B", "DEEP", "SITE-1", "SITE-2", "SPLIT" };
    static final long[] times = new long[ROUNDS_MAX * PHASES * 2];
    static volatile int rounds;
    static volatile boolean stop;
    static volatile long sink;

    // Two loops, both inlined into twoLoops(). Each step needs the one before it, so nothing is unrolled away.
    static int loopA(int n, int x) {
        for (int i = 0; i < n; i++) { // A-FIRST
            x = x * 31 + i;
            x ^= x >>> 7;
        } // A-LAST
        return x;
    }

    static int loopB(int n, int x) {
        for (int i = 0; i < n; i++) { // B-FIRST
            x = Integer.rotateLeft(x, 5) - i;
            x += x << 3;
        } // B-LAST
        return x;
    }

    static int twoLoops(int n, int x, long[] t, int at) {
        t[at] = System.nanoTime();
        x = loopA(n, x); // CALL-A
        t[at + 1] = t[at + 2] = System.nanoTime();
        x = loopB(n, x); // CALL-B
        t[at + 3] = System.nanoTime();
        return x;
    }

    // A loop at the bottom of inlined calls.
    static int deep1(int n, int x) {
        return deep2(n, x) + 1; // DEEP-1
    }

    static int deep2(int n, int x) {
        int y = deep3(n, x ^ 5); // DEEP-2
        return y * 3;
    }

    static int deep3(int n, int x) {
        return deep4(n, x) - deepCold(x); // DEEP-3
    }

    static int deep4(int n, int x) {
        int y = x;

        y = deep5(n, y) + y; // DEEP-4
        return y;
    }

    static int deep5(int n, int x) {
        for (long i = 0; i < n; i++) { // DEEP-FIRST
            x = x * 33 - (int) i;
            x ^= x >>> 9;
        } // DEEP-LAST
        return x;
    }

    static int deepCold(int x) {
        return x & 1;
    }

    // One callee that is never inlined, called from two lines through an inlined method: only the return
    // address tells them apart.
    static int leaf(int n, int x) {
        for (int i = 0; i < n; i++)
            x = x * 17 + (x >>> 3);
        return x;
    }

    static int via(int n, int x) {
        return leaf(n, x) + 1; // VIA
    }

    static int callers(int n, int x, long[] t, int at) {
        t[at] = System.nanoTime();
        x = via(n, x); // SITE-1
        t[at + 1] = t[at + 2] = System.nanoTime();
        x = via(n, x) ^ x; // SITE-2
        t[at + 3] = System.nanoTime();
        return x;
    }

    // Two callees in one loop: with debug information for each instruction both get their share.
    static int splitLeft(int x) {
        return (x * 31 + 7) ^ (x >>> 5); // SPLIT-LEFT
    }

    static int splitRight(int x) {
        return (x * 29 + 5) ^ (x >>> 11); // SPLIT-RIGHT
    }

    static int split(int n, int x) {
        for (int i = 0; i < n; i++) { // SPLIT-FIRST
            x = splitLeft(x); // SPLIT-CALL-LEFT
            x = splitRight(x); // SPLIT-CALL-RIGHT
        } // SPLIT-LAST
        return x;
    }

    static int round(int n, int x, long[] t, int at) {
        x = twoLoops(n, x, t, at);
        t[at + 4] = System.nanoTime();
        x = deep1(n, x);
        t[at + 5] = System.nanoTime();
        x = callers(n, x, t, at + 6);
        t[at + 10] = System.nanoTime();
        x = split(n, x);
        t[at + 11] = System.nanoTime();
        return x;
    }

    @Override
    public void run() {
        long[] scratch = new long[PHASES * 2];
        int x = 1;

        for (int i = 0; i < 30000; i++)
            x = round(200, x, scratch, 0);
        int n = 10000;
        while (true) { // a phase shall last about 20 ms
            long start = System.nanoTime();
            x = twoLoops(n, x, scratch, 0);
            if (System.nanoTime() - start > 40000000L)
                break;
            n *= 2;
        }
        System.out.println("ready");
        while (!stop && rounds < ROUNDS_MAX) {
            x = round(n, x, times, rounds * PHASES * 2);
            rounds++;
        }
        sink = x;
    }

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(new HotspotProof(), "proof-\u00e9-\u20ac-worker with a long name");

        worker.start();
        System.in.read();
        stop = true;
        worker.join();
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < rounds * PHASES; i++)
            out.append("P ").append(NAMES[i % PHASES]).append(' ').append(times[2 * i]).append(' ')
                    .append(times[2 * i + 1]).append('\n');
        System.out.print(out);
        System.out.println("end");
        System.out.flush();
    }

    // For a lambda the VM makes intrinsics of MethodHandle: compiled code whose methods are in no class file.
    static final Runnable NOTHING = () -> {};
}
