# SPDX-License-Identifier: Apache-2.0
"""A file of 200 MB of symbols, met in the middle of captures: it is read beside them, and they have its names."""
import os
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from harness import native, paths, proc
from harness.daemon import Daemon

FUNCTIONS, EACH = 1200000, 40
NAME = "a_function_as_long_as_one_of_cplusplus_with_its_templates_and_arguments_resolved_as_it_is_mangled_%08d"
CODE = 4096 # where it begins, in the file and as an address
# push rbp; mov rbp, rsp; mov ecx, 1 << 24; 1: dec ecx; jnz 1b; pop rbp; ret
SPIN = bytes.fromhex("55 4889e5 b900000001 ffc9 75fc 5d c3")


def write_large(path: str, count: int) -> int:
    """An ELF file of COUNT functions of EACH bytes, of which the first one spins. Its size."""
    text = SPIN.ljust(EACH, b"\x90") + b"\xc3" * EACH * (count - 1)
    length = len(NAME % 0) + 1
    names = b"\0" + b"".join((NAME % i).encode() + b"\0" for i in range(count))
    pack = struct.Struct("<IBBHQQ").pack
    symbols = pack(0, 0, 0, 0, 0, 0) + b"".join(pack(1 + i * length, 0x12, 0, 1, CODE + i * EACH, EACH) for i in range(count))
    section_names = b"\0.text\0.symtab\0.strtab\0.names\0"
    at, sections, bodies = CODE, [(0,) * 10], []
    for name, kind, flags, body, link, info, entry in ((1, 1, 6, text, 0, 0, 0), (7, 2, 0, symbols, 3, 1, 24),
                                                       (15, 3, 0, names, 0, 0, 0), (23, 3, 0, section_names, 0, 0, 0)):
        sections.append((name, kind, flags, at if flags else 0, at, len(body), link, info, 8, entry))
        bodies.append(body)
        at += len(body)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 120, 0, 64, 56, 1, 64, len(sections), 4)
    segment = struct.pack("<IIQQQQQQ", 1, 5, CODE, CODE, CODE, len(text), len(text), 4096)
    with open(path, "wb") as f:
        f.write((header + segment + b"".join(struct.pack("<IIQQQQIIQQ", *s) for s in sections)).ljust(CODE, b"\0"))
        f.writelines(bodies)
    return at


class Watch(threading.Thread):
    """CPU seconds of the thread that reads symbols, and how often the engine went to wait in that time: it drains each time."""

    def __init__(self, worker: int):
        super().__init__()
        self.worker, self.over = worker, threading.Event()
        self.engine, self.reader = (proc.thread_of(worker, name) for name in ("flamed-engine", "flamed-symbols"))
        self.reading_s, self.waits = 0.0, 0

    def now(self) -> tuple[float, int]:
        task = f"/proc/{self.worker}/task/"
        status = proc.read(f"{task}{self.engine}/status")
        return (int(proc.read(f"{task}{self.reader}/schedstat").split()[0]) / 1e9,
                int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0]))

    def run(self) -> None:
        before = self.now()
        while not self.over.wait(0.05):
            now = self.now()
            if now[0] > before[0]:
                self.reading_s += now[0] - before[0]
                self.waits += now[1] - before[1]
            before = now


class LargeSymbols(unittest.TestCase):
    def test_captures_go_on_while_it_is_read(self):
        paths.need("cc")
        with tempfile.TemporaryDirectory(prefix="flamed-large.") as folder, Daemon() as daemon:
            path = os.path.join(folder, "large")
            self.assertGreater(write_large(path, FUNCTIONS), 200e6)
            worker = next(pid for pid in daemon.pids() if "flamed-engine" in proc.threads(pid).values())
            watch = Watch(worker)
            watch.start()
            process = subprocess.Popen([native.build("in_file"), path], stdout=subprocess.PIPE, text=True)
            try:
                self.assertEqual(process.stdout.readline().strip(), "started")
                before = time.monotonic()
                profile = daemon.profile(pid=process.pid, seconds=8, hz=999)
                took = time.monotonic() - before
            finally:
                process.kill()
                process.communicate()
                watch.over.set()
                watch.join()
            text = f"read in {watch.reading_s:.2f} s of CPU, {watch.waits} waits of the engine meanwhile; {profile.describe()}"
            self.assertGreater(watch.reading_s, 0.2, text)
            # It wakes every 10 ms; of what it gets of a busy machine the reader gets no more.
            self.assertGreater(watch.waits, 20 * watch.reading_s, text)
            self.assertEqual(profile.quality["lost"], 0, text)
            self.assertGreaterEqual(profile.share(profile.stacks, lambda s: NAME % 0 in s.names), 0.95, text)
            self.assertLess(took, 60, text)
            print(text.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
