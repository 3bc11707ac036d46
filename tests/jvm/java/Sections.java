// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntBinaryOperator;
import java.util.regex.Pattern;

/**
 * Three sections of work one after the other, all inlined into one method: Sections KIND. Each line of input is answered by the
 * time, in nanoseconds, that each section has had so far: "a N b N c N". It is the thread's CPU time, but in kinds whose sections have
 * no call between them. Input is a last argument that is a file, or standard input. Section X of kind K is the method K.X.
 */
public final class Sections {
    static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
    static final long[] spent = new long[3];
    static volatile long sink;
    static final int WARM_ROUNDS = 1500;
    static volatile int rounds;
    /* Not final: the length of an array that is would be a constant, and its loops without any record. */
    static double[] prices = new double[4096];
    static int[] numbers = new int[4096];
    static byte[] bytes = new byte[65536];
    static char[] chars = new char[16384];
    static String[] words = new String[512];
    static final Map<Integer, Integer> map = new HashMap<>();
    static final List<Integer> list = new ArrayList<>();
    static double[] left = new double[64 * 64], right = new double[64 * 64], product = new double[64 * 64];
    static int[] unsorted = new int[400];
    static BigInteger big = BigInteger.ONE;
    static final Random RANDOM = new Random(1);
    static final Pattern PATTERN = Pattern.compile("(\\w+)-(\\d+)");

    private Sections() {}

    static long now() {
        return BEAN.getCurrentThreadCpuTime();
    }

    /** Adds a round that took CPU nanoseconds, of which sections had these by the clock. A round in which other threads ran does not count. */
    static void add(long[] t, long cpu, long a, long b, long c) {
        if (a + b + c > cpu + cpu / 10)
            return;
        t[0] += a;
        t[1] += b;
        t[2] += c;
    }

    /** Three methods with a loop each, as in the report that this load is after. */
    static final class Leaf {
        static double discount(double x, int i) {
            return x * 0.97 + (i % 7) * 0.001;
        }

