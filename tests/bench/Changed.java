/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

/**
 * Changed WORKERS REST_US: a service whose workers answer a request and rest, in turns. Each line of its input is
 * "CASE PERCENT": from then on the service does what CASE adds, for about as many percent of the CPU time that it took
 * before. "count 0" changes nothing. Each is answered by a line, with the number of requests so far.
 */
public class Changed {
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final List<Object> KEPT = new ArrayList<>();
    static final com.sun.management.OperatingSystemMXBean OS =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    static final int ROUNDS = 3000; // that tell what something takes
    static final int AT_ONCE = 4;   // requests that a worker answers before it rests
    static final LongAdder answered = new LongAdder();
    static volatile Object sink;
    static volatile Case now;     // what is added; null: nothing
    static volatile double often; // times in each request

    /** Something that a release may add to each request. */
    interface Case {
        void add(Request r) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        long rest = Long.parseLong(args[1]) * 1000;
        Map<String, Case> cases = cases();

        for (int i = 0; i < 400; i++)
            KEPT.add(new byte[32768]);
        for (int i = 0; i < workers; i++)
            new Worker(i, rest).start();
        System.out.println("started");
        Scanner in = new Scanner(System.in);
        while (in.hasNext()) {
            String name = in.next();
            double percent = in.nextDouble();

            if (!name.equals("count"))
                turn(cases, name, percent / 100);
            System.out.println(name + " " + percent + " " + answered.sum());
        }
        System.exit(0);
    }

    static Map<String, Case> cases() {
        Map<String, Case> all = new HashMap<>();

        all.put("regex", new Regex());
        all.put("loop", new Loop());
        all.put("cache", new Cache());
        all.put("logging", new Logging());
        all.put("payload", new Payload());
        all.put("lock", new Lock());
        all.put("serialization", new Serialization());
        all.put("copy", new Copy());
        return all;
    }

    static void turn(Map<String, Case> cases, String name, double share) throws Exception {
        now = null;
        Collector.period = Poller.period = 0;
        if (share == 0)
            return;
        long requests = answered.sum(), cpu = OS.getProcessCpuTime(), at = System.nanoTime();

        Thread.sleep(1500);
        requests = answered.sum() - requests;
        cpu = OS.getProcessCpuTime() - cpu;
        double request = cpu / (double) requests, everyNs = (System.nanoTime() - at) / (share * cpu);

        if (name.equals("collections")) {
            Collector.period = (long) (Collector.measure() * everyNs);
        } else if (name.equals("polling")) {
            Poller.period = (long) (Poller.measure() * everyNs);
        } else if (name.equals("lock")) { // percent of the time of the workers, not of the CPU
            often = share;
            now = cases.get(name);
        } else {
            often = share * request / measure(cases.get(name));
            now = cases.get(name);
        }
    }

    /** The CPU time of what ONE adds, in ns; compiled, and the second half of the rounds. */
    static double measure(Case one) throws Exception {
        Request r = new Request(7);
        long begun = 0;

        r.handle();
        for (int i = 0; i < 2 * ROUNDS; i++) {
            if (i == ROUNDS)
                begun = THREADS.getCurrentThreadCpuTime();
            one.add(r);
        }
        return (THREADS.getCurrentThreadCpuTime() - begun) / (double) ROUNDS;
    }

    static class Worker extends Thread {
        final int number;
        final long rest;

        Worker(int number, long rest) {
            super("worker-" + number);
            this.number = number;
            this.rest = rest;
            setDaemon(true);
        }

