// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.enterprise.context.ApplicationScoped;
import jakarta.interceptor.AroundInvoke;
import jakarta.interceptor.Interceptor;
import jakarta.interceptor.InterceptorBinding;
import jakarta.interceptor.InvocationContext;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Request;
import jakarta.ws.rs.core.UriInfo;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Resources of which Quarkus generates proxies and subclasses. */
public class QuarkusResources {
    @Retention(RetentionPolicy.RUNTIME)
    @InterceptorBinding
    public @interface Watched {}

    @Watched
    @Interceptor
    public static class Watcher {
        @AroundInvoke
        Object watch(InvocationContext context) throws Exception {
            return context.proceed();
        }
    }

    @ApplicationScoped
    @Path("/scoped")
    public static class Scoped {
        @GET
        @Path("{id}")
        public String one(@Context UriInfo uri, @Context Request request) {
            return Resources.burn("Scoped.one", uri, request);
        }
    }

    @Path("/woven")
    public static class Woven {
        @Watched
        @GET
        @Path("{id}")
        public String one(@Context UriInfo uri, @Context Request request) {
            return Resources.burn("Woven.one", uri, request);
        }
    }

    @ApplicationScoped
    @Path("/both")
    public static class Both {
        @Watched
        @GET
        @Path("{id}")
        public String one(@Context UriInfo uri, @Context Request request) {
            return Resources.burn("Both.one", uri, request);
        }
    }
}
