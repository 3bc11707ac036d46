// SPDX-License-Identifier: Apache-2.0
import java.io.FileInputStream;
import java.lang.management.ManagementFactory;
import java.util.Scanner;

/**
 * Allocates a random mix of known bytes at each of a few places. A line "BYTES" of standard input has its threads
 * allocate so many bytes together; then it prints one line: for each place "name count bytes-of-one".
 * Arguments: threads; "mixed", "kinds" for other places, or the same sequence all the time: "fixed", "large" for arrays that no
 * buffer has room for, "both"; a file to read in place of standard input. With -Dvirtual they are virtual threads.
 */
public class Alloc {
    static final class Small {
        long a, b;
    }

    interface Boxed {
        long get();
    }

    static final String[] NAMES = {"small", "boxed", "bytes200", "chars4k", "ints64k", "objects", "cloned", "grid", "varargs", "numbers", "strings", "bytes400k"};
    /** Shares of the bytes, in percent. */
    static final int[] MIXED = {10, 10, 15, 15, 15, 10, 10, 15, 0, 0, 0, 0};
    static final int[] KINDS = {0, 20, 20, 0, 0, 0, 0, 0, 20, 20, 20, 0};
    static final int LARGE = NAMES.length - 1;
    static final int[] FIXED = {0, 1, 2, 3, 4, 5, 6, 7}, BOTH = {0, 1, 2, 3, 4, 5, 6, 7, LARGE};
    static final long[] SIZES = new long[NAMES.length];
    static final long[] MODEL = new long[64];
    static final String FIRST = "the first half of a string, ", SECOND = "and the second";
    static int[] shares = MIXED;
    static int[] sequence; // null: by chance

    static Object[] all(Object... all) {
        return all;
    }

    static final class Worker extends Thread {
        final Object[] ring = new Object[16];
        final long[] counts = new long[NAMES.length];
        final long[] limits = new long[NAMES.length];
        long random, left, turn;

        Worker(int no, long bytes) {
            super("alloc-" + no);
            random = 0x9e3779b97f4a7c15L * (no + 1);
            left = bytes;
        }

        Object small() {
            return new Small();
        }

        Object boxed() {
            long kept = left;
            Boxed b = () -> kept;
            return b;
        }

        Object bytes200() {
            return new byte[200];
        }

        Object chars4k() {
            return new char[2048];
        }

        Object ints64k() {
            return new int[16384];
        }

        Object objects() {
            return new Object[100];
        }

        Object cloned() {
            return MODEL.clone();
        }

        Object grid() {
            return new short[8][500];
        }

        Object varargs() {
            return all(MODEL, NAMES, MIXED, KINDS, SIZES, FIRST, SECOND, ring, counts, limits);
        }

        Object numbers() {
            return left + (1L << 40);
        }

        Object strings() {
            return FIRST.concat(SECOND);
        }

        Object bytes400k() {
            return new byte[400_000];
        }

        Object site(int i) {
            switch (i) {
            case 0: return small();
            case 1: return boxed();
            case 2: return bytes200();
            case 3: return chars4k();
            case 4: return ints64k();
            case 5: return objects();
            case 6: return cloned();
            case 7: return grid();
            case 8: return varargs();
            case 9: return numbers();
            case 10: return strings();
            default: return bytes400k();
            }
        }

        int pick() {
            if (sequence != null)
                return sequence[(int)(turn++ % sequence.length)];
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            long r = random >>> 1;
            int i = 0;
            while (i < NAMES.length - 1 && r >= limits[i])
                i++;
            return i;
        }

        void prepare() {
            double sum = 0, so_far = 0;
            for (int i = 0; i < NAMES.length; i++)
                sum += (double)shares[i] / SIZES[i];
            for (int i = 0; i < NAMES.length; i++) {
                so_far += (double)shares[i] / SIZES[i];
                limits[i] = (long)(so_far / sum * Long.MAX_VALUE);
            }
        }

        @Override
        public void run() {
            prepare();
            while (left > 0) {
                int i = pick();
                ring[(int)(counts[i]++ & 15)] = site(i);
                left -= SIZES[i];
            }
        }
    }

    /** What one object of each place takes, as the VM counts it. */
    static void measure() {
        com.sun.management.ThreadMXBean bean =
            (com.sun.management.ThreadMXBean)ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        Worker w = new Worker(0, 0);
        for (int i = 0; i < NAMES.length; i++) {
            long before = 0;
            for (int k = -100; k < 1000; k++) {
                if (k == 0)
                    before = bean.getThreadAllocatedBytes(id);
                w.ring[k & 15] = w.site(i);
            }
            SIZES[i] = (bean.getThreadAllocatedBytes(id) - before) / 1000 & ~7;
        }
    }

    static Thread start(Worker w) throws Exception {
        if (System.getProperty("virtual") != null)
            return (Thread)Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, w);
        w.start();
        return w;
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        switch (args.length > 1 ? args[1] : "mixed") {
        case "kinds": shares = KINDS; break;
        case "fixed": sequence = FIXED; break;
        case "large": sequence = new int[] {LARGE}; break;
        case "both": sequence = BOTH; break;
        default: break;
        }
        measure();
        System.out.println("started");
        Scanner in = new Scanner(args.length > 2 ? new FileInputStream(args[2]) : System.in);
        while (in.hasNextLong()) {
            long bytes = in.nextLong();
            Worker[] workers = new Worker[threads];
            Thread[] running = new Thread[threads];
            for (int i = 0; i < threads; i++) {
                workers[i] = new Worker(i, bytes / threads);
                running[i] = start(workers[i]);
            }
            long[] counts = new long[NAMES.length];
            for (int no = 0; no < threads; no++) {
                running[no].join();
                for (int i = 0; i < counts.length; i++)
                    counts[i] += workers[no].counts[i];
            }
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < counts.length; i++)
                line.append(NAMES[i]).append(' ').append(counts[i]).append(' ').append(SIZES[i]).append(' ');
            System.out.println(line);
        }
    }
}
