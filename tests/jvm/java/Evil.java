// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;

/**
 * Evil FOLDER: defines each class file *.bin of FOLDER, whose names a patch has made hostile. It runs the one static method
 * long(long) of each again and again, in a thread that has its name from the file NAME.name.
 */
public final class Evil {
    static volatile long sink;

    private Evil() {}

    /** What a patched class implements. */
    public interface Body {
        long run(long s);
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** Leaves the processors to others: there are as many threads as names. */
    private static void rest() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        File[] files = new File(args[0]).listFiles((dir, name) -> name.endsWith(".bin"));
        Arrays.sort(files);
        Thread last = null;
        for (File file : files) {
            File name = new File(file.getPath().replace(".bin", ".name"));
            Class<?> c = new Loader().define(Files.readAllBytes(file.toPath()));
            Body body = (Body) c.getDeclaredConstructor().newInstance();
            last = new Thread(() -> {
                for (long s = 1; ; rest()) {
                    for (long end = System.nanoTime() + 2_000_000; System.nanoTime() < end; ) {
                        s = body.run(s);
                        sink = s;
                    }
                }
            }, new String(Files.readAllBytes(name.toPath()), StandardCharsets.UTF_8));
            last.start();
        }
        System.out.println("started");
        System.out.flush();
        last.join();
    }
}
