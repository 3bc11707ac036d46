/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.List;

/** Sick HOW: has one fault, from its beginning on. */
public class Sick {
    static final List<Object> KEPT = new ArrayList<>();
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        switch (args[0]) {
        case "garbage": // most of the heap lives, and the rest of it is thrown away again and again
            garbage(Integer.getInteger("lives", 24), Integer.getInteger("rest", 0));
            break;
        case "leak":
            Thread.sleep(Integer.getInteger("after", 0));
            leak(Integer.getInteger("bytes", 65536), Integer.getInteger("rest", 20));
            break;
        case "threads":
            threads(Integer.getInteger("rest", 200));
            break;
        case "descriptors":
            descriptors(Integer.getInteger("rest", 50));
            break;
        case "fails":
            Thread.sleep(Integer.getInteger("after", 15000));
            System.exit(3);
            break;
        case "busy": // the control: honest work on one thread, and a little garbage
            busy();
            break;
        default:
            throw new IllegalArgumentException(args[0]);
        }
    }

    static void garbage(int lives, int rest) throws InterruptedException {
        for (int i = 0; i < lives * 16; i++)
            KEPT.add(new Object[8192]);
        for (int round = 0;; round++) {
            for (int i = 0; i < 64; i++)
                KEPT.set((round * 64 + i) % KEPT.size(), new Object[8192]);
            if (rest > 0)
                Thread.sleep(rest);
        }
    }

    static void leak(int bytes, int rest) throws InterruptedException {
        for (;;) {
            KEPT.add(new byte[bytes]);
            for (int i = 0; i < 20; i++)
                sink = new byte[bytes];
            Thread.sleep(rest);
        }
    }

    static void threads(int rest) throws InterruptedException {
        for (;;) {
            Thread t = new Thread(() -> {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    return;
                }
            });
            t.setDaemon(true);
            t.start();
            Thread.sleep(rest);
        }
    }

    static void descriptors(int rest) throws Exception {
        for (;;) {
            KEPT.add(new FileInputStream("/dev/null"));
            Thread.sleep(rest);
        }
    }

    static void busy() {
        long sum = 0;

        for (long i = 0;; i++) {
            sum = sum * 31 + i;
            if ((i & 0xffff) == 0)
                sink = new byte[4096 + (int) (sum & 15)];
        }
    }
}
