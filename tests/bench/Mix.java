// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongUnaryOperator;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * A load with a known truth: two workers enter sections by a megamorphic call, each section timed by its
 * thread's own CPU clock. A line on standard input prints what each section used so far, in nanoseconds,
 * how many sections were run, the sum of their weights, and how often each was run. MixInterp, with a method too large to be compiled, is made by accuracy.py.
 */
public final class Mix {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final Section[] SECTIONS = {
        new Java50(), new Java30(), new Lambdas(), new Strings(), new Deep200(), new Deep1000(), new Interpreted(),
        new Crc(), new Deflate(), new Copy(), new FileReads(), new Allocation(),
    };
    // Relative CPU time wanted of each, as in SECTIONS.
    static final int[] WEIGHTS = {26, 16, 8, 3, 8, 8, 8, 5, 5, 5, 5, 3};
    static final AtomicLongArray USED = new AtomicLongArray(SECTIONS.length + 2); // the last: number of runs, work done
    static final AtomicLongArray RUNS = new AtomicLongArray(SECTIONS.length);
    static volatile long sink;
    static volatile Object keep;

    private Mix() {}

    /** One kind of work; N is how much of it. */
    abstract static class Section {
        abstract long run(long s, int n) throws Exception;
    }

    static long mix(long s) {
        s ^= s << 13;
        s ^= s >>> 7;
        return s ^ s << 17;
    }

    static final class Java50 extends Section {
        @Override
        long run(long s, int n) {
            for (int i = 0; i < n * 100; i++) {
                s = mix(s);
            }
            return s;
        }
    }

    static final class Java30 extends Section {
        private final long[] cells = new long[4096];

        @Override
        long run(long s, int n) {
            for (int i = 0; i < n * 100; i++) {
                int at = (int) s & 4095;
                cells[at] += s = mix(s + i);
            }
            return s;
        }
    }

    static final class Lambdas extends Section {
        private static final LongUnaryOperator[] STEPS = {
            x -> mix(x), x -> mix(x) + 1, x -> mix(x) ^ 5, x -> mix(x) - 3, x -> mix(x) * 3,
        };

        @Override
        long run(long s, int n) {
            for (int i = 0; i < n * 50; i++) {
                s = STEPS[(int) (s & 0x7fffffff) % STEPS.length].applyAsLong(s);
            }
            return s;
        }
    }

    static final class Strings extends Section {
        @Override
        long run(long s, int n) {
            for (int i = 0; i < n; i++) {
                StringBuilder b = new StringBuilder();
                for (int k = 0; k < 8; k++) {
                    b.append(s).append(',').append(k);
                    s = mix(s);
                }
                s += b.toString().length();
            }
            return s;
        }
    }

    static long down(int depth, long s, int n) {
        if (depth > 1) {
            return down(depth - 1, s, n) + 1;
        }
        for (int i = 0; i < n * 100; i++) {
            s = mix(s);
        }
        return s;
    }

    static final class Deep200 extends Section {
        @Override
        long run(long s, int n) {
            return down(200, s, n);
        }
    }

    static final class Deep1000 extends Section {
        @Override
        long run(long s, int n) {
            return down(1000, s, n);
        }
    }

    static final class Interpreted extends Section {
        @Override
        long run(long s, int n) {
            for (int i = 0; i < n; i++) {
                s = MixInterp.interpWork(s);
            }
            return s;
        }
    }

    static final class Crc extends Section {
        private final byte[] data = new byte[16384];

        @Override
        long run(long s, int n) {
            CRC32 crc = new CRC32();
            for (int i = 0; i < n; i++) {
                data[i & 16383]++;
                crc.update(data, 0, data.length);
            }
            return s + crc.getValue();
        }
    }

    static final class Deflate extends Section {
        private final byte[] in = new byte[4096];

