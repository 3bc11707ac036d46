// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * AllocRate MEGABYTES THREADS: so many threads that allocate so much each second, all together, and keep next to nothing. For each
 * line of its input it prints how many bytes they have allocated.
 */
public final class AllocRate {
    static final class Small {
        long a, b;
    }

    private static final long[] MODEL = new long[64];

    private AllocRate() {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[1]);
        double bytesPerNs = Double.parseDouble(args[0]) * 1e6 / 1e9 / threads;
        AtomicLongArray done = new AtomicLongArray(threads);
        for (int i = 0; i < threads; i++) {
            int mine = i;
            Thread t = new Thread(() -> allocate(bytesPerNs, mine, done), "allocates-" + i);
            t.setDaemon(true);
            t.start();
        }
        Answers.give(() -> Answers.sum(done));
    }

    private static void allocate(double bytesPerNs, int mine, AtomicLongArray done) {
        Object[] ring = new Object[64];
        long begun = System.nanoTime();
        for (long bytes = 0; ; LockSupport.parkNanos(1_000_000)) {
            long due = (long) ((System.nanoTime() - begun) * bytesPerNs);
            while (bytes < due) {
                long until = Math.min(due, bytes + 1_000_000);
                while (bytes < until)
                    bytes += one(ThreadLocalRandom.current().nextInt(), ring);
                done.lazySet(mine, bytes); // also of one that is behind
            }
        }
    }

    /** Returns how many bytes it has allocated. */
    private static int one(int random, Object[] ring) {
        int at = random >>> 8 & 63;
        switch (random & 7) {
        case 0:
            ring[at] = new char[2048];
            return 4112;
        case 1:
            ring[at] = MODEL.clone();
            return 528;
        case 2:
        case 3:
            ring[at] = new byte[200];
            return 216;
        case 4:
            ring[at] = new Object[100];
            return 416;
        default:
            ring[at] = new Small();
            return 32;
        }
    }
}