        static double a(int n) {
            double t = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < prices.length; i++)
                    t += discount(prices[i], i);
            }
            return t;
        }

        static int mix(int h, int k) {
            h ^= k * 0x9E3779B9;
            h = Integer.rotateLeft(h, 13);
            return h * 5 + 0xe6546b64;
        }

        static int b(int n) {
            int h = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < numbers.length; i++)
                    h = mix(h, numbers[i]);
            }
            return h;
        }

        static boolean isVowel(byte c) {
            return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u';
        }

        static int c(int n) {
            int k = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < bytes.length; i++) {
                    if (isVowel(bytes[i]))
                        k++;
                }
            }
            return k;
        }

        static void round(long[] t) {
            long s = now();
            double x = a(60);
            t[0] += now() - s;
            s = now();
            x += b(60);
            t[1] += now() - s;
            s = now();
            x += c(4);
            t[2] += now() - s;
            sink += (long) x;
        }
    }

    static final class Sort {
        static void fill() {
            for (int i = 0; i < unsorted.length; i++)
                unsorted[i] = (i * 7919) % 1009;
        }

        static int a(int[] x) {
            for (int i = 1; i < x.length; i++) {
                int v = x[i], j = i - 1;
                while (j >= 0 && x[j] > v) {
                    x[j + 1] = x[j];
                    j--;
                }
                x[j + 1] = v;
            }
            return x[7];
        }

        static int b(int[] x) {
            for (int i = 0; i < x.length - 1; i++) {
                int m = i;
                for (int j = i + 1; j < x.length; j++) {
                    if (x[j] < x[m])
                        m = j;
                }
                int t = x[i];
                x[i] = x[m];
                x[m] = t;
            }
            return x[7];
        }

        static int c(int[] x) {
            for (int i = x.length; i > 1; i--) {
                for (int j = 1; j < i; j++) {
                    if (x[j - 1] > x[j]) {
                        int t = x[j];
                        x[j] = x[j - 1];
                        x[j - 1] = t;
                    }
                }
            }
            return x[7];
        }

        static void round(long[] t) {
            fill();
            long s = now();
            int x = a(unsorted);
            t[0] += now() - s;
            fill();
            s = now();
            x += b(unsorted);
            t[1] += now() - s;
            fill();
            s = now();
            x += c(unsorted);
            t[2] += now() - s;
            sink += x;
        }
    }

    /** Loops in loops: a product of matrices, shortest ways, a sieve. */
    static final class Nest {
        static double a() {
            for (int i = 0; i < 64; i++) {
                for (int j = 0; j < 64; j++) {
                    double t = 0;
                    for (int k = 0; k < 64; k++)
                        t += left[i * 64 + k] * right[k * 64 + j];
                    product[i * 64 + j] = t;
                }
            }
            return product[77];
        }

        static double b(double[] d) {
            for (int k = 0; k < 64; k++) {
                for (int i = 0; i < 64; i++) {
                    double via = d[i * 64 + k];
                    for (int j = 0; j < 64; j++) {
                        if (via + d[k * 64 + j] < d[i * 64 + j])
                            d[i * 64 + j] = via + d[k * 64 + j];
                    }
                }
            }
            return d[5];
        }

        static int c(byte[] s, int n) {
            int count = 0;
            for (int i = 2; i < n; i++)
                s[i] = 1;
            for (int i = 2; i < n; i++) {
                if (s[i] == 0)
                    continue;
                count++;
                for (int j = 2 * i; j < n; j += i)
                    s[j] = 0;
            }
            return count;
        }

        static void round(long[] t) {
            long s = now();
            double x = a();
            t[0] += now() - s;
            s = now();
            x += b(left);
            t[1] += now() - s;
            s = now();
            x += c(bytes, 60000);
            t[2] += now() - s;
            sink += (long) x;
        }
    }

    static final class Text {
        static int a(int n) {
            int t = 0;
            StringBuilder text = new StringBuilder(64);
            for (int i = 0; i < n; i++) {
                text.setLength(0);
                int v = i * 7919 & 0x7fffffff;
                do {
                    text.append((char) ('0' + v % 10));
                    v /= 10;
                } while (v != 0);
                t += text.length();
            }
            return t;
        }

        static int b(int n) {
            int h = 0;
            for (int r = 0; r < n; r++) {
                for (String word : words) {
                    int e = 0;
                    for (int i = 0; i < word.length(); i++)
                        e = 31 * e + Character.toLowerCase(word.charAt(i));
                    h ^= e;
                }
            }
            return h;
        }

        static int c(int n) {
            int q = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < chars.length; i++) {
                    char k = chars[i];
                    if (k >= 'a' && k <= 'z')
                        chars[i] = (char) (k - 32 + (r & 1));
                    else
                        q++;
                }
            }
            return q;
        }

        static void round(long[] t) {
            long s = now();
            int x = a(3000);
            t[0] += now() - s;
            s = now();
            x += b(20);
            t[1] += now() - s;
            s = now();
            x += c(20);
            t[2] += now() - s;
            sink += x;
        }
    }

    /** What applications do most: lookups, numbers without a bound, regular expressions. */
    static final class Library {
        static int a(int n) {
            int t = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < 1000; i++) {
                    Integer v = map.get(i * 3);
                    if (v != null)
                        t += v;
                }
            }
            return t;
        }

        static int b(int n) {
            BigInteger x = big;
            for (int i = 0; i < n; i++)
                x = x.multiply(big).mod(BigInteger.TEN.pow(90)).add(big);
            return x.bitCount();
        }

        static int c(int n) {
            int t = 0;
            for (int i = 0; i < n; i++) {
                if (PATTERN.matcher(words[i & 511]).find())
                    t++;
            }
            return t;
        }

        static void round(long[] t) {
            long s = now();
            int x = a(10);
            t[0] += now() - s;
            s = now();
            x += b(100);
            t[1] += now() - s;
            s = now();
            x += c(400);
            t[2] += now() - s;
            sink += x;
        }
    }

    /** Streams, boxes and bits. */
    static final class Streams {
        static long a(int n) {
            long t = 0;
            for (int r = 0; r < n; r++)
                t += Arrays.stream(numbers).map(x -> x * 3 ^ 5).filter(x -> (x & 1) == 0).asLongStream().sum();
            return t;
        }

        static long b(int n) {
            long t = 0;
            for (int r = 0; r < n; r++) {
                for (Integer x : list)
                    t += x * 7;
            }
            return t;
        }

        static long c(int n) {
            long t = 0;
            for (int r = 0; r < n; r++) {
                for (int x : numbers)
                    t += Integer.bitCount(x) + Long.numberOfTrailingZeros(x | 1L << 40);
            }
            return t;
        }

        static void round(long[] t) {
            long s = now();
            long x = a(20);
            t[0] += now() - s;
            s = now();
            x += b(40);
            t[1] += now() - s;
            s = now();
            x += c(32);
            t[2] += now() - s;
            sink += x;
        }
    }

    /** Loops of arithmetic alone: no array, no call, no guard. */
    static final class Pure {
        static int a(int n, int x) {
            for (int i = 0; i < n; i++) {
                x = x * 31 + i;
                x ^= x >>> 7;
            }
            return x;
        }

        static int b(int n, int x) {
            for (int i = 0; i < n; i++) {
                x = Integer.rotateLeft(x, 5) - i;
                x += x << 3;
            }
            return x;
        }

        static long c(int n, long x) {
            for (int i = 0; i < n; i++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
            return x;
        }

        static void round(long[] t) {
            long s = now();
            int x = a(100000, 1);
            t[0] += now() - s;
            s = now();
            x += b(150000, x);
            t[1] += now() - s;
            s = now();
            x += c(100000, x | 1);
            t[2] += now() - s;
            sink += x;
        }
    }

    /** Loops of equal bodies, inlined one after the other without a call between them: nanoTime() leaves no record. */
    static final class Equal {
        static int a(int[] x, int n) {
            int h = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < x.length; i++)
                    h += x[i] ^ (h >>> 3);
            }
            return h;
        }

        static int b(int[] x, int n) {
            int h = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < x.length; i++)
                    h += x[i] ^ (h >>> 3);
            }
            return h;
        }

        static int c(int[] x, int n) {
            int h = 0;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < x.length; i++)
                    h += x[i] ^ (h >>> 3);
            }
            return h;
        }

        static void round(long[] t) {
            int[] x = numbers, y = unsorted;
            long s = now(), t0 = System.nanoTime();
            int h = a(x, 40);
            long t1 = System.nanoTime();
            h += b(y, 600);
            long t2 = System.nanoTime();
            h += c(x, 30);
            long t3 = System.nanoTime();
            add(t, now() - s, t1 - t0, t2 - t1, t3 - t2);
            sink += h;
        }
    }

    /** Short loops in a long one, as a service has them that answers requests. */
    static final class Requests {
        static int a(byte[] q, int from, int to) {
            int k = 0;
            for (int i = from; i < to; i++) {
                byte c = q[i];
                if (c == 'a' || c == 'q' || c == 'z')
                    k++;
            }
            return k;
        }

        static int b(int[] q, int from, int to) {
            int h = 17;
            for (int i = from; i < to; i++)
                h = h * 31 + q[i];
            return h;
        }

        static double c(double[] q, int from, int to) {
            double t = 0;
            for (int i = from; i < to; i++)
                t += q[i] * 0.5;
            return t;
        }

        static void round(long[] t) {
            long u = 0, s = now(), a = 0, b = 0, c = 0;
            for (int i = 0; i < 2000; i += 50) {
                long t0 = System.nanoTime();
                u += a(bytes, i, i + 1500);
                long t1 = System.nanoTime();
                u += b(numbers, i, i + 2000);
                long t2 = System.nanoTime();
                u += (long) c(prices, i, i + 1500);
                long t3 = System.nanoTime();
                a += t1 - t0;
                b += t2 - t1;
                c += t3 - t2;
            }
            add(t, now() - s, a, b, c);
            sink += u;
        }
    }

    /** One loop, inlined three times, each time with another lambda in it. */
    static final class Lambdas {
        static int all(int[] x, int n, IntBinaryOperator f) {
            int h = 1;
            for (int r = 0; r < n; r++) {
                for (int i = 0; i < x.length; i++)
                    h = f.applyAsInt(h, x[i]);
            }
            return h;
        }

        static int a(int n) {
            return all(numbers, n, (h, x) -> h * 31 + x);
        }

        static int b(int n) {
            return all(numbers, n, (h, x) -> Integer.rotateLeft(h, 7) ^ x);
        }

        static int c(int n) {
            return all(numbers, n, (h, x) -> Math.max(h - 3, x & 0xffff));
        }

        static void round(long[] t) {
            long s = now();
            int h = a(30);
            t[0] += now() - s;
            s = now();
            h += b(50);
            t[1] += now() - s;
            s = now();
            h += c(40);
            t[2] += now() - s;
            sink += h;
        }
    }

    static void prepare() {
        for (int i = 0; i < prices.length; i++) {
            prices[i] = i * 1.37;
            numbers[i] = i * 0x9E3779B9;
            list.add(i * 31);
        }
        for (int i = 0; i < bytes.length; i++)
            bytes[i] = (byte) ('a' + i * 7 % 26);
        for (int i = 0; i < chars.length; i++)
            chars[i] = (char) ('A' + i * 11 % 58);
        for (int i = 0; i < words.length; i++)
            words[i] = "word" + i * 7919 + "-" + i;
        for (int i = 0; i < 2000; i++)
            map.put(i, i * 5);
        for (int i = 0; i < left.length; i++) {
            left[i] = 1 + i % 13;
            right[i] = 1 + i % 7;
        }
        big = new BigInteger("123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890");
    }

    /** Takes up to 0.5 ms every fourth time, so that rounds keep no time with the samples. */
    static void pause() {
        if (rounds % 4 != 0)
            return;
        long until = System.nanoTime() + RANDOM.nextInt(500000);
        while (System.nanoTime() < until)
            sink++;
    }

    static void round(String kind) {
        rounds++;
        pause();
        switch (kind) {
        case "Leaf":
            Leaf.round(spent);
            break;
        case "Sort":
            Sort.round(spent);
            break;
        case "Nest":
            Nest.round(spent);
            break;
        case "Text":
            Text.round(spent);
            break;
        case "Library":
            Library.round(spent);
            break;
        case "Streams":
            Streams.round(spent);
            break;
        case "Equal":
            Equal.round(spent);
            break;
        case "Requests":
            Requests.round(spent);
            break;
        case "Lambdas":
            Lambdas.round(spent);
            break;
        default:
            Pure.round(spent);
        }
    }

    static synchronized String told() {
        return "a " + spent[0] + " b " + spent[1] + " c " + spent[2];
    }

    static void work(String kind, long until) {
        while (until == 0 || System.nanoTime() < until) {
            synchronized (Sections.class) {
                round(kind);
            }
            Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        prepare();
        List<String> more = Arrays.asList(args).subList(1, args.length);
        boolean handed = more.contains("handed"); // to a thread of a pool, in a lambda, round by round
        Thread worker = new Thread(() -> work(args[0], 0), "sections");
        ExecutorService pool = Executors.newSingleThreadExecutor(r -> new Thread(r, "sections"));
        if (handed)
            new Thread(() -> {
                while (true) {
                    try {
                        pool.submit(() -> {
                            synchronized (Sections.class) {
                                round(args[0]);
                            }
                        }).get();
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }
            }, "hands").start();
        else
            worker.start();
        while (rounds < WARM_ROUNDS) // enough for C2, on a busy machine, too
            Thread.sleep(10);
        Thread.sleep(500);
        System.out.println("started");
        boolean fromFile = !more.isEmpty() && more.get(more.size() - 1).startsWith("/");
        BufferedReader input = fromFile ? new BufferedReader(new FileReader(more.get(more.size() - 1)))
                                        : new BufferedReader(new InputStreamReader(System.in));
        while (input.readLine() != null)
            System.out.println(told());
        System.exit(0);
    }
}
