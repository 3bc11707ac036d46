# SPDX-License-Identifier: Apache-2.0
"""Services for a person who tries the page: six with a fault, and one without. Prints their address, and runs until Ctrl-C. A person who
knows neither this file nor flamed names the fault of each, and counts steps and seconds. --services selects some."""
import contextlib
import os
import signal
import threading
import time

import common
from harness import bundle, jvm, paths
from harness.daemon import Daemon

SERVICES = "pricing,catalog,search,checkout,rules,sessions,mail"
HEAP = {"catalog": "24m", "sessions": "512m"}
SEARCH_CPUS = 0.2


class Trial:
    """Services and the flamed that samples them."""

    def __init__(self, stack: contextlib.ExitStack, version: int):
        self.stack, self.home = stack, paths.jdk(version)
        self.classes = jvm.Classes()
        self.classes.compile(os.path.join(common.HERE, "services/Shop.java"))

    def options(self, service: str, release: str = "2.4.0") -> list[str]:
        return [f"-Xmx{HEAP.get(service, '64m')}", "-XX:+UseSerialGC", f"-Dotel.service.name={service}",
                f"-Dotel.resource.attributes=service.version={release}"]

    def start(self, service: str, *more: str, release: str = "2.4.0") -> jvm.Jvm:
        return self.stack.enter_context(jvm.Jvm(self.home, *self.options(service, release), *more, "-cp", self.classes.folder,
                                                "com.acme.shop.Shop", service))

    def start_limited(self, service: str) -> bundle.Container:
        return self.stack.enter_context(bundle.Container(self.home, self.classes.folder, *self.options(service), "-cp", "/classes",
                                                         "com.acme.shop.Shop", service, cpus=SEARCH_CPUS))

    def deploy(self, old: jvm.Jvm) -> None:
        """Replaces release OLD of the rules by 2.4.1. Runs on the first thread: JVMs end with the thread that started them."""
        old.process.terminate()
        old.process.wait()
        self.start("rules", "-Drules.tenant=true", release="2.4.1")
        print("rules 2.4.1 is deployed", flush=True)


def main() -> None:
    args = common.arguments(__doc__, jdk=17, services=SERVICES, deploy_after=600.0, port=7979)
    with contextlib.ExitStack() as stack:
        trial = Trial(stack, args.jdk)
        stack.enter_context(Daemon("--listen", f"127.0.0.1:{args.port}"))
        services = args.services.split(",")
        started = {service: trial.start(service) for service in services if service != "search"}
        if "search" in services:
            trial.start_limited("search")
        print(f"http://127.0.0.1:{args.port}/", flush=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            if "rules" in services:
                time.sleep(args.deploy_after)
                trial.deploy(started["rules"])
            threading.Event().wait()


if __name__ == "__main__":
    main()
