// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Does what it is told by lines on standard input, and answers each with "done": "touch" makes two
 * direct buffers, the second three times as large; "switch" gives the processor away some thousand
 * times.
 */
public final class Kernel {
    static final int SMALL = 32 << 20;
    static final List<ByteBuffer> KEPT = new ArrayList<>();

    static void small() {
        KEPT.add(ByteBuffer.allocateDirect(SMALL));
    }

    static void large() {
        KEPT.add(ByteBuffer.allocateDirect(3 * SMALL));
    }

    static void waits() {
        for (int i = 0; i < 5000; i++) {
            LockSupport.parkNanos(50_000);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("started");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.equals("touch")) {
                small();
                large();
            } else {
                waits();
            }
            System.out.println("done");
        }
    }
}
