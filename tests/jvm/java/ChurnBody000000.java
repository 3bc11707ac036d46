// SPDX-License-Identifier: Apache-2.0

/** What Churn loads again and again under other names of the same length. */
public final class ChurnBody000000 implements Churn.Body {
    @Override
    public long run(long deadline) {
        long s = deadline | 1;
        while (System.nanoTime() < deadline) {
            s = work000000(s);
        }
        return s;
    }

    static long work000000(long s) {
        for (int i = 0; i < 5000; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        return s;
    }
}
