// SPDX-License-Identifier: Apache-2.0

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.HeaderParam;
import jakarta.ws.rs.Path;
import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.glassfish.jersey.server.ResourceConfig;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.embedded.jetty.JettyServletWebServerFactory;
import org.springframework.boot.web.embedded.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.servlet.ServletRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.Async;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestMethod;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/**
 * Endpoints of several frameworks: EndpointService LOG, with -Dserver=tomcat, jetty or netty. Each stretch of a request leaves a line in LOG: the
 * request's trace, the method that burns or waits, and its begin and end in ns of CLOCK_MONOTONIC.
 */
@EnableAutoConfiguration // no scan: that of the unnamed package takes in every library
@Import({EndpointService.Servlets.class, EndpointService.Flux.class})
public class EndpointService {
    static volatile long sink;
    static PrintWriter log;

    static void burn(int thousands) {
        long x = thousands;

        for (int i = 0; i < thousands * 1000; i++)
            x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }

    static String measure(String method, String parent, Runnable work) {
        long begin = System.nanoTime();

        work.run();
        if (parent != null)
            log.println(parent.split("-")[1] + " " + method + " " + begin + " " + System.nanoTime());
        return method;
    }

    static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static String fast(String parent) {
        return measure("fast", parent, () -> burn(500));
    }

    static String slow(String parent) {
        return measure("slow", parent, () -> burn(5000));
    }

    static String pooled(String parent) {
        return measure("pooled", parent, () -> burn(2000));
    }

    static String pausing(String parent) {
        return measure("pausing", parent, () -> pause(30));
    }

    static String resource(String parent) {
        return measure("resource", parent, () -> burn(1000));
    }

    static String report(String parent) {
        return measure("report", parent, () -> burn(1000));
    }

    static String chained(String parent) {
        return measure("chained", parent, () -> burn(1000));
    }

    /** Long and mixed: runs, waits, runs. */
    static String mixed(String parent) {
        return measure("mixed", parent, () -> {
            burn(30000);
            pause(200);
            burn(30000);
        });
    }

    /** The part of a request that another thread does. */
    static String hopped(String parent) {
        return measure("hopped", parent, () -> {
            burn(20000);
            pause(100);
            burn(20000);
        });
    }

    /** Runs, waits for another thread, and runs. */
    static String hopping(String parent, ExecutorService pool) {
        return measure("hopping", parent, () -> {
            burn(20000);
            try {
                pool.submit(() -> hopped(parent)).get();
            } catch (ExecutionException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
            burn(20000);
        });
    }

    public static class Background {
        @Async
        public CompletableFuture<String> work(String parent) {
            return CompletableFuture.completedFuture(pooled(parent));
        }

        @Scheduled(fixedDelay = 20)
        public void tick() {
            burn(500);
        }
    }

    @RestController
    @RequestMapping("/shop")
    public static class Orders {
        final ExecutorService pool = Executors.newFixedThreadPool(2);
        @Autowired Background background;

        @GetMapping("/fast/{id}")
        String getFast(@RequestHeader(value = "traceparent", required = false) String parent) {
            return fast(parent);
        }

        @RequestMapping(path = "/slow/{id}", method = RequestMethod.GET)
        String getSlow(@RequestHeader(value = "traceparent", required = false) String parent) {
            return slow(parent);
        }

        @GetMapping("/pooled/{id}")
        String getPooled(@RequestHeader(value = "traceparent", required = false) String parent) throws Exception {
            return pool.submit(() -> pooled(parent)).get();
        }

        @GetMapping("/async/{id}")
        String getAsync(@RequestHeader(value = "traceparent", required = false) String parent) throws Exception {
            return background.work(parent).get();
        }

        @GetMapping("/pausing/{id}")
        String getPausing(@RequestHeader(value = "traceparent", required = false) String parent) {
            return pausing(parent);
        }

        @GetMapping("/hopping/{id}")
        String getHopping(@RequestHeader(value = "traceparent", required = false) String parent) {
            return hopping(parent, pool);
        }

        @GetMapping("/mixed/{id}")
        String getMixed(@RequestHeader(value = "traceparent", required = false) String parent) {
            return mixed(parent);
        }
    }

    @RestController
    @RequestMapping("/flux")
    public static class Chains {
        @GetMapping("/fast/{id}")
        Mono<String> getFast(@RequestHeader(value = "traceparent", required = false) String parent) {
            return Mono.just(fast(parent));
        }

        @GetMapping("/chained/{id}")
        Mono<String> getChained(@RequestHeader(value = "traceparent", required = false) String parent) {
            return Mono.just(1).map(x -> chained(parent));
        }

        @GetMapping("/pooled/{id}")
        Mono<String> getPooled(@RequestHeader(value = "traceparent", required = false) String parent) {
            return Mono.fromCallable(() -> pooled(parent)).subscribeOn(Schedulers.boundedElastic());
        }
    }

    @Path("/orders")
    public static class Resource {
        @GET
        @Path("{id}")
        public String one(@HeaderParam("traceparent") String parent) {
            return resource(parent);
        }
    }

    static class Report extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            response.getWriter().print(report(request.getHeader("traceparent")));
        }
    }

    @Configuration
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
    @EnableAsync
    @EnableScheduling
    public static class Servlets {
        @Bean
        Orders orders() {
            return new Orders();
        }

        @Bean
        Background background() {
            return new Background();
        }

        @Bean
        ResourceConfig jersey() {
            return new ResourceConfig(Resource.class).property("jersey.config.servlet.filter.forwardOn404", true);
        }

        @Bean
        ServletRegistrationBean<Report> servlet() {
            return new ServletRegistrationBean<>(new Report(), "/report");
        }

        @Bean
        @ConditionalOnProperty(name = "server", havingValue = "jetty")
        JettyServletWebServerFactory jetty() {
            return new JettyServletWebServerFactory();
        }
    }

    @Configuration
    @ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.REACTIVE)
    public static class Flux {
        @Bean
        Chains chains() {
            return new Chains();
        }

        @Bean
        NettyReactiveWebServerFactory netty() {
            return new NettyReactiveWebServerFactory();
        }
    }

    public static void main(String[] args) throws IOException {
        log = new PrintWriter(new FileWriter(args[0]), true);
        SpringApplication application = new SpringApplication(EndpointService.class);
        application.setWebApplicationType("netty".equals(System.getProperty("server")) ? WebApplicationType.REACTIVE : WebApplicationType.SERVLET);
        application.setDefaultProperties(Map.of("spring.jersey.type", "filter", "spring.main.banner-mode", "off"));
        application.run(args);
    }
}
