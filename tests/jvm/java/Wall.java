// SPDX-License-Identifier: Apache-2.0
// Threads that run, wait for a processor, sleep, wait for the network, and a pool that is idle most of the time.
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

public final class Wall {
    static volatile double sink;

    static void spins() {
        double x = 1;
        for (int i = 0; i < 100_000; i++)
            x += Math.sqrt(x + i);
        sink = x;
    }

    static void sleeps() throws Exception {
        Thread.sleep(25);
    }

    static void reads(InputStream in) throws Exception {
        if (in.read() < 0)
            throw new IllegalStateException();
    }

    static void works(ExecutorService pool, OutputStream out) throws Exception {
        Thread.sleep(100);
        out.write(1);
        for (int i = 0; i < 2; i++)
            pool.execute(Wall::spins);
    }

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        Socket there = new Socket(server.getInetAddress(), server.getLocalPort()), here = server.accept();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        InputStream in = there.getInputStream();
        OutputStream out = here.getOutputStream();

        for (int i = 0; i <= Runtime.getRuntime().availableProcessors(); i++)
            Ways.start("spins-" + i, Wall::spins);
        Ways.start("sleeps-0", Wall::sleeps);
        Ways.start("reads-0", () -> reads(in));
        Ways.start("works-0", () -> works(pool, out));
        Ways.start("accepts-0", server::accept);
        System.out.println("started");
        System.in.read();
    }
}
