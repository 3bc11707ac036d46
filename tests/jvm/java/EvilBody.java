// SPDX-License-Identifier: Apache-2.0

/** The class whose names are patched; see Evil. */
public final class EvilBody implements Evil.Body {
    @Override
    public long run(long s) {
        return evilMethod(s);
    }

    static long evilMethod(long s) {
        for (int i = 0; i < 20000; i++) {
            s ^= s << 13;
            s ^= s >>> 7;
            s ^= s << 17;
        }
        return s;
    }
}
