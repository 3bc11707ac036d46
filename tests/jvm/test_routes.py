# SPDX-License-Identifier: Apache-2.0
"""Operations without a tracer: routes out of annotations. The frameworks are a few made-up classes with the names of the real ones, so that the
cases are many. test_endpoints has the real ones."""
import collections
import os
import re
import tempfile

from harness import jvm, paths, proc
from harness.daemon import Daemon

SPRING, JAX, MICRONAUT = "org.springframework.web.bind.annotation", "ws.rs", "io.micronaut.http.annotation"
EXCHANGE = "org.springframework.web.service.annotation"
RUNTIME = "@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)"
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE")
PATHS = "String[] value() default {}; String[] path() default {};"
# Name of an annotation -> its elements.
TYPES = {f"{SPRING}.RequestMapping": PATHS + " RequestMethod[] method() default {}; String[] produces() default {};",
         **{f"{SPRING}.{verb}Mapping": PATHS for verb in ("Get", "Post")}, f"{SPRING}.RestController": 'String value() default "";',
         **{f"{EXCHANGE}.{verb}Exchange": 'String value() default ""; String url() default ""; String method() default "";' for verb in ("Http", "Get")},
         **{f"{root}.{JAX}.{verb}": "" for root in ("javax", "jakarta") for verb in ("GET", "DELETE")},
         **{f"{root}.{JAX}.Path": "String value();" for root in ("javax", "jakarta")},
         f"{MICRONAUT}.Controller": 'String value() default "/";', f"{MICRONAUT}.Get": 'String value() default "/"; String uri() default "/";',
         "io.grpc.stub.annotations.RpcMethod": 'String fullMethodName();', "shop.Mark": 'shop.Deep[] value() default {}; Class<?> of() default Object.class; long number() default 1; char letter() default 1;',
         "shop.Deep": 'String[] value() default {};', "shop.V1": ""}
