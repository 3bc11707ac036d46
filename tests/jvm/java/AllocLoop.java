// SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.util.Scanner;
import java.util.concurrent.CyclicBarrier;

/**
 * Allocates the same sequence all the time, of known bytes at each of five places. For a line "ROUNDS" of standard input, or of
 * the file that is the argument, two threads make so many rounds each; then it prints "done". They are the same two each time: a
 * thread's random numbers begin with where it is in memory. With the argument "short" twenty threads make a tenth each, and end.
 */
public class AllocLoop {
    static final class Small {
        long a, b, c, d, e, f; // 64 bytes with any header
    }

    static final long[] MODEL = new long[78]; // 640 bytes

    static volatile long rounds;

    static class Worker extends Thread {
        final Object[] ring = new Object[16];
        int at;

        Worker(int no) {
            super("loop-" + no);
            setDaemon(true);
        }

        Object small() {
            return new Small();
        }

        Object bytes256() {
            return new byte[240];
        }

        Object chars1k() {
            return new char[504];
        }

        Object longs2k() {
            return new long[254];
        }

        Object cloned() {
            return MODEL.clone();
        }

        void keep(Object o) {
            ring[at++ & 15] = o;
        }

        void make(long rounds) {
            for (long i = 0; i < rounds; i++) {
                keep(small());
                keep(bytes256());
                keep(chars1k());
                keep(longs2k());
                keep(cloned());
            }
        }

        @Override
        public void run() {
            make(rounds / 10);
        }
    }

    static final class Lasting extends Worker {
        final CyclicBarrier turn;

        Lasting(int no, CyclicBarrier turn) {
            super(no);
            this.turn = turn;
            start();
        }

        @Override
        public void run() {
            try {
                for (;;) {
                    turn.await();
                    make(rounds);
                    turn.await();
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void makeByShort() throws InterruptedException {
        for (int i = 0; i < 10; i++) {
            Worker[] workers = {new Worker(2 * i), new Worker(2 * i + 1)};
            for (Worker w : workers)
                w.start();
            for (Worker w : workers)
                w.join();
        }
    }

    public static void main(String[] args) throws Exception {
        boolean isShort = args.length > 0 && args[0].equals("short");
        CyclicBarrier turn = new CyclicBarrier(3);
        if (!isShort) {
            new Lasting(0, turn);
            new Lasting(1, turn);
        }
        System.out.println("started");
        Scanner in = args.length > 0 && !isShort ? new Scanner(new FileInputStream(args[0])) : new Scanner(System.in);
        while (in.hasNextLong()) {
            rounds = in.nextLong();
            if (isShort) {
                makeByShort();
            } else {
                turn.await();
                turn.await();
            }
            System.out.println("done");
        }
    }
}
