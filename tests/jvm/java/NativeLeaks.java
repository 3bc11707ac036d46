// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.Deflater;

/** Makes direct buffers and deflaters as often as each line of its input says, in two threads, and frees them. But a cache keeps one buffer
 * of 20. Answers with the bytes that it has kept. */
public class NativeLeaks {
    static final int BYTES = 20_000;
    static final List<Object> KEPT = new ArrayList<>();
    static Object unsafe;
    static Method cleaner;

    static void free(ByteBuffer buffer) throws Exception {
        cleaner.invoke(unsafe, buffer);
    }

    static void small() throws Exception {
        free(ByteBuffer.allocateDirect(500));
    }

    static void large() throws Exception {
        free(ByteBuffer.allocateDirect(40_000));
    }

    static void mapped() throws Exception {
        free(ByteBuffer.allocateDirect(300_000));
    }

    static void deflater() {
        new Deflater().end();
    }

    static int cached(int i) throws Exception {
        ByteBuffer buffer = ByteBuffer.allocateDirect(BYTES);

        if (i % 20 != 0) {
            free(buffer);
            return 0;
        }
        synchronized (KEPT) {
            KEPT.add(buffer);
        }
        return BYTES;
    }

    static int work(int rounds) {
        int kept = 0;

        try {
            for (int i = 0; i < rounds; i++) {
                small();
                large();
                if (i % 4 == 0)
                    mapped();
                if (i % 10 == 0)
                    deflater();
                kept += cached(i);
                if (i % 16 == 0)
                    Thread.sleep(10);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return kept;
    }

    public static void main(String[] args) throws Exception {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");

        field.setAccessible(true);
        unsafe = field.get(null);
        cleaner = type.getMethod("invokeCleaner", ByteBuffer.class);
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(args.length > 0 ? new FileInputStream(args[0]) : System.in));
        for (String line; (line = in.readLine()) != null;) {
            int rounds = Integer.parseInt(line), mine;
            int[] other = new int[1];
            Thread thread = new Thread(() -> other[0] = work(rounds));

            thread.start();
            mine = work(rounds);
            thread.join();
            System.out.println(mine + other[0]);
        }
    }
}
