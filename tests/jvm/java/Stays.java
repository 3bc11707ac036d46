// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

/**
 * Allocates on the heap and by malloc. "make N" makes N rounds, in each of which it keeps 1,024 bytes of the heap and drops as many; in
 * each eighth it keeps a direct buffer of 8,192 bytes. "collect" collects. Prints "done" after each.
 */
public class Stays {
    static final List<Object> KEPT = new ArrayList<>(1 << 20);
    static Object last;

    static Object keep() {
        return new byte[1008];
    }

    static Object drop() {
        return new char[504];
    }

    static Object buffer() {
        return ByteBuffer.allocateDirect(8192);
    }

    static void make(int rounds) throws InterruptedException {
        for (int i = 0; i < rounds; i++) {
            KEPT.add(keep());
            last = drop();
            if (i % 8 == 0)
                KEPT.add(buffer());
            if (i % 100 == 0)
                Thread.sleep(5);
        }
    }

    public static void main(String[] args) throws Exception {
        Scanner in = new Scanner(System.in);

        System.out.println("started");
        while (in.hasNext()) {
            if (in.next().equals("make"))
                make(in.nextInt());
            else
                System.gc();
            System.out.println("done");
        }
    }
}
