// SPDX-License-Identifier: Apache-2.0

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.zip.Deflater;

/** What ./run profiles where no other JVM runs: a small shop that is busy about half of the time. */
public final class Demo {
    private static final Pattern LINE = Pattern.compile("(\\w+)=(\\d+)(?:;|$)");

    private Demo() {}

    public static void main(String[] args) throws Exception {
        Thread orders = new Thread(() -> loop(Demo::handleOrders), "orders");
        Thread reports = new Thread(() -> loop(Demo::writeReport), "reports");
        orders.start();
        reports.start();
        orders.join();
        reports.join();
    }

    private interface Work {
        void run(Random random) throws Exception;
    }

    private static void loop(Work work) {
        Random random = new Random(42);
        try {
            for (;;) {
                long start = System.nanoTime();
                while (System.nanoTime() - start < 20_000_000L) {
                    work.run(random);
                }
                Thread.sleep(60);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void handleOrders(Random random) throws Exception {
        Map<String, Integer> stock = new HashMap<>();
        for (int i = 0; i < 50; i++) {
            String order = newOrder(random);
            Matcher m = LINE.matcher(order);
            while (m.find()) {
                stock.merge(m.group(1), Integer.parseInt(m.group(2)), Integer::sum);
            }
            sign(order);
        }
    }

    private static String newOrder(Random random) {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 20; i++) {
            b.append("item").append(random.nextInt(100)).append('=').append(random.nextInt(9)).append(';');
        }
        return b.toString();
    }

    private static byte[] sign(String order) throws Exception {
        return MessageDigest.getInstance("SHA-256").digest(order.getBytes(StandardCharsets.UTF_8));
    }

    private static void writeReport(Random random) {
        List<int[]> rows = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            rows.add(new int[] {random.nextInt(50), random.nextInt()});
        }
        String text = rows.stream()
            .sorted(Comparator.comparingInt(r -> r[1]))
            .collect(Collectors.groupingBy(r -> r[0], Collectors.summingLong(r -> r[1])))
            .entrySet().stream()
            .map(e -> e.getKey() + ":" + e.getValue())
            .collect(Collectors.joining(","));
        compress(text.getBytes(StandardCharsets.UTF_8));
    }

    private static int compress(byte[] text) {
        Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION);
        try {
            deflater.setInput(text);
            deflater.finish();
            return deflater.deflate(new byte[text.length + 64]);
        } finally {
            deflater.end();
        }
    }
}
