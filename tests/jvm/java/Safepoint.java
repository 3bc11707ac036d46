// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.util.concurrent.Semaphore;

/**
 * Reads "KIND COUNT" lines, of a named pipe if it is given one. For each: has COUNT safepoints while the thread late-KIND is busy with
 * what does not look for safepoints, and prints "done". KIND: loop (a counted loop), copy (a large arraycopy), none, gc (collections), new (a loop of a new thread).
 */
public class Safepoint {
    static final byte[] FROM = new byte[Integer.getInteger("copy", 48) << 20], TO = new byte[FROM.length];
    static volatile boolean stop;
    static volatile int sink;

    /** Some 10 ms without a look. */
    static int spin(int n) {
        int x = 1;
        for (int i = 0; i < n; i++)
            x = x * 31 + (i ^ x >>> 3);
        return x;
    }

    static void copy() {
        System.arraycopy(FROM, 0, TO, 0, FROM.length);
    }

    /** A thread that is busy while there are permits. */
    static class Late extends Thread {
        final Semaphore begin = new Semaphore(0), end = new Semaphore(0);
        final boolean copies;

        Late(String name, boolean copies) {
            super(name);
            this.copies = copies;
            setDaemon(true);
            start();
        }

        @Override
        public void run() {
            for (;;) {
                begin.acquireUninterruptibly();
                while (!stop) {
                    if (copies)
                        copy();
                    else
                        sink = spin(8_000_000);
                }
                end.release();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Late loop = new Late("late-loop", false), copy = new Late("late-copy", true);
        for (int i = 0; i < 20_000; i++)
            sink = spin(100);
        System.out.println("started");
        do {
            BufferedReader in = new BufferedReader(new InputStreamReader(args.length > 0 ? new FileInputStream(args[0]) : System.in));
            for (String line; (line = in.readLine()) != null;)
                answer(line.split(" "), loop, copy);
            in.close();
        } while (args.length > 0);
    }

    static void answer(String[] words, Late loop, Late copy) throws Exception {
        Late late = words[0].equals("loop") ? loop : words[0].equals("copy") ? copy : words[0].equals("new") ? new Late("late-new", false) : null;
        stop = false;
        if (late != null)
            late.begin.release();
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
