// SPDX-License-Identifier: Apache-2.0

/** Garbage THREADS: that many threads which make objects, keep some for a while, and drop them. */
public final class Garbage {
    private Garbage() {}

    static int fill(byte[][] kept, int turn) {
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            byte[] piece = new byte[1000 + (turn * 31 + i * 7) % 9000];
            piece[i] = (byte) turn;
            kept[(turn * 200 + i) % kept.length] = piece;
            for (int k = 0; k < piece.length; k += 64)
                sum += piece[k];
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        Thread last = Thread.currentThread();
        for (int n = Integer.parseInt(args[0]); n > 0; n--) {
            last = new Thread(() -> {
                byte[][] kept = new byte[2000][];
                for (int turn = 0;; turn = turn + 1 & 0xffff)
                    fill(kept, turn);
            }, "maker-" + n);
            last.start();
        }
        System.out.println("started");
        System.out.flush();
        last.join();
    }
}
