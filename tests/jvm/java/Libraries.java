// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.Deflater;

/** Loads every library of a folder (argument), then works half of its time in Java and half in native code that Java calls. */
public class Libraries {
    static volatile long sink;

    static long sum(int n) {
        long s = 1;
        for (int i = 0; i < n; i++)
            s = s * 31 + (s >>> 7) + i;
        return s;
    }

    static void pack(byte[] from, byte[] to) {
        Deflater d = new Deflater(6);
        d.setInput(from);
        d.finish();
        while (!d.finished())
            sink += d.deflate(to);
        d.end();
    }

    static void round(byte[] from, byte[] to) {
        long end = System.nanoTime() + 2_000_000;
        while (System.nanoTime() < end)
            sink += sum(10_000);
        pack(from, to);
    }

    public static void main(String[] args) throws Exception {
        byte[] from = new byte[60_000], to = new byte[80_000];
        File[] files = new File(args[0]).listFiles();

        new Random(1).nextBytes(from);
        for (int i = 0; i < from.length; i++)
            from[i] &= 15;
        round(from, to);
        Arrays.sort(files);
        for (File file : files)
            System.load(file.getPath());
        System.out.println("started");
        for (;;) {
            round(from, to);
            Thread.sleep(4);
        }
    }
}
