// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Semaphore;

/**
 * Reads "KIND COUNT" lines, of a named pipe if it is given one. For each: has COUNT safepoints while the thread late-KIND is busy with
 * what does not look for safepoints, and prints "done". KIND: loop (a counted loop), copy (a large arraycopy), none, gc
 * (collections), new (a loop of a new thread). Or nice (looks often, when it has a processor), fault (touches the file -Dslow,
 * which is mapped).
 */
public class Safepoint {
    static final byte[] FROM = new byte[Integer.getInteger("copy", 48) << 20], TO = new byte[FROM.length];
    static volatile boolean stop;
    static volatile int sink;
    static final int STRIDE = 1 << 20; // more than is read ahead
    static ByteBuffer slow;
    static int at;

    /** Some 10 ms without a look. */
    static int spin(int n) {
        int x = 1;
        for (int i = 0; i < n; i++)
            x = x * 31 + (i ^ x >>> 3);
        return x;
    }

    static void loop() {
        sink = spin(8_000_000);
    }

    static void copy() {
        System.arraycopy(FROM, 0, TO, 0, FROM.length);
    }

    /** The next piece of the file that was not touched yet. */
    static void touch() {
        sink = slow.get(at);
        at = (at + STRIDE) % slow.capacity();
    }

    static void yieldOften() {
        sink = spin(50_000);
    }

    /** A thread that is busy while there are permits. */
    static class Late extends Thread {
        final Semaphore begin = new Semaphore(0), end = new Semaphore(0);
        final Runnable work;
        volatile boolean busy;

        Late(String kind, Runnable work) {
            super("late-" + kind);
            this.work = work;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            for (;;) {
                begin.acquireUninterruptibly();
                for (; !stop; busy = true)
                    work.run();
                busy = false;
                end.release();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Map<String, Late> lates = new HashMap<>();

        if (System.getProperty("slow") != null)
            try (RandomAccessFile file = new RandomAccessFile(System.getProperty("slow"), "r")) {
                slow = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length());
            }
        lates.put("loop", new Late("loop", Safepoint::loop));
        lates.put("copy", new Late("copy", Safepoint::copy));
        lates.put("nice", new Late("nice", Safepoint::yieldOften));
        lates.put("fault", new Late("fault", Safepoint::touch));
        for (int i = 0; i < 20_000; i++)
            sink = spin(100);
        System.out.println("started");
        do {
            BufferedReader in = new BufferedReader(new InputStreamReader(args.length > 0 ? new FileInputStream(args[0]) : System.in));
            for (String line; (line = in.readLine()) != null;)
                answer(line.split(" "), lates);
            in.close();
        } while (args.length > 0);
    }

    static void answer(String[] words, Map<String, Late> lates) throws Exception {
        Late late = words[0].equals("new") ? new Late("new", Safepoint::loop) : lates.get(words[0]);
        stop = false;
        if (late != null) {
            late.begin.release();
            while (!late.busy)
                Thread.sleep(1);
        }
        for (int i = Integer.parseInt(words[1]); i > 0; i--) {
            Thread.sleep(5);
            if (words[0].equals("gc"))
                System.gc();
            else
                Thread.getAllStackTraces();
        }
        stop = true;
        if (late != null)
            late.end.acquireUninterruptibly();
        System.out.println("done");
    }
}
