// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/** Does what each line of its input says ("sleeps 20"), and answers by a number: how much of it there was. */
public final class Events {
    static final int PAGE = 4096, OBJECT = 1016, BLOCK = 1200, APART = 1 << 20;
    static final byte[] FROM = new byte[24 << 20], TO = new byte[FROM.length];
    static final List<Object> KEPT = new ArrayList<>(1 << 16);
    static final Key KEY = new Key();
    static final Semaphore ASKED = new Semaphore(0), ENTERED = new Semaphore(0);
    static volatile boolean copying;
    static volatile long waited;
    static volatile Object dropped;
    static volatile int sum;
    static Object unsafe;
    static Method cleaner;

    static final class Key {
    }

    /** So many ms of it. Return: ns. */
    static long computes(long ms) {
        long begin = System.nanoTime();

        while (System.nanoTime() - begin < ms * 1_000_000)
            for (int i = 0; i < 10_000; i++)
                sum += i;
        return System.nanoTime() - begin;
    }

    /** Return: pages. */
    static long touches(long pages) {
        ByteBuffer.allocateDirect((int) pages * PAGE);
        return pages;
    }

    /** Return: ns. */
    static long sleeps(long times) throws Exception {
        long begin = System.nanoTime();

        for (long i = 0; i < times; i++)
            Thread.sleep(100);
        return System.nanoTime() - begin;
    }

    static long switches(long times) {
        for (long i = 0; i < times; i++)
            pause();
        return times;
    }

    /** So that samples of what comes often take no quarter of an emulated processor: flamed stops then. */
    static void pause() {
        LockSupport.parkNanos(5_000_000);
    }

    /** Touches places of a mapped file that are further apart than what is read ahead. */
    static long maps(long places) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(System.getProperty("java.home") + "/lib/modules", "r")) {
            ByteBuffer mapped = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, places * APART);

            for (int i = 0; i < places; i++)
                sum += mapped.get(i * APART);
        }
        return places;
    }

    static long enters() {
        long begin = System.nanoTime();

        synchronized (KEY) {
            return System.nanoTime() - begin;
        }
    }

    /** Waits for the monitor each time that it is told to. */
    static void waits() {
        for (;;) {
            ASKED.acquireUninterruptibly();
            waited = enters();
            ENTERED.release();
        }
    }

    /** The thread waits for a monitor that this one has for 200 ms, so many times. Return: ns that it waited. */
    static long contends(long times) throws Exception {
        long all = 0;

        for (long i = 0; i < times; i++) {
            synchronized (KEY) {
                ASKED.release();
                Thread.sleep(200);
            }
            ENTERED.acquire();
            all += waited;
        }
        return all;
    }

    /** As contends(), but each time another thread waits, that ends then. */
    static long meets(long times) throws Exception {
        long all = 0;

        for (long i = 0; i < times; i++) {
            Thread brief = new Thread(() -> waited = enters(), "brief");

            synchronized (KEY) {
                brief.start();
                Thread.sleep(200);
            }
            brief.join();
            all += waited;
        }
        return all;
    }

    /** Objects, of which one in four is kept. Return: bytes that are. */
    static long keeps(long count) {
        KEPT.clear();
        for (long i = 0; i < count; i++) {
            Object o = new byte[OBJECT - 16];

            if (i % 500 == 0)
                pause();
            if (i % 4 == 0)
                KEPT.add(o);
            else
                dropped = o;
        }
        System.gc();
        return KEPT.size() * (long) OBJECT;
    }

    /** Direct buffers, of which one in ten is kept, and the others are freed at once. Return: bytes that are kept. */
    static long buffers(long count) throws Exception {
        KEPT.clear();
        for (long i = 0; i < count; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(BLOCK);

            if (i % 10 == 0)
                KEPT.add(buffer);
            else
                cleaner.invoke(unsafe, buffer);
            pause();
        }
        return KEPT.size() * (long) BLOCK;
    }

    static long calls(long count) {
        for (long i = 0; i < count; i++) {
            if (Thread.holdsLock(KEY))
                throw new IllegalStateException();
            pause();
        }
        return count;
    }

    static void copies() {
        while (copying)
            System.arraycopy(FROM, 0, TO, 0, FROM.length);
    }

    /** Collections, while a thread copies, and does not look whether it should stop. */
    static long collects(long times) throws Exception {
        copying = true;
        Thread late = new Thread(Events::copies, "late");
        late.start();
        for (long i = 0; i < times; i++) {
            Thread.sleep(20);
            System.gc();
        }
        copying = false;
        late.join();
        return times;
    }

    static long answer(String what, long n) throws Exception {
        switch (what) {
        case "computes":
            return computes(n);
        case "touches":
            return touches(n);
        case "sleeps":
            return sleeps(n);
        case "switches":
            return switches(n);
        case "maps":
            return maps(n);
        case "contends":
            return contends(n);
        case "meets":
            return meets(n);
        case "keeps":
            return keeps(n);
        case "buffers":
            return buffers(n);
        case "calls":
            return calls(n);
        default:
            return collects(n);
        }
    }

    public static void main(String[] args) throws Exception {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");

        field.setAccessible(true);
        unsafe = field.get(null);
        cleaner = type.getMethod("invokeCleaner", ByteBuffer.class);
        Thread waiter = new Thread(Events::waits, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        System.out.println("started");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");

            System.out.println(answer(words[0], Long.parseLong(words[1])));
        }
    }
}