        @Override
        public void run() {
            Request r = new Request(number);
            double due = 0;

            try {
                for (;;) {
                    for (int i = 0; i < AT_ONCE; i++) {
                        Case added = now;

                        r.handle();
                        due = added == null || added instanceof Payload ? 0 : due + often;
                        for (; due >= 1; due--)
                            added.add(r);
                    }
                    answered.add(AT_ONCE);
                    Backend.await(rest);
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** What a request waits for: a server that takes its time. */
    static class Backend {
        static void await(long ns) {
            LockSupport.parkNanos(ns);
        }
    }

    /** One request, as it was before any change. */
    static class Request {
        final Map<String, String> headers = new LinkedHashMap<>();
        final List<Item> items = new ArrayList<>();
        final StringBuilder text = new StringBuilder();
        final byte[] buffer = new byte[8192];
        long seed;
        int packed;
        double more; // items to render

        Request(long seed) {
            this.seed = seed + 1;
        }

        void handle() throws Exception {
            seed = seed * 6364136223846793005L + 1442695040888963407L;
            Headers.parse(this);
            Orders.load(this);
            Prices.compute(this);
            Sorting.sort(this);
            Render.page(this, 8);
            Compression.pack(this);
            Digest.sum(this);
            Log.info(this);
        }
    }

    static class Item implements Comparable<Item> {
        final String name;
        final long id;
        BigDecimal price = BigDecimal.ONE;

        Item(long id) {
            this.id = id;
            this.name = "item \"" + Long.toString(id & 0xfff, 36) + "\"";
        }

        @Override
        public int compareTo(Item o) {
            return name.compareTo(o.name);
        }
    }

    static class Headers {
        static void parse(Request r) {
            String line = "host: shop; accept: text/html; tenant: t" + (r.seed >>> 60) + "; cookie: a=" + r.seed + "; agent: load";

            r.headers.clear();
            for (int at = 0, end; at < line.length(); at = end + 2) {
                end = line.indexOf(';', at) < 0 ? line.length() : line.indexOf(';', at);
                int colon = line.indexOf(':', at);
                r.headers.put(line.substring(at, colon), line.substring(colon + 2, end));
            }
        }
    }

    /** A table in memory, and the cache before it. */
    static class Db {
        static final long[] ROWS = new long[512];

        static Item query(Request r, long key) {
            long found = key;

            for (int i = 0; i < ROWS.length; i++)
                found = found * 31 + ROWS[i] ^ found >>> 7;
            return new Item(found);
        }
    }

    static class Orders {
        static void load(Request r) {
            if (r.seed % 64 == 0)
                Catalog.CACHE.remove(r.seed & 1023);
            r.items.clear();
            r.items.add(Db.query(r, r.seed));
            for (int i = 1; i < 24; i++)
                r.items.add(Catalog.find(r, r.seed + i * 977L));
        }
    }

    static class Catalog {
        static final Map<Long, Item> CACHE = new ConcurrentHashMap<>();

        static Item find(Request r, long key) {
            Item found = CACHE.get(key & 1023);

            return found != null ? found : load(r, key & 1023);
        }

        /** What the cache saves. */
        static Item load(Request r, long key) {
            long sum = key;

            for (int i = 0; i < 400; i++)
                sum = sum * 131 + (sum >>> 11 ^ i);
            Item made = new Item(sum);
            CACHE.put(key, made);
            return made;
        }
    }

    static class Prices {
        static void compute(Request r) {
            BigDecimal rate = new BigDecimal("1.19"), sum = BigDecimal.ZERO;

            for (Item i : r.items) {
                i.price = BigDecimal.valueOf(i.id & 0xffff, 2).multiply(rate).setScale(2, RoundingMode.HALF_UP);
                sum = sum.add(i.price);
            }
            sink = sum;
        }
    }

    static class Sorting {
        static void sort(Request r) {
            Collections.sort(r.items);
        }
    }

    static class Render {
        static void page(Request r, int n) {
            r.text.setLength(0);
            r.more += often > 0 && now instanceof Payload ? often : 0;
            for (int i = 0; i < n + (int) r.more; i++)
                item(r, r.items.get(i % r.items.size()));
            r.more -= (int) r.more;
        }

        static void item(Request r, Item i) {
            r.text.append("{\"id\":").append(i.id).append(",\"name\":");
            quote(r, i.name);
            r.text.append(",\"price\":").append(i.price).append('}');
        }

        static void quote(Request r, String s) {
            r.text.append('"');
            for (int i = 0; i < s.length(); i++) {
                char c = s.charAt(i);

                if (c == '"' || c == '\\')
                    r.text.append('\\');
                r.text.append(c);
            }
            r.text.append('"');
        }

        /** The same, as some write it. */
        static void quoteSlowly(Request r, String s) {
            r.text.append(("\"" + s.replace("\\", "\\\\").replace("\"", "\\\"") + "\""));
        }
    }

    static class Compression {
        /** Runs of equal bytes, and nothing more. */
        static void pack(Request r) {
            byte[] text = r.text.toString().getBytes(StandardCharsets.UTF_8);
            int n = 0;

            for (int i = 0, end; i < text.length && n < r.buffer.length - 2; i = end) {
                for (end = i + 1; end < text.length && text[end] == text[i];)
                    end++;
                r.buffer[n++] = text[i];
                if (end - i > 1)
                    r.buffer[n++] = (byte) (end - i);
            }
            r.packed = n;
        }
    }

    static class Digest {
        static void sum(Request r) {
            long a = 1, b = 0;

            for (int i = 0; i < r.packed; i++) {
                a = (a + (r.buffer[i] & 0xff)) % 65521;
                b = (b + a) % 65521;
            }
            r.seed ^= b << 16 | a;
        }
    }

    static class Log {
        static final OutputStream OUT = open();

        static OutputStream open() {
            try {
                return new FileOutputStream("/dev/null");
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        static void info(Request r) throws IOException {
            write("GET / " + r.headers.get("tenant") + " " + r.text.length());
        }

        static void debug(Request r) throws IOException {
            write(String.format("%s %08x %s", r.headers, r.seed, r.items.get(0).name));
        }

        static void write(String line) throws IOException {
            OUT.write(line.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** A rule with a regular expression for each request: a new method, called by another new one. */
    static class Regex implements Case {
        static final Pattern RULE = Pattern.compile("(.*)tenant=(t\\d+),(.*),\\s*agent=load.*x");

        @Override
        public void add(Request r) {
            sink = matchTenantRule(r.headers.toString());
        }

        static Boolean matchTenantRule(String text) {
            return RULE.matcher(text).find();
        }
    }

    /** One query for each item in place of one for all. */
    static class Loop implements Case {
        @Override
        public void add(Request r) {
            r.items.set(0, Db.query(r, r.seed));
        }
    }

    /** The cache forgets. */
    static class Cache implements Case {
        @Override
        public void add(Request r) {
            Catalog.CACHE.remove(r.seed & 1023);
            sink = Catalog.find(r, r.seed++);
        }
    }

    static class Logging implements Case {
        @Override
        public void add(Request r) throws Exception {
            Log.debug(r);
        }
    }

    /** More items on each page: no method is new. */
    static class Payload implements Case {
        @Override
        public void add(Request r) {
            Render.item(r, r.items.get(0));
            if (r.text.length() > 16384)
                r.text.setLength(0);
        }
    }

    static class Serialization implements Case {
        @Override
        public void add(Request r) {
            Render.quoteSlowly(r, r.items.get(0).name);
            if (r.text.length() > 16384)
                r.text.setLength(0);
        }
    }

    static class Copy implements Case {
        @Override
        public void add(Request r) {
            sink = copyBuffer(r);
        }

        static byte[] copyBuffer(Request r) {
            return Arrays.copyOf(r.buffer, r.buffer.length);
        }
    }

    /** All workers want a new lock for a part of their time, with what they wait for inside of it. */
    static class Ledger {
        void enter(long ns) {
            synchronized (this) {
                LockSupport.parkNanos(ns);
            }
        }
    }

    static class Lock implements Case {
        static final Ledger LEDGER = new Ledger();

        @Override
        public void add(Request r) {
            LEDGER.enter(200_000);
        }
    }

    /** Collections by the clock, as a flag or a call of System.gc() has them. */
    static class Collector extends Thread {
        static volatile long period;

        static {
            new Collector().start();
        }

        Collector() {
            super("collector");
            setDaemon(true);
        }

        static double measure() {
            long begun = OS.getProcessCpuTime(), at = System.nanoTime();

            for (int i = 0; i < 10; i++)
                System.gc();
            long used = OS.getProcessCpuTime() - begun, took = System.nanoTime() - at;

            LockSupport.parkNanos(took);
            return Math.max(used - (OS.getProcessCpuTime() - begun - used), used / 10) / 10.0;
        }

        @Override
        public void run() {
            for (;;) {
                LockSupport.parkNanos(period > 0 ? period : 100_000_000);
                if (period > 0)
                    System.gc();
            }
        }
    }

    /** A thread that looks again and again whether there is work. */
    static class Poller extends Thread {
        static volatile long period;

        static {
            new Poller().start();
        }

        Poller() {
            super("poller");
            setDaemon(true);
        }

        static double measure() {
            long begun = THREADS.getCurrentThreadCpuTime();

            for (int i = 0; i < 2000; i++) {
                LockSupport.parkNanos(1000);
                poll();
            }
            return (THREADS.getCurrentThreadCpuTime() - begun) / 2000.0;
        }

        static void poll() {
            long found = 0;

            for (int i = 0; i < 64; i++)
                found += Db.ROWS[i * 7 & 511] + System.nanoTime();
            sink = found;
        }

        @Override
        public void run() {
            for (;;) {
                LockSupport.parkNanos(period > 0 ? period : 100_000_000);
                if (period > 0)
                    poll();
            }
        }
    }
}
