// SPDX-License-Identifier: Apache-2.0

import java.io.FileInputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Scanner;

/**
 * Keeps a quarter of the bytes that it allocates. Reads lines of standard input, or of the file that is the argument: "make ROUNDS"
 * keeps 1,024 bytes and drops 3,072 in each round, "drop" drops what it has kept, "collect" collects, "serve SECONDS" is a service
 * whose cache grows. Prints "done" after each.
 */
public class Keeps {
    static final List<Object> kept = new ArrayList<>(1 << 20);
    static final Object[] ring = new Object[64];
    static final Sessions cache = new Sessions();
    static int at;

    static final class Session {
        final byte[] state = new byte[2000];
    }

    /** A map that nobody takes anything out of. */
    static final class Sessions extends HashMap<String, Session> {
        void open(int request) {
            put("session-" + request, new Session());
        }
    }

    static Object keep() {
        return new byte[1008];
    }

    static Object drop256() {
        return new char[120];
    }

    static Object drop768() {
        return new long[94];
    }

    static Object drop2048() {
        return new Object[(2048 - 16) / REFERENCE];
    }

    static final int REFERENCE = Integer.getInteger("reference", 4);

    static void pass(Object o) {
        ring[at++ & 63] = o;
    }

    static void make(long rounds) {
        for (long i = 0; i < rounds; i++) {
            kept.add(keep());
            pass(drop256());
            pass(drop768());
            pass(drop2048());
        }
    }

    static void handle(int request) {
        StringBuilder page = new StringBuilder();

        for (int i = 0; i < 200; i++)
            page.append("<li>").append(request * 31 + i).append("</li>");
        pass(page.toString());
        cache.open(request);
    }

    static void serve(long seconds) throws InterruptedException {
        long until = System.nanoTime() + seconds * 1000000000L;

        for (int request = 0; System.nanoTime() < until; request++) {
            handle(request);
            if (request % 20 == 0)
                Thread.sleep(1);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        Scanner in = args.length > 0 ? new Scanner(new FileInputStream(args[0])) : new Scanner(System.in);
        while (in.hasNext()) {
            String what = in.next();
            if (what.equals("make"))
                make(in.nextLong());
            else if (what.equals("serve"))
                serve(in.nextLong());
            else if (what.equals("drop"))
                kept.clear();
            else
                System.gc();
            System.out.println("done");
        }
    }
}
