// SPDX-License-Identifier: Apache-2.0

/**
 * Threads that rename themselves for what they do: "short" each 0.2 s, with names that the kernel has whole; "long" each 3 s, with
 * names that differ behind what the kernel keeps.
 */
public class Renames {
    static volatile long sink;

    static void work(int ms) throws InterruptedException {
        long end = System.nanoTime() + ms * 1_000_000L;
        while (System.nanoTime() < end) {
            long until = System.nanoTime() + 4_000_000;
            while (System.nanoTime() < until)
                for (int i = 0; i < 1000; i++)
                    sink = sink * 31 + i;
            Thread.sleep(6);
        }
    }

    static void first(int ms) throws InterruptedException { work(ms); }

    static void second(int ms) throws InterruptedException { work(ms); }

    static void loop(String one, String two, int ms) {
        try {
            for (;;) {
                Thread.currentThread().setName(one);
                first(ms);
                Thread.currentThread().setName(two);
                second(ms);
            }
        } catch (InterruptedException e) {
        }
    }

    public static void main(String[] args) throws Exception {
        Thread s = new Thread(() -> loop("req /a", "req /b", 200)), l = new Thread(() -> loop("request /orders/1", "request /orders/2", 3000));

        s.start();
        l.start();
        System.out.println("started");
        s.join();
    }
}
