// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Churn MILLISECONDS GC-EVERY: two threads define a class, run it for so long, and let it go; every so
 * many classes the collector unloads them. The class ChurnBody000042 and its method work000042 are called
 * through six steps of fixed classes whose names spell the same number, so that each stack carries its
 * own truth: Step0 ... Step4, Step2.
 */
public final class Churn {
    static final AtomicInteger NEXT = new AtomicInteger();
    static volatile long sink;

    private Churn() {}

    /** What a generated class does. */
    public interface Body {
        long run(long deadline);
    }

    /** One digit of the number; the steps differ only by name. */
    abstract static class Step {
        abstract long digit(int left, int number, Body body, long deadline);

        static long next(int left, int number, Body body, long deadline) {
            if (left == 0) {
                return body.run(deadline);
            }
            int power = 1;
            for (int i = 1; i < left; i++) {
                power *= 10;
            }
            return STEPS[number / power % 10].digit(left - 1, number, body, deadline);
        }
    }

    static final class Step0 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 1; }
    }

    static final class Step1 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 2; }
    }

    static final class Step2 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 3; }
    }

    static final class Step3 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 4; }
    }

    static final class Step4 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 5; }
    }

    static final class Step5 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 6; }
    }

    static final class Step6 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 7; }
    }

    static final class Step7 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 8; }
    }

    static final class Step8 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 9; }
    }

    static final class Step9 extends Step {
        long digit(int left, int n, Body b, long d) { return next(left, n, b, d) + 10; }
    }

    static final Step[] STEPS = {
        new Step0(), new Step1(), new Step2(), new Step3(), new Step4(),
        new Step5(), new Step6(), new Step7(), new Step8(), new Step9(),
    };

    static final class Loader extends ClassLoader {
        Loader() {
            super(Churn.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    private static byte[] template() throws Exception {
        try (InputStream in = Churn.class.getResourceAsStream("ChurnBody000000.class")) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] chunk = new byte[4096];
            for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
                out.write(chunk, 0, n);
            }
            return out.toByteArray();
        }
    }

    /** The template with the digits 000000 after a letter replaced: same length, other names. */
    private static byte[] generation(byte[] template, int number) {
        byte[] zeros = "000000".getBytes(StandardCharsets.US_ASCII);
        byte[] digits = String.format("%06d", number).getBytes(StandardCharsets.US_ASCII);
        byte[] bytes = template.clone();
        for (int i = 1; i + 6 <= bytes.length; i++) {
            if (Character.isLetter(bytes[i - 1]) && Arrays.equals(Arrays.copyOfRange(bytes, i, i + 6), zeros)) {
                System.arraycopy(digits, 0, bytes, i, 6);
            }
        }
        return bytes;
    }

    private static void loop(byte[] template, long lifetimeNanos, int gcEvery) {
        try {
            for (;;) {
                int number = NEXT.getAndIncrement() % 1_000_000;
                Body body = (Body) new Loader().define(generation(template, number)).getDeclaredConstructor().newInstance();
                sink = Step.next(6, number, body, System.nanoTime() + lifetimeNanos);
                if (number % gcEvery == 0) {
                    body = null;
                    System.gc();
                }
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        long lifetime = Long.parseLong(args[0]) * 1_000_000L;
        int gcEvery = Integer.parseInt(args[1]);
        byte[] template = template();
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> loop(template, lifetime, gcEvery), "churn-" + i);
            threads[i].start();
        }
        System.out.println("started");
        System.out.flush();
        threads[0].join();
    }
}
