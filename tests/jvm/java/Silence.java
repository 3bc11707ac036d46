// SPDX-License-Identifier: Apache-2.0
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** All threads of a pool wait for a server that says nothing, and reads nothing. Arguments: its address, "read" or "write", and a timeout in ms. */
public class Silence {
    static void read(Socket s) throws Exception {
        s.getInputStream().read();
    }

    static void write(Socket s) throws Exception {
        OutputStream out = s.getOutputStream();

        for (byte[] bytes = new byte[1 << 20];;)
            out.write(bytes);
    }

    public static void main(String[] args) throws Exception {
        InetAddress address = InetAddress.getByName(args[0]);
        boolean writes = args[1].equals("write");
        ServerSocket server = new ServerSocket(0, 1000, address);
        AtomicInteger next = new AtomicInteger();
        ExecutorService all = Executors.newFixedThreadPool(4, r -> new Thread(r, "http-" + next.incrementAndGet()));
        CountDownLatch connected = new CountDownLatch(4);

        for (int i = 0; i < 4; i++)
            all.submit(() -> {
                Socket s = new Socket(address, server.getLocalPort());

                s.setSoTimeout(Integer.parseInt(args[2]));
                connected.countDown();
                if (writes)
                    write(s);
                read(s);
                return s;
            });
        connected.await();
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }
}
