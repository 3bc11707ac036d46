// SPDX-License-Identifier: Apache-2.0
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.Base64;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.zip.Adler32;
import java.util.zip.CRC32;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * Runs what the VM has stubs for: copies, checksums, digests, ciphers, Math, BigInteger, Base64, fill, compare, hashes, sort, texts.
 * And code that goes through the VM's own: virtual and interface calls of many receivers, exceptions, monitors, allocation,
 * native code and back. And the interpreter (have it not compile the class Interpreted). Each part gets 20 ms in turn, on two threads.
 */
public class Stubs {
    static final byte[] BYTES = new byte[8192], OTHER = new byte[8192];
    static final long PART_NS = 20_000_000;
    static volatile Object sink;

    interface Shape { int area(int x); }
    abstract static class Base { abstract int weight(int x); }
    static final class A extends Base implements Shape { public int area(int x) { return x + 1; } int weight(int x) { return x ^ 1; } }
    static final class B extends Base implements Shape { public int area(int x) { return x * 3; } int weight(int x) { return x - 2; } }
    static final class C extends Base implements Shape { public int area(int x) { return x ^ 7; } int weight(int x) { return x + 5; } }
    static final class D extends Base implements Shape { public int area(int x) { return x - 9; } int weight(int x) { return x * 9; } }

    /** Stays interpreted. */
    static final class Interpreted {
        static int work(int n) {
            long sum = 0;
            double d = 1;
            int[] a = { 1, 2, 3 };
            Object o = "x";
            for (int i = 0; i < n; i++) {
                a[i % 3] += i;
                sum += a[(i + 1) % 3] * 31L >>> 3;
                d = d / 3 + i;
                switch (i & 3) {
                case 0: sum += ((String) o).length(); break;
                case 1: sum ^= System.nanoTime() & 1; break;
                case 2: synchronized (a) { sum++; } break;
                default: sum += new int[4].length; o = o instanceof String ? "y" : o; break;
                }
            }
            return (int) (sum + (long) d);
        }
    }

    static class Part {
        final String name;
        final Callable<Object> work;
        Part(String name, Callable<Object> work) { this.name = name; this.work = work; }
    }

    static Callable<Object> digest(String algorithm) throws Exception {
        MessageDigest d = MessageDigest.getInstance(algorithm);
        return () -> { d.update(BYTES); return d.digest(); };
    }

    static Callable<Object> cipher(String how, String key, java.security.spec.AlgorithmParameterSpec spec) throws Exception {
        Cipher c = Cipher.getInstance(how), back = Cipher.getInstance(how);
        SecretKeySpec k = new SecretKeySpec(Arrays.copyOf(key.getBytes(StandardCharsets.UTF_8), 16), "AES");
        if (spec instanceof GCMParameterSpec) {
            int[] n = { 0 };
            return () -> {
                byte[] iv = ByteBuffer.allocate(12).putInt(n[0]++).array();
                c.init(Cipher.ENCRYPT_MODE, k, new GCMParameterSpec(128, iv));
                byte[] secret = c.doFinal(BYTES);
                back.init(Cipher.DECRYPT_MODE, k, new GCMParameterSpec(128, iv));
                return back.doFinal(secret);
            };
        }
        c.init(Cipher.ENCRYPT_MODE, k, spec);
        back.init(Cipher.DECRYPT_MODE, k, spec);
        return () -> back.doFinal(c.doFinal(BYTES));
    }

    static double math(double x) {
        return Math.sin(x) + Math.cos(x) + Math.tan(x) + Math.exp(x / 9) + Math.log(x) + Math.log10(x) + Math.pow(x, 1.5) + Math.cbrt(x)
                + Math.sinh(x / 9) + Math.tanh(x) + (int) x + (long) (x * 1e9) % 1.5;
    }

    static Object copies(int round) {
        int n = round & 1023;
        short[] s = new short[2048];
        int[] i = new int[2048];
        long[] l = new long[2048];
        Object[] o = new Object[1024];
        Object[] strings = new String[1024];
        System.arraycopy(BYTES, n & 7, OTHER, n & 3, 4000 - n);
        System.arraycopy(OTHER, 3, OTHER, 9, 2000 + n);
        System.arraycopy(s, n & 7, s, 512 - (n & 255), 700 + n);
        System.arraycopy(i, n & 7, i, 512 - (n & 255), 700 + n);
        System.arraycopy(l, n & 7, l, 512 - (n & 255), 700 + n);
        Arrays.fill(o, "text");
        System.arraycopy(o, 0, strings, 0, 1000); /* each is checked */
        System.arraycopy(o, n & 7, o, 100, 500);
        return Arrays.asList(s, i, l, strings, i.clone(), Arrays.copyOf(o, 900));
    }

