// SPDX-License-Identifier: Apache-2.0
import io.opentelemetry.api.internal.AutoValue_ImmutableSpanContext;
import io.opentelemetry.context.ArrayBasedContext;
import io.opentelemetry.context.ThreadLocalContextStorage;
import io.opentelemetry.sdk.trace.SdkSpan;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import sun.misc.Unsafe;

/**
 * A hostile tracer: Scribbles THREADS. Each thread has a request "GET /hostile". Half of them burn, the others wait. Another thread writes false
 * words over the objects that lead to the requests: lengths, classes, references in circles, to nowhere, and into the middle of objects. After a
 * moment it puts the right ones back. Needs a heap without a collector.
 */
public final class Scribbles {
    static final Unsafe UNSAFE = unsafe();
    static final int REFERENCE = UNSAFE.arrayIndexScale(Object[].class);
    static final long CLASS_WORD = 8;
    static final int WORDS_OF_ARRAY = 40;
    static volatile long sink;

    /** A word of an object, or half a word. */
    record Place(Object of, long at, int bytes) {
        long get() {
            return bytes == 8 ? UNSAFE.getLong(of, at) : UNSAFE.getInt(of, at);
        }

        void put(long word) {
            if (bytes == 8)
                UNSAFE.putLong(of, at, word);
            else
                UNSAFE.putInt(of, at, (int)word);
        }
    }

    final List<Place> places = new ArrayList<>();
    final List<Long> objects = new ArrayList<>(); // references to them: the VM may not meet them again

    static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");

            field.setAccessible(true);
            return (Unsafe)field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns the object in a field, which may be private. */
    static Object field(Object of, Class<?> type, String name) throws Exception {
        return UNSAFE.getObject(of, UNSAFE.objectFieldOffset(type.getDeclaredField(name)));
    }

    static long reference(Object to) {
        Object[] one = {to};
        long base = UNSAFE.arrayBaseOffset(Object[].class);

        return REFERENCE == 8 ? UNSAFE.getLong(one, base) : UNSAFE.getInt(one, base);
    }

    /** Adds the words of an object. */
    void add(Object of) {
        Class<?> type = of.getClass();

        objects.add(reference(of));
        places.add(new Place(of, CLASS_WORD, 4));
        if (type.isArray()) {
            long base = UNSAFE.arrayBaseOffset(type), bytes = (long)Array.getLength(of) * UNSAFE.arrayIndexScale(type);

            places.add(new Place(of, base - 4, 4)); // the length
            for (long at = 0; at + REFERENCE <= bytes && at < WORDS_OF_ARRAY * REFERENCE; at += REFERENCE)
                places.add(new Place(of, base + at, REFERENCE));
            return;
        }
        for (; type != null; type = type.getSuperclass()) {
            for (Field f : type.getDeclaredFields()) {
                if (!Modifier.isStatic(f.getModifiers()) && (!f.getType().isPrimitive() || f.getType() == int.class))
                    places.add(new Place(of, UNSAFE.objectFieldOffset(f), f.getType().isPrimitive() ? 4 : REFERENCE));
            }
        }
    }

    void addText(String text) throws Exception {
        add(text);
        add(field(text, String.class, "value"));
    }

    void addSpan(SdkSpan span, AutoValue_ImmutableSpanContext ids, String... texts) throws Exception {
        add(span);
        add(ids);
        for (String text : texts)
            addText(text);
    }

    /** Returns a copy that shares nothing with the VM's own table of strings. */
    static String text(String of) {
        return new String(of.toCharArray());
    }

    /** Begins the request of this thread, whose objects nobody but the scribbler uses from now on. */
    void begin() throws Exception {
        String trace = "c".repeat(32), outer = "1".repeat(16), inner = "2".repeat(16), name = text("GET /hostile"), current = text("in");
        AutoValue_ImmutableSpanContext first = new AutoValue_ImmutableSpanContext(trace, outer), second = new AutoValue_ImmutableSpanContext(trace, inner);
        SdkSpan root = new SdkSpan(first, name), span = new SdkSpan(second, current);
        ArrayBasedContext context = new ArrayBasedContext("current", span, "root", root);

        ThreadLocalContextStorage.attach(context);
        addSpan(root, first, trace, outer, name);
        addSpan(span, second, inner, current);
        add(context);
        add(context.entries);
        Object map = field(Thread.currentThread(), Thread.class, "threadLocals"), table = field(map, map.getClass(), "table");
        add(map);
        add(table);
        for (int i = 0; i < Array.getLength(table); i++) {
            if (Array.get(table, i) != null)
                add(Array.get(table, i));
        }
    }

    static void burn() {
        long x = sink;

        for (int i = 0; i < 1000000; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }

    static void serve(Scribbles own, boolean waits) {
        for (;;) {
            if (waits)
                UNSAFE.park(false, 5000000);
            else
                burn();
        }
    }

    /** Returns a false word. */
    static long lie(List<Long> objects) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        long other = objects.get(random.nextInt(objects.size()));

        switch (random.nextInt(8)) {
        case 0:
            return 0;
        case 1:
            return -1;
        case 2:
            return random.nextLong();
        case 3:
            return Integer.MAX_VALUE;
        case 4:
            return 1L << random.nextInt(63);
        case 5:
            return other + random.nextInt(64); // into the middle
        default:
            return other; // a circle, or an object of another class
        }
    }

    /** Writes up to three false words for each thread, and takes them back. Allocates nothing. */
    static void scribble(List<Scribbles> all) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        Place[] places = new Place[3 * all.size()];
        long[] right = new long[places.length];

        for (;;) {
            int n = 0;

            for (int i = 0; i < all.size(); i++) {
                Scribbles one = all.get(i);

                for (int left = random.nextInt(4); left > 0; left--) {
                    places[n] = one.places.get(random.nextInt(one.places.size()));
                    right[n] = places[n].get();
                    places[n++].put(lie(one.objects));
                }
            }
            UNSAFE.park(false, random.nextInt(3000000));
            while (n > 0) {
                n--;
                places[n].put(right[n]);
            }
            UNSAFE.park(false, random.nextInt(1000000));
        }
    }

    public static void main(String[] args) throws Exception {
        List<Scribbles> all = new ArrayList<>();

        for (int i = Integer.parseInt(args[0]); i > 0; i--) {
            Scribbles own = new Scribbles();
            boolean waits = i % 2 == 0;
            Thread thread = new Thread(() -> {
                try {
                    own.begin();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
                synchronized (all) {
                    all.add(own);
                    all.notify();
                }
                serve(own, waits);
            });

            thread.start();
            synchronized (all) {
                while (all.size() < Integer.parseInt(args[0]) - i + 1)
                    all.wait();
            }
        }
        System.out.println("started");
        scribble(all);
    }
}
