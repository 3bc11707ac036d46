# SPDX-License-Identifier: Apache-2.0
"""The cost of one capture: time from the end of sampling to the last byte of html, CPU and memory of flamed's processes, lost samples. The
load is Mixed.java: fourteen kinds of thread."""
import datetime
import re
import time

import common
from harness import jvm, paths
from harness.daemon import Daemon


def main() -> None:
    options = common.arguments(__doc__, jdk=17, seconds=10.0, hz=99, runs=3, limit_ms=100.0)
    aims = common.Aims(options.check)
    classes = common.compile_bench("Mixed")
    life = str(int(options.runs * (options.seconds + 5) + 60))
    delays = []
    with jvm.Jvm(paths.jdk(options.jdk), *options.java_option, "-Xmx512m", "-cp", classes.folder, "Mixed",
                 life, start="") as target, Daemon() as daemon:
        time.sleep(3)
        for run in range(options.runs):
            before = daemon.cost()
            connection = daemon.connection(options.seconds + 30)
            connection.request("GET", f"/profile?pid={target.pid}&seconds={options.seconds}&hz={options.hz}&format=html")
            response = connection.getresponse()
            body = response.read()
            now = time.time()
            connection.close()
            assert response.status == 200, (response.status, body[:500])
            end = re.search(rb'"end":"([^"]+?)(\d{3})Z"', body)
            ended = datetime.datetime.strptime(end[1].decode(), "%Y-%m-%dT%H:%M:%S.%f").replace(
                tzinfo=datetime.timezone.utc).timestamp()
            delays.append(1000 * (now - ended))
            cost = ", ".join(f"{name.split('[')[0]} CPU {now['cpu_s'] - before.get(name, now)['cpu_s']:.2f} s "
                             f"peak {now['peak_kib'] / 1024:.0f} MiB" for name, now in daemon.cost().items())
            print(f"run {run + 1}: {delays[-1]:.1f} ms from the end of sampling to the last of {len(body)} bytes; "
                  f"{response.headers['X-Flamed-Samples']} samples, {response.headers['X-Flamed-Lost']} lost, "
                  f"{response.headers['X-Flamed-Unknown']} unknown, {response.headers['X-Flamed-Truncated']} truncated; {cost}")
            aims.aim("no sample lost", response.headers["X-Flamed-Lost"] == "0")
    print(f"median {common.median(delays):.1f} ms")
    aims.aim(f"under {options.limit_ms:.0f} ms", common.median(delays) < options.limit_ms)
    aims.exit()


if __name__ == "__main__":
    main()
