// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Method;

/** Virtual threads that sleep deep in their stack and then work there: their callers stay in the heap. An argument: they work without. */
public class Resumes {
    static volatile long sink;

    static long work() {
        long s = 1;
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

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        boolean sleeps = args.length == 0;
        for (int i = 0; i < (sleeps ? 60 : 1); i++)
            start.invoke(null, (Runnable)() -> handle(sleeps));
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }
}
