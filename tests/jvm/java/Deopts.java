// SPDX-License-Identifier: Apache-2.0

import java.util.function.IntUnaryOperator;

/** For each line that it reads: has the next of five compiled methods meet what C2 left out of it, and prints "done". */
public class Deopts {
    static volatile int sink;

    static int rare0(int n) {
        return n == -1 ? sink : n * 3;
    }

    static int rare1(int n) {
        return n == -1 ? sink : n * 5;
    }

    static int rare2(int n) {
        return n == -1 ? sink : n * 7;
    }

    static int rare3(int n) {
        return n == -1 ? sink : n * 9;
    }

    static int rare4(int n) {
        return n == -1 ? sink : n * 11;
    }

    public static void main(String[] args) throws Exception {
        IntUnaryOperator[] all = {Deopts::rare0, Deopts::rare1, Deopts::rare2, Deopts::rare3, Deopts::rare4};
        int next = 0;
        for (int i = 0; i < 50_000; i++)
            for (IntUnaryOperator one : all)
                sink = one.applyAsInt(i);
        System.out.println("started");
        for (int c = System.in.read(); c >= 0; c = System.in.read()) {
            if (c != '\n')
                continue;
            sink = all[next++ % all.length].applyAsInt(-1);
            System.out.println("done");
        }
    }
}
