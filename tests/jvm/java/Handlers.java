// SPDX-License-Identifier: Apache-2.0
// A method with a try and a catch in a loop, for tests/unit/hotspot/test_hotspot_code.c. The call in it is never
// inlined, so that its exception comes to the compiled method's own handler.
public class Handlers {
    static class Odd extends RuntimeException {
        Odd() {
            super(null, null, false, false);
        }
    }

    static final Odd ODD = new Odd();
    static volatile int sink;

    static int risky(int i) {
        if ((i & 7) == 3)
            throw ODD;
        return i;
    }

    static int caught(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            try {
                sum += risky(i);
            } catch (Odd e) {
                sum--;
            }
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 20000; i++)
            sink += caught(100);
        System.out.println("ready");
        System.in.read();
    }
}
