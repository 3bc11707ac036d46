// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpServer;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.LongAdder;

/**
 * VirtualServer: the JDK's HTTP server with a virtual thread for each request, which waits for 5 ms. VirtualServer PORT CLIENTS: so
 * many clients that send one request after the other. Each line of input is answered with the number of requests so far.
 */
public class VirtualServer {
    static final LongAdder DONE = new LongAdder();
    static final byte[] BODY = new byte[200];

    static void serve() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
        server.setExecutor((Executor)Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null));
        server.createContext("/", exchange -> {
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            exchange.sendResponseHeaders(200, BODY.length);
            exchange.getResponseBody().write(BODY);
            exchange.close();
            DONE.increment();
        });
        server.start();
        System.out.println(server.getAddress().getPort());
    }

    static void ask(int port) {
        byte[] request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] body = new byte[BODY.length];
            socket.setTcpNoDelay(true);
            for (;;) {
                socket.getOutputStream().write(request);
                for (int ends = 0; ends < 4;) { // the empty line behind the head
                    int c = in.readUnsignedByte();
                    ends = c == (ends % 2 == 0 ? '\r' : '\n') ? ends + 1 : c == '\r' ? 1 : 0;
                }
                in.readFully(body);
                DONE.increment();
            }
        } catch (java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        if (args.length == 0)
            serve();
        else
            for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                Thread client = new Thread(() -> ask(Integer.parseInt(args[0])));
                client.setDaemon(true);
                client.start();
            }
        while (commands.readLine() != null)
            System.out.println(DONE.sum());
        System.exit(0);
    }
}