        @Override
        long run(long s, int n) {
            byte[] out = new byte[8192];
            Deflater deflater = new Deflater();
            try {
                for (int i = 0; i < n; i++) {
                    in[i & 4095] = (byte) (s = mix(s));
                    deflater.reset();
                    deflater.setInput(in);
                    deflater.finish();
                    s += deflater.deflate(out);
                }
            } finally {
                deflater.end();
            }
            return s;
        }
    }

    static final class Copy extends Section {
        private final byte[] from = new byte[65536];
        private final byte[] to = new byte[65536];

        @Override
        long run(long s, int n) {
            for (int i = 0; i < n; i++) {
                System.arraycopy(from, i & 7, to, 0, 65000);
            }
            return s + to[5];
        }
    }

    static final class FileReads extends Section {
        private final ThreadLocal<RandomAccessFile> files = ThreadLocal.withInitial(() -> {
            try {
                File file = File.createTempFile("mix", ".data");
                RandomAccessFile opened = new RandomAccessFile(file, "rw");
                file.delete();
                opened.write(new byte[65536]);
                return opened;
            } catch (java.io.IOException e) {
                throw new IllegalStateException(e);
            }
        });

        @Override
        long run(long s, int n) throws Exception {
            RandomAccessFile file = files.get();
            byte[] to = new byte[4096];
            for (int i = 0; i < n; i++) {
                file.seek(i & 4095);
                s += file.read(to);
            }
            return s;
        }
    }

    static final class Allocation extends Section {
        @Override
        long run(long s, int n) {
            for (int i = 0; i < n; i++) {
                keep = new long[16 + (i & 15)];
            }
            return s;
        }
    }

    /** How much of each section takes about 200 microseconds for each unit of its weight. */
    private static int[] calibrate() throws Exception {
        int[] amounts = new int[SECTIONS.length];
        for (int round = 0; round < 3; round++) { // the first rounds compile
            for (int k = 0; k < SECTIONS.length; k++) {
                int n = 64;
                for (;;) {
                    long start = THREADS.getCurrentThreadCpuTime();
                    for (int i = 0; i < 50; i++) {
                        sink = SECTIONS[k].run(sink + 1, n);
                    }
                    long each = (THREADS.getCurrentThreadCpuTime() - start) / 50;
                    if (each > 200_000 || n > 1 << 24) {
                        amounts[k] = (int) Math.max(1, n * 200_000L * WEIGHTS[k] / 5 / Math.max(1, each));
                        break;
                    }
                    n *= 2;
                }
            }
        }
        return amounts;
    }

    private static void work(int[] amounts, long seed) {
        try {
            long s = seed;
            long dice = seed;
            for (;;) { // in no fixed order, which could keep time with the sampling
                dice = mix(dice);
                int k = (int) ((dice >>> 33) % SECTIONS.length);
                long start = THREADS.getCurrentThreadCpuTime();
                s = enter(SECTIONS[k], s, amounts[k]);
                USED.addAndGet(k, THREADS.getCurrentThreadCpuTime() - start);
                RUNS.incrementAndGet(k);
                USED.incrementAndGet(SECTIONS.length);
                USED.addAndGet(SECTIONS.length + 1, WEIGHTS[k]);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static long enter(Section section, long s, int n) throws Exception {
        return section.run(s, n);
    }

    public static void main(String[] args) throws Exception {
        int[] amounts = calibrate();
        for (int i = 0; i < 2; i++) {
            long seed = 88172645463325252L + i;
            Thread worker = new Thread(null, () -> work(amounts, seed), "worker-" + i, 64L << 20);
            worker.setDaemon(true);
            worker.start();
        }
        System.out.println("started");
        System.out.flush();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            StringBuilder b = new StringBuilder("{");
            for (int k = 0; k < SECTIONS.length; k++) {
                b.append('"').append(SECTIONS[k].getClass().getName()).append("\":").append(USED.get(k)).append(',');
            }
            b.append("\"runs\":").append(USED.get(SECTIONS.length));
            b.append(",\"work\":").append(USED.get(SECTIONS.length + 1));
            System.out.println(b.append(",\"each\":").append(RUNS).append('}')); // as in SECTIONS
            System.out.flush();
        }
    }
}
