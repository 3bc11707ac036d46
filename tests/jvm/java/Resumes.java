// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Method;

/** Virtual threads that sleep deep in their stack and then work there: their callers stay in the heap. Resumes [on | MB]: they work without sleep, or a thread makes so much garbage a second. */
public class Resumes {
    static volatile long sink;
    static volatile Object garbage;

    static long work() {
        long s = 1;
        garbage = new byte[20_000];
        for (int i = 0; i < 150_000; i++)
            s = s * 31 + (s >>> 7) + i;
        return s;
    }

    static long deep(int depth, boolean sleeps) throws InterruptedException {
        if (depth > 0)
            return deep(depth - 1, sleeps) + 1;
        if (sleeps)
            Thread.sleep(20);
        return work();
    }

    static void handle(boolean sleeps) {
        try {
            for (;;)
                sink += deep(20, sleeps);
        } catch (InterruptedException e) {
        }
    }

    static void churn(int megabytes) {
        try {
            for (;;) {
                for (int i = 0; i < megabytes * 10; i++)
                    garbage = new byte[10_000];
                Thread.sleep(100);
            }
        } catch (InterruptedException e) {
        }
    }

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        boolean sleeps = args.length == 0 || !args[0].equals("on");
        if (sleeps && args.length == 1)
            new Thread(() -> churn(Integer.parseInt(args[0])), "churn").start();
        for (int i = 0; i < (sleeps ? 60 : 1); i++)
            start.invoke(null, (Runnable)() -> handle(sleeps));
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }
}
