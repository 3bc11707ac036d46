/* SPDX-License-Identifier: Apache-2.0 */
package com.acme.shop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;

/** Shop SERVICE: one of seven small services for tests/bench/trial.py. Six are ill, each in its own way; mail is not. */
public class Shop {
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        System.out.println("started");
        switch (args[0]) {
        case "pricing":
            serve(8, 5, new Pricing());
            break;
        case "catalog":
            serve(2, 3, new Catalog());
            break;
        case "search":
            serve(2, 0, new Search());
            break;
        case "checkout":
            serve(6, 5, new Checkout());
            break;
        case "rules":
            serve(4, 20, new Rules(Boolean.getBoolean("rules.tenant")));
            break;
        case "sessions":
            serve(2, 10, new Sessions());
            break;
        case "mail":
            serve(4, 20, new Mail());
            break;
        default:
            throw new IllegalArgumentException(args[0]);
        }
    }

    interface Handler {
        void handle(Random random) throws Exception;
    }

    /** Requests come to each of the threads by themselves, @usual or -Dpause milliseconds after the last. */
    static void serve(int threads, int usual, Handler handler) {
        ExecutorService pool = named("http-exec-", threads);
        int pause = Integer.getInteger("pause", usual);

        for (int i = 0; i < threads; i++) {
            Random random = new Random(i);

            pool.submit(() -> {
                for (;;) {
                    handler.handle(random);
                    Thread.sleep(pause);
                }
            });
        }
    }

    static ExecutorService named(String name, int threads) {
        AtomicInteger next = new AtomicInteger();

        return Executors.newFixedThreadPool(threads, task -> new Thread(task, name + next.incrementAndGet()));
    }

    static double work(int rounds, Random random) {
        double sum = 0;

        for (int i = 0; i < rounds; i++)
            sum += Math.sqrt(random.nextInt(1000) + i);
        return sum;
    }
}

class Pricing implements Shop.Handler {
    private final PriceTable table = new PriceTable();

    @Override
    public void handle(Random random) throws Exception {
        Shop.sink = table.lookup(random.nextInt(100)) + Shop.work(5000, random);
    }
}

class PriceTable {
    private final Map<Integer, Double> prices = new LinkedHashMap<>();

    synchronized double lookup(int article) throws InterruptedException {
        if (!prices.containsKey(article))
            prices.put(article, load(article));
        double price = prices.get(article);

        prices.remove(article);
        return price;
    }

    private double load(int article) throws InterruptedException {
        Thread.sleep(15);
        return article * 1.19;
    }
}

class Catalog implements Shop.Handler {
    private final String[] cache = new String[150_000];

    Catalog() {
        Random random = new Random(1);

        for (int i = 0; i < cache.length; i++)
            cache[i] = "article " + random.nextInt();
    }

    @Override
    public void handle(Random random) {
        for (int i = 0; i < 200; i++)
            cache[random.nextInt(cache.length)] = "article " + random.nextInt();
        Shop.sink = describe(random) + Shop.work(2000, random);
    }

    private String describe(Random random) {
        String text = "";

        for (int i = 0; i < 400; i++)
            text += "<li>" + random.nextInt(100) + "</li>";
        return text;
    }
}

class Search implements Shop.Handler {
    private final double[] weights = new double[4096];

    @Override
    public void handle(Random random) {
        Shop.sink = score(random) + rank(random);
    }

    private double score(Random random) {
        double sum = 0;

        for (int i = 0; i < weights.length * 4; i++)
            sum += Math.log(2 + weights[i % weights.length] + random.nextInt(9));
        return sum;
    }

    private double rank(Random random) {
        List<Integer> list = new ArrayList<>();

        for (int i = 0; i < 2000; i++)
            list.add(random.nextInt());
        list.sort(null);
        return list.get(0);
    }
}

class Checkout implements Shop.Handler {
    private final ExecutorService payments = Shop.named("payment-", 3);
    private final ServerSocket bank;

    Checkout() throws Exception {
        bank = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        Thread teller = new Thread(this::keepWaiting, "bank");

        teller.setDaemon(true);
        teller.start();
    }

    /** Never answers, but takes each customer in: else the queue were full after some time, and connecting failed. */
    private void keepWaiting() {
        ArrayDeque<Socket> inside = new ArrayDeque<>();

        for (;;) {
            try {
                inside.add(bank.accept());
                if (inside.size() > 50)
                    inside.remove().close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void handle(Random random) throws Exception {
        Future<Integer> paid = payments.submit(() -> new PaymentClient().charge(bank.getLocalPort()));

        Shop.sink = Shop.work(20000, random);
        paid.get();
    }
}

class PaymentClient {
    int charge(int port) throws Exception {
        try (Socket s = new Socket(InetAddress.getLoopbackAddress(), port)) {
            s.setSoTimeout(4000);
            return s.getInputStream().read();
        } catch (java.net.SocketTimeoutException e) {
            return -1;
        }
    }
}

class Rules implements Shop.Handler {
    private static final int TENANTS = 60;
    private final boolean byTenant;

    Rules(boolean byTenant) {
        this.byTenant = byTenant;
    }

    @Override
    public void handle(Random random) {
        Shop.sink = evaluate(random) + (byTenant && matchTenant("customer north " + random.nextInt(9)) ? 1 : 0);
    }

    private double evaluate(Random random) {
        return Shop.work(60000, random);
    }

    private boolean matchTenant(String text) {
        for (int tenant = 0; tenant < TENANTS; tenant++)
            if (Pattern.compile("(\\w+\\s?)*@acme" + tenant).matcher(text).find())
                return true;
        return false;
    }
}

class Sessions implements Shop.Handler {
    private final Map<Long, byte[]> open = new LinkedHashMap<>();
    private long next;

    @Override
    public void handle(Random random) {
        login(random);
        Shop.sink = Shop.work(20000, random) + new byte[20000].length;
    }

    private synchronized void login(Random random) {
        open.put(next++, new byte[1500 + random.nextInt(1000)]);
    }
}

class Mail implements Shop.Handler {
    @Override
    public void handle(Random random) {
        Shop.sink = render(random);
    }

    private String render(Random random) {
        StringBuilder text = new StringBuilder("Dear customer");

        for (int i = 0; i < 300; i++)
            text.append(", ").append(random.nextInt(1000));
        return text.append(Shop.work(30000, random)).toString();
    }
}
