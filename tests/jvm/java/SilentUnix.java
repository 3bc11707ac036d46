// SPDX-License-Identifier: Apache-2.0
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** All threads of a pool wait for a server that says nothing, at the Unix socket of the first argument. */
public class SilentUnix {
    static void read(SocketChannel s) throws Exception {
        s.read(ByteBuffer.allocateDirect(1));
    }

    public static void main(String[] args) throws Exception {
        UnixDomainSocketAddress address = UnixDomainSocketAddress.of(args[0]);
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(address, 1000);
        AtomicInteger next = new AtomicInteger();
        ExecutorService all = Executors.newFixedThreadPool(4, r -> new Thread(r, "http-" + next.incrementAndGet()));

        for (int i = 0; i < 4; i++) {
            SocketChannel s = SocketChannel.open(address);

            all.submit(() -> {
                read(s);
                return server;
            });
        }
        System.out.println("started");
        Thread.sleep(Long.MAX_VALUE);
    }
}
