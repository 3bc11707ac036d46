# SPDX-License-Identifier: Apache-2.0
"""What reading routes costs: 50 classes with 20 handlers each, of four kinds: their own mappings, mappings of an interface, of gRPC, and none."""
import os
import subprocess
import tempfile

import common
from harness import jvm, paths

CLASSES, METHODS = 50, 20
MAPPING = "org.springframework.web.bind.annotation"
RUNTIME = "@java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)"
TYPES = {f"{MAPPING}.{name}": f"package {MAPPING}; {RUNTIME} public @interface {name} {{ String[] value() default {{}}; }}" for name in ("RequestMapping", "GetMapping")}
TYPES["io.grpc.stub.StreamObserver"] = "package io.grpc.stub; public interface StreamObserver {}"
MAIN = """public class Shop {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < COUNT; i++)
            for (String kind : new String[] {"Own", "Shared", "Called", "Plain"})
                Class.forName("shop." + kind + i).getDeclaredConstructor().newInstance();
        System.out.println("started");
        Thread.sleep(1000000);
    }
}
""".replace("COUNT", str(CLASSES))


def methods(text: str) -> str:
    return " ".join(text.replace("#", str(i)) for i in range(METHODS))


def source(i: int) -> str:
    path, get = f'@{MAPPING}.RequestMapping("/orders{i}")', f'@{MAPPING}.GetMapping("/x/#/{{id}}")'
    names = methods(f'static String n# = "shop.v1.Orders{i}/M#";')
    return f"""
{path} class Own{i} {{ {methods(get + " public void m#() { }")} }}
{path} interface Api{i} {{ {methods(get + " void m#();")} }}
class Shared{i} implements Api{i} {{ {methods("public void m#() { }")} }}
class Orders{i}Grpc {{
    {names}
    static void bind(Object service) {{ }}
    static abstract class Orders{i}ImplBase {{ Orders{i}ImplBase() {{ Orders{i}Grpc.bind(this); }} }}
}}
class Called{i} extends Orders{i}Grpc.Orders{i}ImplBase {{ {methods("public void m#(Object a, io.grpc.stub.StreamObserver b) { }")} }}
class Plain{i} extends Base implements Runnable {{ public void run() {{ }} {methods("public void m#() { }")} }}
"""


def main() -> None:
    options = common.arguments(__doc__, jdk=17)
    classes = jvm.Classes()
    with tempfile.TemporaryDirectory() as folder:
        sources = {**TYPES, "shop.Shop": "package shop; class Base { public void base() { } }" + "".join(map(source, range(CLASSES))) + MAIN}
        for name, text in sources.items():
            path = f"{folder}/{name.replace('.', '/')}.java"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        classes.compile(*(f"{folder}/{name.replace('.', '/')}.java" for name in sources))
        with jvm.Jvm(paths.jdk(options.jdk), "-Xmx64m", "-cp", classes.folder, "shop.Shop") as java:
            subprocess.run([paths.program("tests/bench/route_cost"), str(java.pid), "Own", "Shared", "Called", "Plain"], check=True)


if __name__ == "__main__":
    main()
