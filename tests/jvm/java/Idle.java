// SPDX-License-Identifier: Apache-2.0

/** Idle THREADS: that many threads which wake ten times a second, and burn next to nothing. */
public final class Idle {
    private Idle() {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        Thread last = Thread.currentThread();
        for (int i = 0; i < threads; i++) {
            last = new Thread(() -> {
                try {
                    for (;;) {
                        Thread.sleep(100);
                    }
                } catch (InterruptedException e) {
                    return;
                }
            }, "idle-" + i);
            last.start();
        }
        System.out.println("started");
        System.out.flush();
        last.join();
    }
}
