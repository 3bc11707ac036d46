// SPDX-License-Identifier: Apache-2.0

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** A web service with a pool of two connections, which is too small: each request keeps one for 100 ms. */
@EnableAutoConfiguration
@RestController
public class StarvedService {
    /** Of requests for the ledger, one at a time goes on, and waits for a connection then. */
    private static final ReentrantLock LEDGER = new ReentrantLock();
    private static final HikariDataSource POOL = pool();

    @GetMapping("/")
    public String order() throws SQLException, InterruptedException {
        return query();
    }

    @GetMapping("/ledger")
    public String ledger() throws SQLException, InterruptedException {
        LEDGER.lock();
        try {
            return query();
        } finally {
            LEDGER.unlock();
        }
    }

    private static String query() throws SQLException, InterruptedException {
        try (Connection connection = POOL.getConnection()) {
            return execute(connection);
        }
    }

    private static String execute(Connection connection) throws SQLException, InterruptedException {
        Thread.sleep(100);
        return "open: " + !connection.isClosed();
    }

    private static HikariDataSource pool() {
        HikariConfig config = new HikariConfig();
        InvocationHandler valid = (self, method, arguments) -> method.getName().equals("isValid") ? true : none(method.getReturnType());
        config.setDataSource(proxy(DataSource.class, (self, method, arguments) ->
                method.getReturnType() == Connection.class ? proxy(Connection.class, valid) : none(method.getReturnType())));
        config.setMaximumPoolSize(2);
        config.setConnectionTimeout(60_000);
        return new HikariDataSource(config);
    }

    private static Object none(Class<?> type) {
        return type == boolean.class ? (Object) false : type == int.class ? (Object) 0 : null;
    }

    private static <T> T proxy(Class<T> of, InvocationHandler handler) {
        return of.cast(Proxy.newProxyInstance(StarvedService.class.getClassLoader(), new Class<?>[] {of}, handler));
    }

    public static void main(String[] args) {
        SpringApplication.run(StarvedService.class, args);
    }
}