    static Object text(String word, int round) throws Exception {
        StringBuilder b = new StringBuilder();
        for (int k = 0; k < 40; k++)
            b.append(word).append(k).append('\u00e9');
        String t = b.toString();
        byte[] utf8 = t.getBytes(StandardCharsets.UTF_8), latin = t.getBytes(StandardCharsets.ISO_8859_1);
        int at = t.indexOf("39") + t.lastIndexOf("7") + t.indexOf('z') + t.compareTo(word) + t.hashCode();
        return new String(utf8, StandardCharsets.UTF_8).equals(new String(latin, StandardCharsets.ISO_8859_1)) ? t.toUpperCase() : at;
    }

    static int sum(Shape[] shapes, Base[] bases) {
        int s = 0;
        for (int k = 0; k < 4000; k++)
            s += shapes[k & 3].area(k) + bases[k & 3].weight(s);
        return s;
    }

    static int exceptions(int n) {
        int s = 0;
        for (int k = 0; k < 50; k++) {
            try {
                thrower(k + n);
            } catch (IllegalStateException e) {
                s += e.getMessage().length();
            } catch (ArrayIndexOutOfBoundsException e) {
                s++;
            }
        }
        return s;
    }

    static void thrower(int k) {
        if (k % 3 == 0)
            throw new IllegalStateException("x");
        sink = new int[2][k % 3 == 1 ? 1 : 2][1];
        BYTES[k % 3 == 1 ? BYTES.length + k : 0]++;
    }

    static Object allocation(int round) {
        Object[] all = new Object[64];
        for (int k = 0; k < all.length; k++)
            all[k] = k % 3 == 0 ? new long[round & 255] : k % 3 == 1 ? Array.newInstance(String.class, k) : new A();
        return all;
    }

    static synchronized int locked(int x) { return x + 1; }

    static final MethodHandle HANDLE;

