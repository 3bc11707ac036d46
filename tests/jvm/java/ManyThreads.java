// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait for good, at six sites: ManyThreads PER_SITE SLEEPERS EXECUTOR_SLEEPERS CHURN_MB_PER_SECOND. */
public class ManyThreads {
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Object MONITOR = new Guarded(), WAITED = new Waited();
    static final ArrayBlockingQueue<Long> QUEUE = new ArrayBlockingQueue<>(4);
    static final long LONG = 3_600_000;
    static final List<Socket> SOCKETS = new ArrayList<>(); // else a collection would close them
    static volatile Object sink;
    static volatile boolean stop;

    static void siteSleep() throws Exception {
        Thread.sleep(LONG);
    }

    static void siteLock() {
        LOCK.lock();
    }

    static void siteMonitor() throws Exception {
        synchronized (MONITOR) {
            MONITOR.notify();
        }
    }

    static class Guarded {}

    static class Waited {}

    static void siteWait() throws Exception {
        synchronized (WAITED) {
            WAITED.wait();
        }
    }

    static void siteQueue() throws Exception {
        QUEUE.take();
    }

    static void siteSocket(InputStream in) throws Exception {
        in.read();
    }

    static void deep(int depth) throws Exception {
        if (depth == 0)
            Thread.sleep(LONG);
        else
            deep(depth - 1);
    }

    static void spin() {
        long x = 1;
        while (!stop)
            x = x * 6364136223846793005L + 1442695040888963407L;
        sink = x;
    }

    interface Site {
        void run() throws Exception;
    }

    static Runnable quiet(Site site) {
        return () -> {
            try {
                site.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        };
    }

    /** The javac that compiles this does not know virtual threads. */
    static Object call(Class<?> type, String name, Object on, Class<?>[] types, Object... arguments) throws Exception {
        Method method = type.getMethod(name, types);
        return method.invoke(on, arguments);
    }

    static Object virtual(String name) throws Exception {
        Class<?> builder = Class.forName("java.lang.Thread$Builder");
        Object made = call(Thread.class, "ofVirtual", null, new Class<?>[0]);
        return call(builder, "name", made, new Class<?>[] {String.class}, name);
    }

    static void start(boolean virtual, String name, Site site) throws Exception {
        Class<?>[] runnable = {Runnable.class};
        if (virtual) {
            call(Class.forName("java.lang.Thread$Builder"), "start", virtual(name), runnable, quiet(site));
            return;
        }
        Thread thread = new Thread(quiet(site), name);
        thread.setDaemon(true);
        thread.start();
    }

    /** One virtual thread for each task. */
    static ExecutorService executor() throws Exception {
        Class<?> builder = Class.forName("java.lang.Thread$Builder");
        Object made = call(builder, "name", virtual(""), new Class<?>[] {String.class, long.class}, "task-", 0L);
        Object factory = call(builder, "factory", made, new Class<?>[0]);
        return (ExecutorService)call(Executors.class, "newThreadPerTaskExecutor", null, new Class<?>[] {ThreadFactory.class}, factory);
    }

    static boolean unpins() {
        return Integer.parseInt(System.getProperty("java.specification.version")) >= 24;
    }

    public static void main(String[] args) throws Exception {
        int perSite = Integer.parseInt(args[0]), sleepers = Integer.parseInt(args[1]), tasks = Integer.parseInt(args[2]);
        int churn = Integer.parseInt(args[3]);
        ServerSocket server = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());

        LOCK.lock();
        synchronized (MONITOR) {
            for (boolean virtual : new boolean[] {true, false}) {
                String kind = virtual ? "v" : "p";
                for (int i = 0; i < (virtual ? perSite : 2); i++) {
                    Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                    InputStream in = client.getInputStream();
                    SOCKETS.add(client);
                    SOCKETS.add(server.accept());
                    start(virtual, kind + "Sleep-" + i, ManyThreads::siteSleep);
                    start(virtual, kind + "Lock-" + i, ManyThreads::siteLock);
                    start(virtual, kind + "Queue-" + i, ManyThreads::siteQueue);
                    start(virtual, kind + "Socket-" + i, () -> siteSocket(in));
                    if (!virtual || unpins()) {
                        start(virtual, kind + "Monitor-" + i, ManyThreads::siteMonitor);
                        start(virtual, kind + "Wait-" + i, ManyThreads::siteWait);
                    }
                }
            }
            for (int i = 0; i < sleepers; i++)
                start(true, "sleeper-" + i, () -> deep(8));
            ExecutorService executor = executor();
            for (int i = 0; i < tasks; i++)
                executor.submit(quiet(ManyThreads::siteSleep));
            start(false, "spinner", ManyThreads::spin);
            Thread.sleep(500);
            System.out.println("ready");
            System.out.flush();
            Object[] ring = new Object[256];
            for (int n = 0;; Thread.sleep(20)) {
                for (int i = 0; i < churn * 1024 / 50 / 8; i++)
                    ring[n++ & 255] = new byte[8192];
                sink = ring;
            }
        }
    }
}
