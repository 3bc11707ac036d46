// SPDX-License-Identifier: Apache-2.0

import java.util.function.IntUnaryOperator;

/** What Loads defines under other names. */
public final class LoadBody000000 implements IntUnaryOperator {
    @Override
    public int applyAsInt(int n) {
        int x = 1;
        for (int i = 0; i < n; i++)
            x = x * 31 + (i ^ x >>> 3);
        return x;
    }
}
