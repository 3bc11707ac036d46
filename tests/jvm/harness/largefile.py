# SPDX-License-Identifier: Apache-2.0
"""ELF files with millions of symbols, which take a second to read and use hundreds of MB in memory, and programs that run their code."""
import os
import struct
import subprocess

from . import native, proc

EACH = 40 # bytes per function
CODE = 4096 # where the code begins, in the file and as an address
# push rbp; mov rbp, rsp; mov ecx, 1 << 24; 1: dec ecx; jnz 1b; pop rbp; ret
SPIN = bytes.fromhex("55 4889e5 b900000001 ffc9 75fc 5d c3")


def write(path: str, count: int, name: str) -> int:
    """Writes an ELF file of COUNT functions with EACH bytes. The first one spins. NAME contains "%08d", and gives their names. Returns its
    size."""
    text = SPIN.ljust(EACH, b"\x90") + b"\xc3" * EACH * (count - 1)
    length = len(name % 0) + 1
    names = b"\0" + b"".join((name % i).encode() + b"\0" for i in range(count))
    pack = struct.Struct("<IBBHQQ").pack
    symbols = pack(0, 0, 0, 0, 0, 0) + b"".join(pack(1 + i * length, 0x12, 0, 1, CODE + i * EACH, EACH) for i in range(count))
    section_names = b"\0.text\0.symtab\0.strtab\0.names\0"
    at, sections, bodies = CODE, [(0,) * 10], []
    for offset, kind, flags, body, link, info, entry in ((1, 1, 6, text, 0, 0, 0), (7, 2, 0, symbols, 3, 1, 24),
                                                         (15, 3, 0, names, 0, 0, 0), (23, 3, 0, section_names, 0, 0, 0)):
        sections.append((offset, kind, flags, at if flags else 0, at, len(body), link, info, 8, entry))
        bodies.append(body)
        at += len(body)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 120, 0, 64, 56, 1, 64, len(sections), 4)
    segment = struct.pack("<IIQQQQQQ", 1, 5, CODE, CODE, CODE, len(text), len(text), 4096)
    with open(path, "wb") as f:
        f.write((header + segment + b"".join(struct.pack("<IIQQQQIIQQ", *s) for s in sections)).ljust(CODE, b"\0"))
        f.writelines(bodies)
    return at


def write_like(path: str, model: str, number: int) -> None:
    """Writes a file like MODEL with another content, so that flamed reads each file separately."""
    with open(model, "rb") as f, open(path, "wb") as out:
        while os.copy_file_range(f.fileno(), out.fileno(), 1 << 30):
            pass
    with open(path, "r+b") as f:
        f.seek(120 + 3 * 64)
        names = struct.unpack("<IIQQQQIIQQ", f.read(64))[4]
        f.seek(names + 1)
        length = f.read(8192).index(b"\0")
        f.seek(names + 1 + length) # the first one's number stays: the second one gets another name
        f.write(b"\0%07d" % number)


class Runs:
    """A program that runs the code of FILES, as USER, with a pause of REST_MS after each time."""

    def __init__(self, *files: str, user: int = 0, rest_ms: int = 0):
        wrap = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        self.process = subprocess.Popen([*proc.ENDS_WITH_US, *wrap, native.build("in_file"), *files], stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "REST_MS": str(rest_ms)})
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "started\n"

    def __enter__(self) -> "Runs":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.communicate()
