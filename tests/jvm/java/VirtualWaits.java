// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.locks.ReentrantLock;

/** VirtualWaits PER_SITE: so many virtual threads at each of five sites, which wait for some ms again and again. For each line of
 * input it prints of each site how long its threads have waited so far, by their own clocks, and the mean time at which these were
 * read: the main thread may be without a processor in between. A wait that goes on counts, too: a thread that finds no processor
 * may lose its lock to the other one for seconds. */
public class VirtualWaits {
    static final String[] SITES = {"siteSleep", "siteLock", "siteMonitor", "siteQueue", "siteSocket"};
    static final List<List<Clock>> CLOCKS = new ArrayList<>(); // by site
    static volatile long sink;

    /** How long a thread has waited. */
    static final class Clock {
        /** Both are read at once; begun 0: it does not wait. */
        static final class State {
            final long waited, begun;

            State(long waited, long begun) {
                this.waited = waited;
                this.begun = begun;
            }
        }

        private volatile State state = new State(0, 0);

        void begin() {
            state = new State(state.waited, System.nanoTime());
        }

        void end() {
            State s = state;
            state = new State(s.waited + System.nanoTime() - s.begun, 0);
        }

        /** Returns {waited, when that was so}. */
        long[] read() {
            for (;;) {
                State s = state;
                long now = System.nanoTime();
                if (state == s)
                    return new long[] { s.waited + (s.begun == 0 ? 0 : now - s.begun), now };
            }
        }
    }

    static void siteSleep(Random random) throws Exception {
        Thread.sleep(1 + random.nextInt(30));
    }

    static void siteLock(ReentrantLock lock) {
        lock.lock();
    }

    /** Once it has the monitor, it is in hold(). */
    static void siteMonitor(Object monitor, Clock clock, Random random) throws Exception {
        synchronized (monitor) {
            clock.end();
            hold(random);
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
        /** Waits, and ends the wait of the clock. */
        void run(Clock clock, Random random) throws Exception;
    }

    static void loop(int site, int number, Wait wait) throws Exception {
        Clock clock = new Clock();
        CLOCKS.get(site).add(clock);
        ManyThreads.start(true, SITES[site] + "-" + number, () -> {
            Random random = new Random(site * 1000L + number);
            for (long x = number;; sink = x) {
                x = work(x);
                clock.begin();
                wait.run(clock, random);
            }
        });
    }

    static void over(Clock clock, ManyThreads.Site site) throws Exception {
        site.run();
        clock.end();
    }

    static void startFed(int number, ArrayBlockingQueue<Long> queue, InputStream in) throws Exception {
        loop(0, number, (c, r) -> over(c, () -> siteSleep(r)));
        loop(3, number, (c, r) -> over(c, () -> siteQueue(queue)));
        loop(4, number, (c, r) -> over(c, () -> siteSocket(in)));
    }

    static void startHolders(int number, ReentrantLock lock, Object monitor) throws Exception {
        loop(1, number, (c, r) -> {
            over(c, () -> siteLock(lock));
            try {
                hold(r);
            } finally {
                lock.unlock();
            }
        });
        if (ManyThreads.unpins())
            loop(2, number, (c, r) -> siteMonitor(monitor, c, r));
    }

    /** Returns how long threads have waited, and when: the mean time of their readings. */
    static String read(List<Clock> clocks) {
        long waited = 0;
        double when = 0;
        for (Clock clock : clocks) {
            long[] now = clock.read();
            waited += now[0];
            when += (double)now[1] / clocks.size();
        }
        return waited + " " + (long)when;
    }

    public static void main(String[] args) throws Exception {
        int perSite = Integer.parseInt(args[0]);
        ServerSocket server = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
        ArrayBlockingQueue<?>[] queues = new ArrayBlockingQueue<?>[perSite];
        Socket[] peers = new Socket[perSite];
        ReentrantLock lock = null;
        Object monitor = null;

        for (int i = 0; i < SITES.length; i++)
            CLOCKS.add(new ArrayList<>());
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
                line.append(SITES[i]).append(' ').append(read(CLOCKS.get(i))).append(' ');
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
