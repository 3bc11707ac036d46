// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Works, and loads each native library that a line of its input names; answers "done". */
public class LoadsAnother {
    static volatile long sink;

    static long work(int n) {
        long s = 1;
        for (int i = 0; i < n; i++)
            s = s * 31 + (s >>> 7) + i;
        return s;
    }

    static void run() {
        for (;;) {
            long end = System.nanoTime() + 5_000_000;
            while (System.nanoTime() < end)
                sink += work(10_000);
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Thread worker = new Thread(LoadsAnother::run, "worker");
        String line;

        if (args.length > 0)
            System.load(args[0]);
        worker.start();
        System.out.println("started");
        while ((line = in.readLine()) != null) {
            System.load(line);
            System.out.println("done");
        }
        worker.join();
    }
}
