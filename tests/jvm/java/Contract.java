// SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.util.zip.CRC32;

/**
 * One thread for each rule of names: "worker-0" runs mix(int, String), which has a compiled method
 * inlined and reads a file; "semi;colon" a method that is only interpreted; "native" a method of a
 * library; "deep" more frames than the kernel keeps. Each rests between rounds.
 */
public final class Contract {
    static volatile long sink;

    private Contract() {}

    /** What a thread does again and again. */
    private interface Work {
        long round(long seed) throws Exception;
    }

    static long mix(int rounds, String salt) {
        long s = salt.length();
        for (int i = 0; i < rounds; i += 20_000) {
            s = stir(s);
        }
        return s;
    }

    private static long stir(long s) {
        for (int i = 0; i < 20_000; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        return s;
    }

    static long slow(long s) {
        for (int i = 0; i < 20_000; i++) {
            s += i ^ s >>> 3;
        }
        return s;
    }

    static long down(int depth, long s) {
        return depth == 0 ? mix(400_000, "deep") : down(depth - 1, s) + 1;
    }

    static long read(byte[] buffer) throws Exception {
        try (FileInputStream in = new FileInputStream("/dev/zero")) {
            return in.read(buffer);
        }
    }

    private static void start(String name, Work work) {
        Thread t = new Thread(null, () -> {
            try {
                for (long seed = 1; ; seed++) {
                    long end = System.nanoTime() + 10_000_000L;
                    do {
                        sink += work.round(seed);
                    } while (System.nanoTime() < end);
                    Thread.sleep(120);
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name, 64L << 20);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        byte[] zeros = new byte[1 << 20];
        for (int i = 0; i < 8_000; i++) {
            sink += mix(20_000, "warm") + (i < 200 ? down(50, i) / 1000 : 0);
        }
        start("worker-0", seed -> mix(1_000_000, "salt") + read(zeros));
        start("semi;colon", Contract::slow);
        start("native", seed -> {
            CRC32 crc = new CRC32();
            crc.update(zeros);
            java.util.zip.Deflater deflater = new java.util.zip.Deflater();
            deflater.setInput(zeros);
            deflater.finish();
            long n = deflater.deflate(new byte[65536]);
            deflater.end();
            return n + crc.getValue();
        });
        start("deep", seed -> down(8000, seed));
        System.out.println("started");
        System.out.flush();
        Thread.currentThread().join();
    }
}
