// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.ws.rs.core.Application;
import java.util.Set;
import org.jboss.resteasy.plugins.server.undertow.UndertowJaxrsServer;

/** ResteasyService PORT. */
public class ResteasyService {
    public static class All extends Application {
        @Override
        public Set<Class<?>> getClasses() {
            return Set.of(Resources.Direct.class, Resources.ApiBean.class, Resources.Sub.class, Resources.Other.class, Resources.CrudBean.class,
                          Resources.Locator.class);
        }
    }

    public static void main(String[] args) {
        UndertowJaxrsServer server = new UndertowJaxrsServer();

        server.setHostname("127.0.0.1").setPort(Integer.parseInt(args[0])).start();
        server.deploy(new All(), "/");
        System.out.println("listens");
    }
}
