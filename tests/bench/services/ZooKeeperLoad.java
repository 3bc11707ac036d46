// SPDX-License-Identifier: Apache-2.0

import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/** ZooKeeperLoad HOST:PORT THREADS: writes, reads, lists and deletes nodes until it is killed. */
public final class ZooKeeperLoad {
    private ZooKeeperLoad() {}

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            String path = "/load" + i;
            CountDownLatch connected = new CountDownLatch(1);
            ZooKeeper client = new ZooKeeper(args[0], 30_000, event -> {
                if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                    connected.countDown();
                }
            });
            connected.await();
            new Thread(() -> work(client, path)).start();
        }
        System.out.println("started");
        System.out.flush();
    }

    private static void work(ZooKeeper client, String path) {
        try {
            for (int n = 0; ; n++) {
                String node = path + "-" + n;
                client.create(node, new byte[512], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
                for (int k = 0; k < 20; k++) {
                    client.getData(node, false, null);
                }
                client.setData(node, new byte[256], -1);
                client.getChildren("/", false);
                client.delete(node, -1);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
