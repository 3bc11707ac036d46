// SPDX-License-Identifier: Apache-2.0
// Alike: threads that sleep in first(), and from a line of input on in second(), with the same registers. Use -Xint.
public final class Alike {
    static volatile boolean later;

    static void first() throws Exception {
        Thread.sleep(20);
    }

    static void second() throws Exception {
        Thread.sleep(20);
    }

    static void either() throws Exception {
        if (later)
            second();
        else
            first();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 8; i++)
            Ways.start("alike-" + i, Alike::either);
        System.out.println("started");
        while (System.in.read() >= 0)
            later = true;
    }
}
