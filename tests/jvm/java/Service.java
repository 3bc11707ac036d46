// SPDX-License-Identifier: Apache-2.0

/**
 * Service THREADS MILLISECONDS: what many services look like from outside. That many threads wake ten times a second, by
 * turns; together they use so many milliseconds of CPU time in each 100, twenty frames deep, in a few methods.
 */
public final class Service {
    static volatile long sink;

    private Service() {}

    static long parse(long x, int n) {
        for (int i = 0; i < n; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static long look(long x, int n) {
        for (int i = 0; i < n; i++)
            x ^= x << 13 ^ x >>> 7 ^ i;
        return x;
    }

    static long write(long x, int n) {
        char[] text = new char[n / 8];
        for (int i = 0; i < text.length; i++)
            text[i] = (char) (x >>> (i & 31));
        return x + new String(text).hashCode();
    }

    static long handle(long x, int depth, int turn) {
        if (depth > 0)
            return 1 + handle(x, depth - 1, turn);
        return turn % 3 == 0 ? parse(x, 400) : turn % 3 == 1 ? look(x, 400) : write(x, 400);
    }

    static void request(long nanos, int turn) {
        long end = System.nanoTime() + nanos;
        while (System.nanoTime() < end)
            sink = handle(sink, 16, turn++);
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        long nanos = (long) (Double.parseDouble(args[1]) * 1e6 / threads);
        Thread last = Thread.currentThread();
        for (int i = 0; i < threads; i++) {
            int turn = i;
            last = new Thread(() -> {
                try {
                    Thread.sleep(turn * 100 / threads);
                    for (int round = turn;; round++) {
                        request(nanos, round);
                        Thread.sleep(100);
                    }
                } catch (InterruptedException e) {
                    return;
                }
            }, "worker-" + i);
            last.start();
        }
        System.out.println("started");
        System.out.flush();
        last.join();
    }
}
