// SPDX-License-Identifier: Apache-2.0

import com.datastax.driver.core.Cluster;
import com.datastax.driver.core.PreparedStatement;
import com.datastax.driver.core.Session;
import java.nio.ByteBuffer;

/** CassandraLoad PORT THREADS: writes and reads rows until it is killed. */
public final class CassandraLoad {
    private CassandraLoad() {}

    public static void main(String[] args) {
        Cluster cluster = Cluster.builder().addContactPoint("127.0.0.1").withPort(Integer.parseInt(args[0])).withoutJMXReporting().build();
        Session session = cluster.connect();
        session.execute("CREATE KEYSPACE load WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
        session.execute("CREATE TABLE load.rows (k int, c int, name text, v blob, PRIMARY KEY (k, c))");
        PreparedStatement write = session.prepare("INSERT INTO load.rows (k, c, name, v) VALUES (?, ?, ?, ?)");
        PreparedStatement read = session.prepare("SELECT c, name, v FROM load.rows WHERE k = ? LIMIT 20");
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            int seed = i;
            new Thread(() -> {
                for (int n = seed; ; n++) {
                    session.execute(write.bind(n * 31 % 1000, n % 50, "row " + n, ByteBuffer.allocate(200)));
                    session.execute(read.bind(n * 17 % 1000)).all();
                }
            }).start();
        }
        System.out.println("started");
        System.out.flush();
    }
}