    static {
        try {
            HANDLE = MethodHandles.lookup().findStatic(Stubs.class, "locked", MethodType.methodType(int.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static Object handles(int n) throws Throwable {
        int s = 0;
        MethodHandle h = MethodHandles.filterReturnValue(HANDLE, HANDLE);
        Method m = Stubs.class.getDeclaredMethod("locked", int.class);
        for (int k = 0; k < 100; k++)
            s += (int) h.invokeExact(k) + (int) HANDLE.invoke((Integer) k) + (Integer) m.invoke(null, n);
        return s;
    }

    /* What the C library's qsort() calls: all are equal. */
    static int order(long a, long b) { return 0; }

    /** qsort() of the C library, which calls back: JDK 22 up. */
    static Callable<Object> foreign() throws Exception {
        Class<?> linkerClass = Class.forName("java.lang.foreign.Linker"), segment = Class.forName("java.lang.foreign.MemorySegment"),
                layout = Class.forName("java.lang.foreign.MemoryLayout"), descriptor = Class.forName("java.lang.foreign.FunctionDescriptor"),
                arenaClass = Class.forName("java.lang.foreign.Arena"), values = Class.forName("java.lang.foreign.ValueLayout"),
                option = Class.forName("java.lang.foreign.Linker$Option"), lookup = Class.forName("java.lang.foreign.SymbolLookup");
        Object linker = linkerClass.getMethod("nativeLinker").invoke(null), options = Array.newInstance(option, 0);
        Object words = values.getField("JAVA_LONG").get(null), number = values.getField("JAVA_INT").get(null),
                address = values.getField("ADDRESS").get(null), arena = arenaClass.getMethod("global").invoke(null);
        Object two = Array.newInstance(layout, 2), four = Array.newInstance(layout, 4);
        Array.set(two, 0, words);
        Array.set(two, 1, words);
        Array.set(four, 0, address);
        Array.set(four, 1, words);
        Array.set(four, 2, words);
        Array.set(four, 3, address);
        Object compares = descriptor.getMethod("of", layout, two.getClass()).invoke(null, number, two);
        Object sorts = descriptor.getMethod("ofVoid", four.getClass()).invoke(null, four);
        MethodHandle order = MethodHandles.lookup().findStatic(Stubs.class, "order", MethodType.methodType(int.class, long.class, long.class));
        Object upcall = linkerClass.getMethod("upcallStub", MethodHandle.class, descriptor, arenaClass, options.getClass())
                .invoke(linker, order, compares, arena, options);
        Object found = lookup.getMethod("find", String.class).invoke(linkerClass.getMethod("defaultLookup").invoke(linker), "qsort");
        MethodHandle qsort = (MethodHandle) linkerClass.getMethod("downcallHandle", segment, descriptor, options.getClass())
                .invoke(linker, ((Optional<?>) found).get(), sorts, options);
        Object memory = arenaClass.getMethod("allocate", long.class, long.class).invoke(arena, 8L * 64, 8L);
        return () -> {
            try {
                return qsort.invokeWithArguments(memory, 64L, 8L, upcall);
            } catch (Throwable t) {
                throw new IllegalStateException(t);
            }
        };
    }

    interface Maker { Callable<Object> make() throws Exception; }

    static void add(java.util.List<Part> parts, String name, Maker m) {
        try {
            parts.add(new Part(name, m.make()));
        } catch (Exception | LinkageError e) {
            System.err.println("without " + name + ": " + e);
        }
    }

    static java.util.List<Part> parts() {
        java.util.List<Part> p = new java.util.ArrayList<>();
        int[] n = { 1 };
        byte[] key = new byte[16];
        Shape[] shapes = { new A(), new B(), new C(), new D() };
        Base[] bases = { new A(), new B(), new C(), new D() };
        BigInteger big = new BigInteger(2048, new Random(1)), odd = big.setBit(0);
        int[] numbers = new Random(2).ints(2000).toArray();
        double[] doubles = new Random(3).doubles(2000).toArray();
        add(p, "copies", () -> () -> copies(n[0]++));
        add(p, "CRC32", () -> () -> { CRC32 c = new CRC32(); c.update(BYTES); return c.getValue(); });
        add(p, "Adler32", () -> () -> { Adler32 c = new Adler32(); c.update(BYTES); return c.getValue(); });
        for (String algorithm : new String[] { "MD5", "SHA-1", "SHA-256", "SHA-512", "SHA3-256" })
            add(p, algorithm, () -> digest(algorithm));
        add(p, "AES", () -> cipher("AES/ECB/PKCS5Padding", "k", null));
        add(p, "CBC", () -> cipher("AES/CBC/PKCS5Padding", "k", new IvParameterSpec(key)));
        add(p, "CTR", () -> cipher("AES/CTR/NoPadding", "k", new IvParameterSpec(key)));
        add(p, "GCM", () -> cipher("AES/GCM/NoPadding", "k", new GCMParameterSpec(128, new byte[12])));
        add(p, "Math", () -> () -> { double s = 0; for (int k = 1; k < 200; k++) s += math(k + n[0]); return s; });
        add(p, "BigInteger", () -> () -> big.multiply(odd).add(big.multiply(big)).shiftLeft(7).shiftRight(3));
        add(p, "modPow", () -> () -> BigInteger.valueOf(3).modPow(big.shiftRight(1900), odd));
        add(p, "Base64", () -> () -> Base64.getDecoder().decode(Base64.getEncoder().encode(BYTES)));
        add(p, "fill", () -> () -> { byte[] b = new byte[4000]; Arrays.fill(b, (byte) n[0]); short[] s = new short[999]; Arrays.fill(s, (short) 3);
            int[] i = new int[999]; Arrays.fill(i, 5); return Arrays.asList(b, s, i); });
        add(p, "compare", () -> () -> Arrays.equals(BYTES, OTHER) | Arrays.hashCode(BYTES) == Arrays.hashCode(numbers));
        add(p, "sort", () -> () -> { int[] a = numbers.clone(); Arrays.sort(a); double[] d = doubles.clone(); Arrays.sort(d); return a[5] + d[5]; });
        add(p, "text", () -> () -> text("wort", n[0]));
        add(p, "calls", () -> () -> sum(shapes, bases));
        add(p, "exceptions", () -> () -> exceptions(n[0]++));
        add(p, "allocation", () -> () -> allocation(n[0]++));
        add(p, "handles", () -> () -> { try { return handles(n[0]); } catch (Throwable t) { throw new IllegalStateException(t); } });
        add(p, "locks", () -> () -> { int s = 0; for (int k = 0; k < 500; k++) s += locked(k); return s; });
        add(p, "interpreted", () -> () -> Interpreted.work(200));
        add(p, "foreign", Stubs::foreign);
        return p;
    }

    static void run() {
        java.util.List<Part> parts = parts();
        try {
            for (;;) {
                for (Part p : parts) {
                    long end = System.nanoTime() + PART_NS;

                    while (System.nanoTime() < end)
                        sink = p.work.call();
                }
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread second = new Thread(Stubs::run, "stubs-2");

        new Random(4).nextBytes(BYTES);
        second.setDaemon(true);
        second.start();
        System.out.println("started");
        run();
    }
}
