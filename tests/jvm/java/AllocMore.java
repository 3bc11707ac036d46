// SPDX-License-Identifier: Apache-2.0
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

/**
 * A service with steady work that allocates. From the line "more" of standard input on, the same work allocates half as much again, at
 * another place. Writes each line back.
 */
public class AllocMore {
    static final Object[] RING = new Object[64];
    static volatile boolean more;
    static volatile long sink;
    static int at;

    static void keep(Object o) {
        RING[at++ & 63] = o;
    }

    static void chars() {
        keep(new char[1000 + (at & 255)]);
    }

    static void bytes() {
        keep(new byte[2000 + (at & 511)]);
    }

    static void added() {
        keep(new long[250 + (at & 63)]);
    }

    static long compute(long x) {
        for (int i = 0; i < 20_000; i++)
            x = x * 6364136223846793005L + 1442695040888963407L;
        return x;
    }

    static void work() {
        for (int turn = 0; ; turn++) {
            sink += compute(turn);
            for (int i = 0; i < 20; i++) {
                chars();
                bytes();
                if (more)
                    added();
            }
            if (turn % 40 == 0)
                LockSupport.parkNanos(2_000_000);
        }
    }

    public static void main(String[] args) {
        Thread worker = new Thread(AllocMore::work, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("started");
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String line = in.nextLine();
            more = line.equals("more");
            System.out.println(line);
        }
    }
}
