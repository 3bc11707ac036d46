// SPDX-License-Identifier: Apache-2.0
/** Runs THREADS threads in 2^DEPTH stacks, with REST milliseconds after each piece of work; two more contend for a lock. Usage: Pushed DEPTH REST THREADS */
public final class Pushed {
    private static final Object LOCK = new Object();
    static volatile long sink;

    private Pushed() {}

    static long works() {
        long s = sink | 1;
        for (int i = 0; i < 20000; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        sink = s;
        return s;
    }

    static long left(int depth, int path) {
        return depth == 0 ? works() : (path & 1) == 0 ? left(depth - 1, path >> 1) : плати$(depth - 1, path >> 1);
    }

    static long плати$(int depth, int path) {
        return depth == 0 ? works() : (path & 1) == 0 ? left(depth - 1, path >> 1) : плати$(depth - 1, path >> 1);
    }

    static void holds() throws InterruptedException {
        synchronized (LOCK) {
            Thread.sleep(20);
        }
    }

    static void start(String name, Runnable runnable) {
        Thread t = new Thread(runnable, name);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        int depth = Integer.parseInt(args[0]), rest = Integer.parseInt(args[1]);
        for (int i = 0; i < 2; i++) {
            start("locks;\"" + i, () -> {
                try {
                    while (true)
                        holds();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            start("runs", () -> {
                java.util.Random random = new java.util.Random();
                try {
                    while (true) {
                        left(depth, random.nextInt());
                        if (rest > 0)
                            Thread.sleep(rest);
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
        }
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }
}
