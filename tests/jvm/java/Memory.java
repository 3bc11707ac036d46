// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Uses memory as it is told by lines on standard input, and answers each with "done": "direct" 64
 * MiB of direct buffers, "threads" 60 threads with stacks that were used, "classes" 4,000 loaders
 * with a class each, "heap" 64 MiB of arrays, some of them in
 * pages that garbage has used.
 */
public final class Memory {
    static final List<Object> KEPT = new ArrayList<>();

    /** A class that many loaders define. */
    public static final class Copied {
        static int count;

        static int add(int n) {
            return count += n;
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static int deep(int n) {
        return n == 0 ? 0 : 1 + deep(n - 1);
    }

    static void threads() throws Exception {
        final CountDownLatch deep = new CountDownLatch(60);
        for (int i = 0; i < 60; i++) {
            Thread thread = new Thread(new Runnable() {
                @Override
                public void run() {
                    deep(1500);
                    deep.countDown();
                    try {
                        Thread.sleep(600_000);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            });
            thread.setDaemon(true);
            thread.start();
            KEPT.add(thread);
        }
        deep.await();
    }

    static void classes() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (InputStream in = Memory.class.getResourceAsStream("Memory$Copied.class")) {
            for (int b = in.read(); b >= 0; b = in.read()) {
                bytes.write(b);
            }
        }
        for (int i = 0; i < 4000; i++) {
            KEPT.add(new Loader().define(bytes.toByteArray()).getDeclaredConstructor().newInstance());
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("started");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("direct")) {
                for (int i = 0; i < 4; i++) {
                    KEPT.add(ByteBuffer.allocateDirect(16 << 20));
                }
            } else if (line.equals("threads")) {
                threads();
            } else if (line.equals("classes")) {
                classes();
            } else {
                for (int i = 0; i < 64; i++) {
                    KEPT.add(new byte[1 << 20]);
                }
            }
            System.out.println("done");
        }
    }
}