# Handler -> its route; "": it has none for sure. Each handler is a method of a class of the package shop.
CASES = {
    "Orders.one": "GET /shop/one/{id}", "Orders.slow": "GET /shop/slow", "Orders.either": "/shop/either", "Orders.any": "/shop/any", "Orders.root": "POST /shop",
    "Orders.twice": "", "Orders.set": "", "Orders.plain": "", "Bare.one": "GET /bare/{id:[0-9]+}", "Composed.one": "", "Base.inherited": "", "Parent.both": "",
    "Cart.one": "GET /cart/", "Behind.one": "GET /api/x", "Below.one": "GET /parent/y", "Marked.one": "GET /marked", "Old.one": "GET /orders/{id}", "Old.all": "DELETE /orders",
    "Old.sub": "", "Part.one": "", "New.one": "GET /new/x", "Micro.one": "GET /micro/{id}", "Micro.all": "GET /micro", "Loose.one": "",
    # mappings of base types
    "Sharing.one": "GET /shared/x/{id}", "Leaf.one": "GET /leaf/root", "Lowest.one": "GET /lowest/x", "Generic.one": "POST /generic/one", "Loaded.one": "GET /int",
    "Between.one": "", "Oddly.one": "", "Owner.one": "GET /owner", "Exchanged.one": "GET /exchange/x", "Exchanged.put": "PUT /exchange/any", "Mixed.one": "GET /mixed/x",
    "Turned.one": "", "Resource.one": "GET /resource/{id}", "Cruder.all": "DELETE /crude", "Partly.one": "", "Ops.one": "GET /ops/{id}", "Down.one": "",
    # generated classes
    "Scoped.one": "GET /scoped/x", "Woven.one": "GET /woven", "Caught.one": "GET /caught", "Named_Subclass.one": "GET /named",
    # gRPC
    "Shipping.place": "shop.v1.Orders/Place", "Shipping.cancel": "shop.v1.Orders/Cancel", "Shipping.note": "", "Shipping.twice": "", "Sorting.sort": "Mail/Sort",
    "Misnamed.sort": "",
}
SHOP = f"""
package shop;
import {SPRING}.*;
import io.grpc.stub.StreamObserver;
import io.grpc.stub.annotations.RpcMethod;
@RestController @RequestMapping(value = "/shop", produces = {{"a", "b"}}) class Orders {{
    @GetMapping("/one/{{id}}") void one(int a, String b) {{ Shop.burn(); }}
    @RequestMapping(path = "slow", method = RequestMethod.GET) void slow() {{ Shop.burn(); }}
    @RequestMapping(path = "/either", method = {{RequestMethod.GET, RequestMethod.POST}}) void either() {{ Shop.burn(); }}
    @RequestMapping("/any") void any() {{ Shop.burn(); }}
    @PostMapping void root() {{ Shop.burn(); }}
    @GetMapping({{"/a", "/b"}}) void twice() {{ Shop.burn(); }}
    @GetMapping("/${{set}}") void set() {{ Shop.burn(); }}
    void plain() {{ Shop.burn(); }}
}}
@RestController class Bare {{ @GetMapping("bare/{{id:[0-9]+}}") void one() {{ Shop.burn(); }} }}
@V1 class Composed {{ @GetMapping("/x") void one() {{ Shop.burn(); }} }} // V1 may be a mapping
abstract class Base {{ @GetMapping("/x") void inherited() {{ Shop.burn(); }} }}
@RequestMapping("/sub") class Sub extends Base {{ }}
@RequestMapping("/parent") class Parent {{ @GetMapping("/x") void both() {{ Shop.burn(); }} }}
@RequestMapping("/child") class Child extends Parent {{ }}
@RequestMapping("/cart") class Cart {{ @GetMapping("/") void one() {{ Shop.burn(); }} }}
class Cart$$SpringCGLIB$$0 extends Cart {{ void one() {{ super.one(); }} }}
@RequestMapping("/api") interface Api {{ }}
class Behind implements Api {{ @GetMapping("/x") void one() {{ Shop.burn(); }} }}
class Below extends Parent {{ @GetMapping("/y") void one() {{ Shop.burn(); }} }}
@RequestMapping("/marked") @Mark({{@Deep({{"x", "y"}}), @Deep}}) class Marked {{
    @Mark(of = Shop.class, number = 1L << 40, letter = 'x') @GetMapping(path = "", value = "") @Deprecated void one() {{ Shop.burn(); }}
}}
@javax.{JAX}.Path("orders/") class Old {{
    @javax.{JAX}.GET @javax.{JAX}.Path("{{id}}") public void one() {{ Shop.burn(); }}
    @javax.{JAX}.DELETE public void all() {{ Shop.burn(); }}
    @javax.{JAX}.Path("parts") public void sub() {{ Shop.burn(); }}
}}
class Part {{ @javax.{JAX}.GET @javax.{JAX}.Path("x") public void one() {{ Shop.burn(); }} }}
@jakarta.{JAX}.Path("/new") class New {{ @jakarta.{JAX}.GET @jakarta.{JAX}.Path("/x") public void one() {{ Shop.burn(); }} }}
@{MICRONAUT}.Controller("/micro") class Micro {{
    @{MICRONAUT}.Get("/{{id}}") void one() {{ Shop.burn(); }}
    @{MICRONAUT}.Get void all() {{ Shop.burn(); }}
}}
@RequestMapping("/shared") interface Shared {{ @GetMapping("/x/{{id}}") void one(int a, String b); }}
@RestController class Sharing implements Shared {{ @Override @Deprecated public void one(int a, String b) {{ Shop.burn(); }} }}
abstract class Root {{ @GetMapping("/root") abstract void one(); }}
@RequestMapping("/leaf") class Leaf extends Root {{ void one() {{ Shop.burn(); }} }}
interface Upper {{ @GetMapping("/x") void one(); }}
interface Middle extends Upper, java.io.Serializable {{ }}
abstract class Lower implements Middle {{ }}
@RequestMapping("/lowest") class Lowest extends Lower implements Runnable {{ public void one() {{ Shop.burn(); }} public void run() {{ }} }}
interface Crud<T> {{ @PostMapping("/one") void one(T a, String b); }}
@RequestMapping("/generic") class Generic implements Crud<Integer> {{ public void one(Integer a, String b) {{ Shop.burn(); }} }}
interface Overloads {{ @GetMapping("/none") void one(); @GetMapping("/int") void one(int a, String b); @GetMapping("/long") void one(int a, long b); }}
class Loaded implements Overloads {{ public void one(int a, String b) {{ Shop.burn(); }} public void one() {{ }} public void one(int a, long b) {{ }} }}
interface Also {{ @GetMapping("/also") void one(); }}
class Between implements Upper, Also {{ public void one() {{ Shop.burn(); }} }}
@V1 interface Odd {{ @GetMapping("/x") void one(); }}
class Oddly implements Odd {{ public void one() {{ Shop.burn(); }} }}
@RequestMapping("/owner") class Owner implements Upper {{ @GetMapping public void one() {{ Shop.burn(); }} }}
@{EXCHANGE}.HttpExchange("/exchange") interface Exchange {{
    @{EXCHANGE}.GetExchange("/x") void one();
    @{EXCHANGE}.HttpExchange(url = "/any", method = "PUT") void put();
}}
@RestController class Exchanged implements Exchange {{ public void one() {{ Shop.burn(); }} public void put() {{ Shop.burn(); }} }}
@RequestMapping("/mixed") class Mixed implements Exchange {{ public void one() {{ Shop.burn(); }} public void put() {{ }} }}
@RestController class Turned implements Exchange {{ @GetMapping("/y") public void one() {{ Shop.burn(); }} public void put() {{ }} }} // a prefix since Spring 6.1
@jakarta.{JAX}.Path("/resource") interface ResourceApi {{ @jakarta.{JAX}.GET @jakarta.{JAX}.Path("{{id}}") void one(); }}
class Resource implements ResourceApi {{ public void one() {{ Shop.burn(); }} }}
abstract class Crude {{ @javax.{JAX}.DELETE public void all() {{ }} }}
@javax.{JAX}.Path("/crude") class Cruder extends Crude {{ public void all() {{ Shop.burn(); }} }}
@jakarta.{JAX}.Path("/partly") class Partly implements ResourceApi {{ @jakarta.{JAX}.Path("x") public void one() {{ Shop.burn(); }} }} // a locator
interface OpsApi {{ @{MICRONAUT}.Get("/{{id}}") void one(); }}
@{MICRONAUT}.Controller("/ops") class Ops implements OpsApi {{ public void one() {{ Shop.burn(); }} }}
@{MICRONAUT}.Controller("/up") class Up {{ }}
class Down extends Up {{ @{MICRONAUT}.Get("/x") void one() {{ Shop.burn(); }} }}
@jakarta.{JAX}.Path("/scoped") class Scoped {{ @jakarta.{JAX}.GET @jakarta.{JAX}.Path("x") public void one() {{ Shop.burn(); }} }}
class Scoped_ClientProxy extends Scoped {{ public void one() {{ super.one(); }} }}
@jakarta.{JAX}.Path("/woven") class Woven {{ @jakarta.{JAX}.GET public void one() {{ Shop.burn(); }} }}
class Woven_Subclass extends Woven {{ @Deprecated public void one() {{ super.one(); }} }}
@{MICRONAUT}.Controller("/caught") class Caught implements Runnable {{ @{MICRONAUT}.Get void one() {{ Shop.burn(); }} public void run() {{ }} }}
class $Caught$Definition$Intercepted extends Caught {{ void one() {{ super.one(); }} }}
@jakarta.{JAX}.Path("/name") class Named {{ @jakarta.{JAX}.GET public void one() {{ }} }}
@jakarta.{JAX}.Path("/named") class Named_Subclass extends Named {{ public void one() {{ Shop.burn(); }} }} // not generated
class OrdersGrpc {{
    static final String SERVICE = "shop.v1.Orders";
    @RpcMethod(fullMethodName = SERVICE + '/' + "Place") static void getPlaceMethod() {{ }}
    @RpcMethod(fullMethodName = SERVICE + '/' + "Cancel") static void getCancelMethod() {{ }}
    @RpcMethod(fullMethodName = SERVICE + '/' + "Twice") static void getTwiceMethod() {{ }}
    @RpcMethod(fullMethodName = "shop.v2.Orders/Twice") static void getOtherMethod() {{ }}
    @RpcMethod(fullMethodName = "shop.v1.Disorders/Note") static void getNoteMethod() {{ }}
    static void bind(Object service) {{ }}
    static class OrdersImplBase {{ OrdersImplBase() {{ OrdersGrpc.bind(this); }} void place(Object a, StreamObserver b) {{ }} }}
}}
abstract class Shipper extends OrdersGrpc.OrdersImplBase {{ void cancel(Object a, StreamObserver b) {{ }} }}
class Shipping extends Shipper {{
    void place(Object a, StreamObserver b) {{ Shop.burn(); }}
    void cancel(Object a, StreamObserver b) {{ Shop.burn(); }}
    void note(Object a, StreamObserver b) {{ Shop.burn(); }}
    void twice(Object a, StreamObserver b) {{ Shop.burn(); }} // it has two names
}}
class MailGrpc {{
    @RpcMethod(fullMethodName = "Mail/Sort") static void getSortMethod() {{ }}
    static class MailImplBase {{ MailImplBase() {{ getSortMethod(); }} }}
    static class PostImplBase {{ PostImplBase() {{ getSortMethod(); }} }}
}}
class Sorting extends MailGrpc.MailImplBase {{ void sort(Object a, StreamObserver b) {{ Shop.burn(); }} }}
class Misnamed extends MailGrpc.PostImplBase {{ void sort(Object a, StreamObserver b) {{ Shop.burn(); }} }}
class Loose {{ @{MICRONAUT}.Get("/x") void one() {{ Shop.burn(); }} }}
public class Shop {{
    static volatile long sink;
    static void burn() {{
        long end = System.nanoTime() + 4000000, x = 1;
        while (System.nanoTime() < end)
            for (int i = 0; i < 2000; i++) x = x * 6364136223846793005L + (x >>> 17);
        sink = x;
    }}
    static final java.util.Map<String, String> TYPES = new java.util.HashMap<>();
    static {{
        TYPES.put("Base", "Sub");
        TYPES.put("Cart", "Cart$$SpringCGLIB$$0");
        TYPES.put("Scoped", "Scoped_ClientProxy");
        TYPES.put("Woven", "Woven_Subclass");
        TYPES.put("Caught", "$Caught$Definition$Intercepted");
    }}
    static Object of(String name) throws Exception {{
        java.lang.reflect.Constructor<?> c = Class.forName("shop." + name).getDeclaredConstructor();
        c.setAccessible(true);
        return c.newInstance();
    }}
    public static void main(String[] handlers) throws Exception {{
        Object[] objects = new Object[handlers.length];
        java.lang.reflect.Method[] methods = new java.lang.reflect.Method[handlers.length];
        of("Child"); // loads it
        for (int i = 0; i < handlers.length; i++) {{
            String type = handlers[i].split("[.]")[0], name = handlers[i].split("[.]")[1];
            objects[i] = of(TYPES.getOrDefault(type, type));
            for (java.lang.reflect.Method m : Class.forName("shop." + type).getDeclaredMethods())
                if (m.getName().equals(name) && !m.isBridge() && (methods[i] == null || m.getParameterCount() == 2 && m.getParameterTypes()[1] == String.class)) methods[i] = m;
            methods[i].setAccessible(true);
        }}
        System.out.println("started");
        for (;;)
            for (int i = 0; i < handlers.length; i++)
                org.springframework.web.method.support.InvocableHandlerMethod.doInvoke(methods[i], objects[i]);
    }}
}}
"""
DISPATCHER = """package org.springframework.web.method.support;
public class InvocableHandlerMethod {
    public static void doInvoke(java.lang.reflect.Method m, Object o) throws Exception {
        m.invoke(o, m.getParameterCount() == 0 ? new Object[0] : new Object[] {1, m.getParameterTypes()[1] == String.class ? "" : null});
    }
}
"""
ARGUMENTS = "-Xmx64m", "-cp"
ROUNDS, ENOUGH = 30, 20 # samples of each handler


