// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.ReentrantLock;

/** VirtualWaits PER_SITE: so many virtual threads at each of five sites, which wait for some ms again and again. For each line of
 * input it prints how long each site has waited so far, by its own clock. A wait that goes on counts, too: a thread that finds
 * no processor may lose its lock to the other one for seconds. */
public class VirtualWaits {
    static final String[] SITES = {"siteSleep", "siteLock", "siteMonitor", "siteQueue", "siteSocket"};
    static final AtomicLong[] WAITED = new AtomicLong[SITES.length];
    static final int THREADS_MAX = 10000;
    static final AtomicLongArray BEGUN = new AtomicLongArray(SITES.length * THREADS_MAX); // 0: does not wait
    static volatile long sink;

    static void siteSleep(Random random) throws Exception {
        Thread.sleep(1 + random.nextInt(30));
    }

    static void siteLock(ReentrantLock lock) {
        lock.lock();
    }

    /** Returns when it has the monitor; then it is in hold(). */
    static long siteMonitor(Object monitor, Random random) throws Exception {
        synchronized (monitor) {
            long got = System.nanoTime();
            hold(random);
            return got;
        }
    }

    static void siteQueue(ArrayBlockingQueue<Long> queue) throws Exception {
        queue.take();
    }

    static void siteSocket(InputStream in) throws Exception {
        in.read();
    }

    /** While it has a lock: of no site. */
    static void hold(Random random) throws Exception {
        Thread.sleep(1 + random.nextInt(20));
    }

    static long work(long x) {
        for (int i = 0; i < 2000; i++)
            x = x * 6364136223846793005L + i;
        return x;
    }

    interface Wait {
        /** Returns when it was over. */
        long run(Random random) throws Exception;
    }

    static void loop(int site, int number, Wait wait) throws Exception {
        ManyThreads.start(true, SITES[site] + "-" + number, () -> {
            Random random = new Random(site * 1000L + number);
            int slot = site * THREADS_MAX + number;
            for (long x = number;; sink = x) {
                x = work(x);
                long begun = System.nanoTime();
                BEGUN.set(slot, begun);
                long got = wait.run(random);
                BEGUN.set(slot, 0);
                WAITED[site].addAndGet(got - begun);
            }
        });
    }

    static long unfinished(int site) {
        long now = System.nanoTime(), sum = 0;
        for (int i = 0; i < THREADS_MAX; i++) {
            long begun = BEGUN.get(site * THREADS_MAX + i);
            sum += begun == 0 ? 0 : now - begun;
        }
        return sum;
    }

    static long over(ManyThreads.Site site) throws Exception {
        site.run();
        return System.nanoTime();
    }

    static void startFed(int number, ArrayBlockingQueue<Long> queue, InputStream in) throws Exception {
        loop(0, number, r -> over(() -> siteSleep(r)));
        loop(3, number, r -> over(() -> siteQueue(queue)));
        loop(4, number, r -> over(() -> siteSocket(in)));
    }

    static void startHolders(int number, ReentrantLock lock, Object monitor) throws Exception {
        loop(1, number, r -> {
            long got = over(() -> siteLock(lock));
            try {
                hold(r);
            } finally {
                lock.unlock();
            }
            return got;
        });
        if (ManyThreads.unpins())
            loop(2, number, r -> siteMonitor(monitor, r));
    }

    public static void main(String[] args) throws Exception {
        int perSite = Integer.parseInt(args[0]);
        ServerSocket server = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
        ArrayBlockingQueue<?>[] queues = new ArrayBlockingQueue<?>[perSite];
        Socket[] peers = new Socket[perSite];
        ReentrantLock lock = null;
        Object monitor = null;

        for (int i = 0; i < SITES.length; i++)
            WAITED[i] = new AtomicLong();
        for (int i = 0; i < perSite; i++) {
            Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
            ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(4);
            peers[i] = server.accept();
            peers[i].setTcpNoDelay(true);
            ManyThreads.SOCKETS.add(client);
            queues[i] = queue;
            startFed(i, queue, client.getInputStream());
            if (i % 2 == 0) { // two share a lock
                lock = new ReentrantLock();
                monitor = new Object();
            }
            startHolders(i, lock, monitor);
        }
        Thread feeder = new Thread(() -> feed(queues, peers), "feeder");
        feeder.setDaemon(true);
        feeder.start();
        System.out.println("started");
        while (System.in.read() >= 0) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < SITES.length; i++)
                line.append(SITES[i]).append(' ').append(WAITED[i].get() + unfinished(i)).append(' ');
            System.out.println(line);
        }
    }

    @SuppressWarnings("unchecked")
    static void feed(ArrayBlockingQueue<?>[] queues, Socket[] peers) {
        Random random = new Random(7);
        long[] due = new long[2 * queues.length];
        try {
            for (;; Thread.sleep(1)) {
                long now = System.nanoTime();
                for (int i = 0; i < due.length; i++) {
                    if (now < due[i])
                        continue;
                    due[i] = now + 1_000_000L * (2 + random.nextInt(40));
                    if (i < queues.length)
                        ((ArrayBlockingQueue<Long>)queues[i]).offer(1L);
                    else
                        peers[i - queues.length].getOutputStream().write(1);
                }
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
