// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.http.HttpServletRequest;
import org.aspectj.lang.ProceedingJoinPoint;
import org.aspectj.lang.annotation.Around;
import org.aspectj.lang.annotation.Aspect;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Import;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.service.annotation.GetExchange;
import org.springframework.web.service.annotation.HttpExchange;

/** Controllers of Spring MVC with mappings on interfaces, and behind an aspect: SpringService, with -Dserver.port. */
@EnableAutoConfiguration
@Import({ SpringService.ApiBean.class, SpringService.CrudBean.class, SpringService.ExchangeBean.class, SpringService.Prefixed.class, SpringService.Woven.class,
          SpringService.Sub.class, SpringService.Watcher.class })
public class SpringService {
    static String burn(String handler, HttpServletRequest request) {
        return Truth.burn(handler, request.getMethod(), request.getRequestURI());
    }

    @RequestMapping("/api")
    public interface Api {
        @GetMapping("/{id}")
        String one(@PathVariable("id") int id, HttpServletRequest request);
    }

    @RestController
    public static class ApiBean implements Api {
        @Override
        public String one(int id, HttpServletRequest request) {
            return burn("ApiBean.one", request);
        }
    }

    public interface Crud<T> {
        @PutMapping("/{id}")
        String put(@PathVariable("id") T id, HttpServletRequest request);
    }

    @RestController
    @RequestMapping("/crud")
    public static class CrudBean implements Crud<Integer> {
        @Override
        public String put(Integer id, HttpServletRequest request) {
            return burn("CrudBean.put", request);
        }
    }

    @HttpExchange("/exchange")
    public interface Exchange {
        @GetExchange("/{id}")
        String one(@PathVariable("id") int id, HttpServletRequest request);
    }

    @RestController
    public static class ExchangeBean implements Exchange {
        @Override
        public String one(int id, HttpServletRequest request) {
            return burn("ExchangeBean.one", request);
        }
    }

    public interface Parts {
        @HttpExchange(url = "/parts/{id}", method = "POST")
        String add(@PathVariable("id") int id, HttpServletRequest request);
    }

    @RestController
    @RequestMapping("/prefixed")
    public static class Prefixed implements Parts {
        @Override
        public String add(int id, HttpServletRequest request) {
            return burn("Prefixed.add", request);
        }
    }

    @RestController
    @RequestMapping("/woven")
    public static class Woven {
        @GetMapping("/{id}")
        public String one(@PathVariable("id") int id, HttpServletRequest request) {
            return burn("Woven.one", request);
        }
    }

    public abstract static class Base {
        @PostMapping("/{id}/parts")
        public abstract String add(@PathVariable("id") int id, HttpServletRequest request);

        @GetMapping("/kept/{id}")
        public String kept(@PathVariable("id") int id, HttpServletRequest request) {
            return burn("Base.kept", request);
        }
    }

    @RestController
    @RequestMapping("/sub")
    public static class Sub extends Base {
        @Override
        public String add(int id, HttpServletRequest request) {
            return burn("Sub.add", request);
        }
    }

    @Aspect
    public static class Watcher {
        @Around("within(shop.SpringService.Woven)")
        public Object around(ProceedingJoinPoint point) throws Throwable {
            return point.proceed();
        }
    }

    public static void main(String[] args) {
        SpringApplication.run(SpringService.class, args);
        System.out.println("listens");
    }
}