def compiled() -> jvm.Classes:
    classes = jvm.Classes()
    with tempfile.TemporaryDirectory() as folder:
        sources = {"shop.Shop": SHOP, "io.grpc.stub.StreamObserver": "package io.grpc.stub; public interface StreamObserver {}", "org.springframework.web.method.support.InvocableHandlerMethod": DISPATCHER,
                   f"{SPRING}.RequestMethod": f"package {SPRING}; public enum RequestMethod {{ {', '.join(METHODS)} }}"}
        for name, elements in TYPES.items():
            package, _, simple = name.rpartition(".")
            sources[name] = f"package {package}; {'' if simple == 'RpcMethod' else RUNTIME} public @interface {simple} {{ {elements} }}"
        for name, text in sources.items():
            path = f"{folder}/{name.replace('.', '/')}.java"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        classes.compile(*(f"{folder}/{name.replace('.', '/')}.java" for name in sources))
    return classes


class Checks:
    """For a TestCase with cls.daemon."""

    def counted(self, pid: int, what: object, **asked) -> dict[str, int]:
        """Returns the samples of each handler in a profile, all of which have its operation."""
        counts: dict[str, int] = collections.Counter()
        for line in self.daemon.get("/profile", pid=pid, by="operation", format="collapsed", **asked).text.splitlines():
            stack, _, count = line.rpartition(" ")
            found = re.search(r";shop\.(\w+\.\w+);(?=shop\.Shop\.burn)", stack)
            if found and found[1] in CASES and not ("from" in asked and stack.startswith("[request unreadable];")): # before it looked for a tracer
                self.assertEqual(stack.partition(";")[0], f"[{CASES[found[1]] or 'shop.' + found[1] + '()'}]", (what, stack))
                counts[found[1]] += int(count)
        return counts

    def judge(self, pid: int, what: object) -> None:
        """Each sample below a handler has the handler's operation."""
        counts: dict[str, int] = collections.Counter(dict.fromkeys(CASES, 0))
        for _ in range(ROUNDS):
            counts.update(self.counted(pid, what, seconds=3, hz=499))
            if min(counts.values()) >= ENOUGH:
                break
        print(what, sum(counts.values()), "samples, at least", min(counts.values()), "of a handler")
        self.assertGreaterEqual(min(counts.values()), ENOUGH, (what, counts))


class Routes(Checks, jvm.WithClasses):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.classes = compiled()
        cls.daemon = Daemon("--recorder-hz=99")
        cls.addClassCleanup(cls.daemon.stop)

    def check(self, release: int, *options: str) -> None:
        with jvm.Jvm(paths.jdk(release), *options, *ARGUMENTS, self.classes.folder, "shop.Shop", *CASES) as java:
            self.judge(java.pid, (release, *options))
            past = {"from": "-60s"}
            proc.wait_until(lambda: set(self.counted(java.pid, "past", **past)) == set(CASES), 60, "the recorder has all", interval=1)
            self.assertEqual(set(self.counted(java.pid, "one", operation="^GET /shop/one", **past)), {"Orders.one"})

    @jvm.further_case
    def test_17(self):
        self.check(17)

    def test_25(self):
        self.check(25, "-Xint") # frames of the interpreter


if __name__ == "__main__":
    import unittest # pylint: disable=import-outside-toplevel
    unittest.main()
