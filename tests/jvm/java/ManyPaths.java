// SPDX-License-Identifier: Apache-2.0
/** Reaches its work by other calls each time, so that hardly two samples have one stack. */
public class ManyPaths {
    static final int DEPTH = 60;
    static long bits = 0x9e3779b97f4a7c15L, sum;

    static void next(int depth) {
        if (depth == DEPTH) {
            for (int i = 0; i < 20000; i++)
                sum += sum * 31 + i;
            return;
        }
        bits ^= bits << 13;
        bits ^= bits >>> 7;
        bits ^= bits << 17;
        if ((bits & 1) == 0)
            aWayWithALongNameThatGoesToTheLeft(depth + 1);
        else
            aWayWithALongNameThatGoesToTheRight(depth + 1);
    }

    static void aWayWithALongNameThatGoesToTheLeft(int depth) {
        next(depth);
    }

    static void aWayWithALongNameThatGoesToTheRight(int depth) {
        next(depth);
    }

    public static void main(String[] args) {
        System.out.println("started");
        for (;;)
            next(0);
    }
}
