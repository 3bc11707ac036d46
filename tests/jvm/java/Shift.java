// SPDX-License-Identifier: Apache-2.0

/**
 * Two workers that run some 10 ms of steady(), in CPU time, and rest as many ms as the argument says. From a line on its
 * input on, fresh() takes part of it.
 */
public final class Shift {
    private static final int TURNS = 700; // of some 14 µs

    private static volatile boolean isChanged;
    private static long restMs;
    private static volatile long sink;

    private Shift() {}

    public static void main(String[] args) throws Exception {
        restMs = Long.parseLong(args[0]);
        for (int i = 1; i <= 2; i++) {
            Thread worker = new Thread(Shift::work, "worker-" + i);
            worker.setDaemon(true);
            worker.start();
        }
        System.out.println("started");
        while (System.in.read() >= 0) {
            isChanged = true;
        }
    }

    private static void work() {
        try {
            for (;;) {
                for (int turn = 0; turn < TURNS; turn++) {
                    sink += isChanged && turn % 2 == 0 ? fresh(2000) : steady(2000);
                }
                Thread.sleep(restMs);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static long steady(int rounds) {
        long sum = 1;
        for (int i = 1; i < rounds; i++) {
            sum += sum % i ^ i;
        }
        return sum;
    }

    private static long fresh(int rounds) {
        long sum = 7;
        for (int i = 1; i < rounds; i++) {
            sum = sum * 31 + sum / i;
        }
        return sum;
    }
}
