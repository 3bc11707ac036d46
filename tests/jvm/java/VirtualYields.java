// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/** VirtualYields SLEEPERS: so many virtual threads that wait for an hour. Each line of input begins what it names: "yield" two
 * threads that call Thread.yield() without end, "slowly" one that does so 100 times a second, "pin" one that waits in a class
 * initializer and so keeps its carrier, "continuation" one outside of virtual threads. "short" starts SHORT threads, 8 a millisecond
 * at most, half of which end after a wait that keeps their carrier, and the others after one for a monitor. It is answered when all
 * have ended. "crowd" starts CROWD more that wait for an hour, as fast. */
public class VirtualYields {
    static final int SHORT = 72_000;
    static final int CROWD = 40_000;

    static volatile boolean holds;

    static final class Held {
        static {
            holds = true;
            hold();
        }

        static void hold() {
            for (;;)
                LockSupport.parkNanos(20_000_000);
        }

        static void touch() {}
    }

    static void sleeper() throws Exception {
        Thread.sleep(3_600_000);
    }

    static void yielder() {
        for (;;)
            Thread.yield();
    }

    static void slowYielder() throws Exception {
        for (;; Thread.sleep(10))
            Thread.yield();
    }

    /** Yields a continuation that is of no virtual thread. */
    static void continuation() throws Exception {
        Class<?> type = Class.forName("jdk.internal.vm.Continuation"), scopes = Class.forName("jdk.internal.vm.ContinuationScope");
        Object scope = scopes.getConstructor(String.class).newInstance("bare");
        MethodHandle yield = MethodHandles.lookup().findStatic(type, "yield", MethodType.methodType(boolean.class, scopes));
        Runnable body = () -> {
            try {
                for (;;) {
                    boolean yielded = (boolean)yield.invoke(scope);
                }
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        };
        Object bare = type.getConstructor(scopes, Runnable.class).newInstance(scope, body);
        for (;; Thread.sleep(10)) {
            type.getMethod("run").invoke(bare);
            yields++;
        }
    }

    static volatile long yields;

    static void shortLived() throws Exception {
        Class<?> type = Class.forName("jdk.internal.vm.Continuation");
        MethodHandle pin = MethodHandles.lookup().findStatic(type, "pin", MethodType.methodType(void.class));
        MethodHandle unpin = MethodHandles.lookup().findStatic(type, "unpin", MethodType.methodType(void.class));
        Semaphore room = new Semaphore(64);
        for (int i = 0; i < SHORT; i += 2) {
            Object lock = new Object();
            CountDownLatch held = new CountDownLatch(1);
            room.acquire(2);
            ManyThreads.start(true, "pinned", () -> {
                try {
                    synchronized (lock) {
                        held.countDown();
                        LockSupport.parkNanos(500_000);
                    }
                    pin.invokeExact();
                    LockSupport.parkNanos(1);
                    unpin.invokeExact();
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
                room.release();
            });
            ManyThreads.start(true, "blocked", () -> {
                held.await();
                synchronized (lock) {
                    room.release();
                }
            });
            if (i % 8 == 0)
                Thread.sleep(1);
        }
        room.acquire(64);
    }

    static void crowd() throws Exception {
        for (int i = 0; i < CROWD; i++) {
            ManyThreads.start(true, "crowd", VirtualYields::sleeper);
            if (i % 8 == 0)
                Thread.sleep(1);
        }
    }

    static void begin(String what) throws Exception {
        if (what.equals("continuation")) {
            ManyThreads.start(false, what, VirtualYields::continuation);
            while (yields < 3)
                Thread.sleep(1);
            return;
        }
        if (what.equals("short")) {
            shortLived();
            return;
        }
        if (what.equals("crowd")) {
            crowd();
            return;
        }
        ManyThreads.Site site = what.equals("yield") ? VirtualYields::yielder : what.equals("slowly") ? VirtualYields::slowYielder : Held::touch;
        for (int i = what.equals("yield") ? 2 : 1; i > 0; i--)
            ManyThreads.start(true, what, site);
        while (what.equals("pin") && !holds)
            Thread.sleep(1);
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (int i = Integer.parseInt(args[0]); i > 0; i--)
            ManyThreads.start(true, "sleeper", VirtualYields::sleeper);
        System.out.println("started");
        for (String line; (line = in.readLine()) != null;) {
            begin(line);
            System.out.println(line);
        }
    }
}
