// SPDX-License-Identifier: Apache-2.0
// Threads that do one thing without end.
final class Ways {
    interface Way {
        void once() throws Exception;
    }

    static void start(String name, Way way) {
        Thread t = new Thread(() -> {
            try {
                while (true)
                    way.once();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
    }

    private Ways() {
    }
}
