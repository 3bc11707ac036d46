// SPDX-License-Identifier: Apache-2.0
package shop;

import io.micronaut.aop.Around;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.runtime.Micronaut;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** MicronautService, with -Dmicronaut.server.port. */
public class MicronautService {
    static String burn(String handler, HttpRequest<?> request) {
        return Truth.burn(handler, request.getMethodName(), request.getPath());
    }

    @Retention(RetentionPolicy.RUNTIME)
    @Around
    public @interface Watched {}

    @Singleton
    @InterceptorBean(Watched.class)
    public static class Watcher implements MethodInterceptor<Object, Object> {
        @Override
        public Object intercept(MethodInvocationContext<Object, Object> context) {
            return context.proceed();
        }
    }

    @Controller("/direct")
    @ExecuteOn(TaskExecutors.BLOCKING)
    public static class Direct {
        @Get("/{id}")
        String one(int id, HttpRequest<?> request) {
            return burn("Direct.one", request);
        }

        @Post
        String add(HttpRequest<?> request) {
            return burn("Direct.add", request);
        }
    }

    public interface Api {
        @Get("/{id}")
        String one(int id, HttpRequest<?> request);
    }

    @Controller("/api")
    public static class ApiBean implements Api {
        @Override
        public String one(int id, HttpRequest<?> request) {
            return burn("ApiBean.one", request);
        }
    }

    @Controller("/woven")
    public static class Woven {
        @Watched
        @Get("/{id}")
        public String one(int id, HttpRequest<?> request) {
            return burn("Woven.one", request);
        }
    }

    public static void main(String[] args) {
        Micronaut.run(MicronautService.class, args);
        System.out.println("listens");
    }
}
