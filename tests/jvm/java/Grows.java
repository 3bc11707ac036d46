// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Makes native memory grow as each line of its input says: "arenas" has two arenas, the second
 * three times as large (JDK 22 and up), "classes" loads a class a thousand times, "threads" starts
 * 500 of them. Writes the line back.
 */
public final class Grows {
    static final long SMALL = 32 << 20;
    static final List<Object> KEPT = new ArrayList<>();

    public static final class Loaded {
        long[] numbers = { 1, 2, 3 };

        public Loaded() {
        }

        long sum() {
            long sum = 0;
            for (long n : numbers)
                sum += n;
            return sum;
        }
    }

    /** Loads it again from the same bytes. */
    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes, int length) {
            return defineClass("Grows$Loaded", bytes, 0, length);
        }
    }

    static void arena(long bytes) throws Exception {
        Class<?> arenas = Class.forName("java.lang.foreign.Arena");
        Object arena = arenas.getMethod("ofShared").invoke(null);
        Method allocate = arenas.getMethod("allocate", long.class, long.class);
        KEPT.add(allocate.invoke(arena, bytes, 8L));
    }

    static void small() throws Exception {
        arena(SMALL);
    }

    static void large() throws Exception {
        arena(3 * SMALL);
    }

    static void classes() throws Exception {
        byte[] bytes = new byte[1 << 16];
        int length = 0;
        try (InputStream in = Grows.class.getResourceAsStream("Grows$Loaded.class")) {
            for (int n; (n = in.read(bytes, length, bytes.length - length)) > 0;)
                length += n;
        }
        for (int i = 0; i < 1000; i++)
            KEPT.add(new Loader().define(bytes, length).getDeclaredConstructor().newInstance());
    }

    static void threads() throws Exception {
        CountDownLatch begun = new CountDownLatch(500);
        for (int i = 0; i < 500; i++) {
            Thread t = new Thread(() -> {
                begun.countDown();
                synchronized (KEPT) {
                    try {
                        KEPT.wait();
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }, "grown-" + i);
            t.setDaemon(true);
            t.start();
        }
        begun.await();
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("started");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("arenas")) {
                small();
                large();
            } else if (line.equals("classes")) {
                classes();
            } else {
                threads();
            }
            System.out.println(line);
        }
    }
}
