// SPDX-License-Identifier: Apache-2.0

/** Clears new arrays, in a method that calls nothing. With the Serial collector C2 makes that a loop, which no bytecode has. */
public class Clears {
    static volatile Object last;

    static long[] make() {
        return new long[4000];
    }

    public static void main(String[] args) {
        System.out.println("started");
        for (;;)
            last = make();
    }
}
