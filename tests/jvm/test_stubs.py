# SPDX-License-Identifier: Apache-2.0
"""Every stub by its own name, from memory only. JDK 17 and 25 here; test_stubs_jdks.py has 8, 11, 21 and 26 to 28.

There are three references. The VM's own lists of stubs and adapters, which the test reads entry by entry by their symbols in libjvm. If
libjvm has no symbols, the entries of stubs in its exported tables. And an agent."""
import os
import re
import struct
import subprocess

from harness import jvm, paths, proc
from harness.daemon import Daemon
from harness.profile import count, nameless_stub

SECONDS = float(os.environ.get("FLAMED_STUBS_SECONDS", "6"))
OPTIONS = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,Stubs$Interpreted::work", "-Xmx128m"]
SHARE_MAX = 0.0005
# Stubs that the load runs, by their names in any release.
EXPECTED = {"call_stub": r"call_stub", "copy": r".*(arraycopy|copy_|_fill|jlong_|jint_|memcpy).*", "digest": r"(sha|md5).*_?implCompress.*",
            "cipher": r"(aes|cipherBlockChaining|counterMode|electronicCodeBook|galoisCounterMode|ghash).*", "CRC32": r"updateBytesCRC32.*",
            "vtable": r"(vtable|itable) stub"}
# Stubs that compiled code calls on rare paths. flamed recognises them by these names, one for each form in a release (unit_leaf).
RARE = {"throw_range_check_failed": (".* Runtime1 stub", "C1 Runtime .*_blob", r".*_blob \(C1 runtime\)"),
        "new_instance": ("_.*_Java", "C2 Runtime .*", r".*_blob \(C2 runtime\)"), "Uncommon": (".*TrapBlob",)}
ADAPTERS = "I2C/C2I adapters"
LINE = re.compile(r"^([0-9a-f]+) ([0-9a-f]+) (\S.*)$")


def plain(name: str) -> str:
    """Returns the name in releases before 26."""
    match = re.fullmatch(r"Stub Generator (.+)_stub|(.+)_stub \(stub gen\)", name)
    return match[1] or match[2] if match else name


class Memory:
    """Memory of another process, read without flamed's code."""

    def __init__(self, pid: int):
        self.file = open(f"/proc/{pid}/mem", "rb", buffering=0)

    def words(self, address: int, n: int) -> tuple[int, ...]:
        self.file.seek(address)
        return struct.unpack(f"<{n}Q", self.file.read(8 * n))

    def text(self, address: int) -> str:
        self.file.seek(address)
        return self.file.read(200).split(b"\0")[0].decode()

    def close(self) -> None:
        self.file.close()


def symbols(pid: int, *options: str, twin: str = "") -> dict[str, int]:
    """Returns name -> address, of libjvm, from the file TWIN, which is the same with symbols."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        mapped = [line.split(maxsplit=5) for line in f if line.rstrip().endswith("/libjvm.so")]
    base, path = int(mapped[0][0].split("-")[0], 16), f"/proc/{pid}/root{mapped[0][5].strip()}"
    text = subprocess.run(["nm", *options, twin or path], capture_output=True, text=True).stdout
    return {match[2].split("@")[0]: base + int(match[1], 16) for match in re.finditer(r"^([0-9a-f]+) \w (\S+)$", text, re.M)}


def vm_statics(pid: int) -> dict[int, str]:
    """Returns address -> name, of the stubs in VMStructs: "_jint_arraycopy" of StubRoutines."""
    at, memory, found = symbols(pid, "-D"), Memory(pid), {}

    def variable(name: str) -> int:
        return memory.words(at[name], 1)[0]
    row, stride = variable("gHotSpotVMStructs"), variable("gHotSpotVMStructEntryArrayStride")
    columns = [variable(f"gHotSpotVMStructEntry{what}Offset") for what in ("TypeName", "FieldName", "Address")]
    while True:
        kind, field, address = (memory.words(row + column, 1)[0] for column in columns)
        if not kind:
            break
        if memory.text(kind) == "StubRoutines":
            found[memory.words(address, 1)[0]] = memory.text(field).removeprefix("_")
        row += stride
    memory.close()
    return found


def vm_list(pid: int, version: int, twin: str = "") -> dict[tuple[int, int], str] | None:
    """Returns (start, end) -> name of StubCodeDesc::_list, found by its symbol; None if libjvm lacks that symbol."""
    head = symbols(pid, twin=twin).get("_ZN12StubCodeDesc5_listE")
    if not head:
        return None
    memory, stubs = Memory(pid), {}
    at, = memory.words(head, 1)
    while at:
        words = memory.words(at, 6)
        begin, end = words[4:6] if version == 8 else words[3:5]
        if end > begin:
            stubs[begin, end] = plain(memory.text(words[2]))
        at = words[0]
    memory.close()
    return stubs


def vm_type_bytes(pid: int, wanted: str) -> int:
    """Returns the size of a type, by the VM's tables."""
    at, memory = symbols(pid, "-D"), Memory(pid)

    def variable(name: str) -> int:
        return memory.words(at[name], 1)[0]
    row, stride = variable("gHotSpotVMTypes"), variable("gHotSpotVMTypeEntryArrayStride")
    name, size = variable("gHotSpotVMTypeEntryTypeNameOffset"), variable("gHotSpotVMTypeEntrySizeOffset")
    while memory.text(memory.words(row + name, 1)[0]) != wanted:
        row += stride
    found = memory.words(row + size, 1)[0]
    memory.close()
    return found


def vm_adapters(pid: int, version: int, twin: str = "") -> dict[int, int] | None:
    """Returns begin of an adapter -> where calls from compiled code enter it, by the VM's table of adapters; None if libjvm lacks its
    symbol. It is a hash table of 293 chains, and up to 17 a BasicHashtable."""
    head = symbols(pid, twin=twin).get("_ZN21AdapterHandlerLibrary9_adaptersE" if version <= 17 else "_ZL22_adapter_handler_table")
    if not head:
        return None
    memory, found = Memory(pid), {}
    blob_bytes, end_bytes = vm_type_bytes(pid, "BufferBlob"), vm_type_bytes(pid, "AdapterBlob") if version >= 26 else 0
    table, = memory.words(head, 1)
    buckets = memory.words(table + 8, 1)[0] if version <= 17 else table
    for at in memory.words(buckets, 293):
        while at:
            if version <= 17: # hash, next, fingerprint, i2c, c2i, c2i unverified
                words = memory.words(at, 6)
                at, entries = words[1] & ~1, words[3:]
            else: # hash, key, value, next; and of the value: fingerprint, i2c, c2i, c2i unverified; from 26 on fingerprint, blob
                words = memory.words(at, 4)
                at, entries = words[3], memory.words(words[2] + 8, 3)
            if version >= 26: # of the blob: the address of its code, and after its kind the entries from compiled code
                if entries[0]:
                    start = entries[0] + (memory.words(entries[0] + 32, 1)[0] >> 32)
                    words = memory.words(entries[0] + blob_bytes, (end_bytes - blob_bytes) // 8)
                    offsets = struct.unpack(f"<{2 * len(words)}i", struct.pack(f"<{len(words)}Q", *words))
                    found[start] = start + min(offset for offset in offsets if offset > 0)
            elif entries[0]:
                found[entries[0]] = entries[2]
    memory.close()
    return found


class Base(jvm.WithClasses):
    sources = ("Stubs.java",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)

    def perf_map(self, pid: int, **source) -> dict[int, tuple[int, str]]:
        """Returns start -> (end, name)."""
        answer = self.daemon.get(f"/api/v1/jvms/{pid}/perf-map", **source)
        self.assertEqual(answer.status, 200, answer)
        found = {}
        for line in answer.text.splitlines():
            match = LINE.match(line)
            self.assertTrue(match, line)
            start = int(match[1], 16)
            found[start] = start + int(match[2], 16), match[3]
        return found

    def check_list(self, pid: int, version: int, twin: str = "") -> None:
        """Each entry of the VM's list has its line in the map, with its name, and there are no other such lines."""
        truth, told = vm_list(pid, version, twin), self.perf_map(pid, symbols="memory")
        if truth is None:
            statics = {start: name for start, name in vm_statics(pid).items() if start in told}
            self.assertGreater(len(statics), 5)
            self.assertEqual({start: told[start][1] for start in statics}, statics)
            print(f"JDK {version}: libjvm is stripped; {len(statics)} stubs have the names of its tables")
            return
        self.assertGreater(len(truth), 60)
        wrong = {f"{start:x}-{end:x}": (name, told.get(start)) for (start, end), name in truth.items() if told.get(start) != (end, name)}
        self.assertEqual(wrong, {})
        print(f"JDK {version}: {len(truth)} stubs of the VM's own list have its names")

    def check_adapters(self, pid: int, version: int, twin: str = "") -> None:
        """Each adapter counts as two, for the two directions. The second begins at the place in the VM's table."""
        truth, told = vm_adapters(pid, version, twin), self.perf_map(pid, symbols="memory")
        first = {start: end for start, (end, name) in told.items() if name == "I2C adapter"}
        second = {start for start, (_, name) in told.items() if name == "C2I adapter"}
        self.assertGreater(len(first), 100)
        self.assertEqual(set(first.values()), second)
        self.assertNotIn(ADAPTERS, {name for _, name in told.values()})
        if truth is None:
            print(f"JDK {version}: {len(first)} adapters, each with both names; libjvm is stripped")
            return
        wrong = {f"{start:x}": (f"{entry:x}", first.get(start)) for start, entry in truth.items() if first.get(start) != entry}
        self.assertEqual(wrong, {})
        self.assertGreater(len(truth), 100)
        print(f"JDK {version}: {len(truth)} adapters of the VM's own table are told apart where it says")

    def check_rare_paths(self, pid: int) -> None:
        names = {name for _, name in self.perf_map(pid, symbols="memory").values()}
        for stub, forms in RARE.items():
            known = {form.replace(".*", stub) for form in forms}
            self.assertEqual(len({name for name in names if any(re.fullmatch(form, name) for form in known)}), 1, f"{stub}: {known}")

    def check_agent(self, pid: int) -> None:
        """Each stub that an agent names has a name from memory, too."""
        agent, told = self.perf_map(pid, symbols="agent"), self.perf_map(pid, symbols="memory")
        stubs = {start: name for start, (_, name) in agent.items() if "." not in name}
        self.assertGreater(len(stubs), 150)
        wrong = {f"{start:x}": (name, told.get(start)) for start, name in stubs.items()
                 if told.get(start, ("", ""))[1] != (name if name != ADAPTERS else "I2C adapter")}
        self.assertEqual(wrong, {})
        for kind in ("vtable stub", "itable stub"):
            self.assertIn(kind, stubs.values())
        print(f"{len(stubs)} stubs have the names that an agent is told")

    def check_samples(self, pid: int, version: int) -> None:
        profile = self.daemon.profile(pid=pid, seconds=SECONDS, hz=999, symbols="memory", timeout=SECONDS + 30)
        frames = {frame.name for stack in profile.stacks for frame in stack.frames if frame.kind == "stub"}
        nameless = [s for s in profile.stacks if any(nameless_stub(f) for f in s.frames)]
        ending = [s for s in profile.stacks if s.frames and s.frames[-1].kind == "stub"]
        print(f"JDK {version}: {profile.samples} samples, {count(ending)} end in a stub, {count(nameless)} have one without a name; "
              f"{len(frames)} names of stubs")
        self.assertGreater(profile.samples, 100 * SECONDS, "the machine is too busy for this test")
        self.assertLessEqual(count(nameless), SHARE_MAX * profile.samples, profile.describe(nameless))
        for what, name in EXPECTED.items():
            if what == "digest" and version == 8:
                continue # it has no name
            self.assertTrue(any(re.fullmatch(name, frame) for frame in frames), f"{what}: {sorted(frames)}")
        roots = profile.share([s for s in profile.stacks if any(f.kind in ("c1", "c2", "interpreted") for f in s.frames)],
                              lambda s: "call_stub" in s.names)
        self.assertGreater(roots, 0.95)

    def check_all(self, pid: int, version: int, agent: bool, twin: str = "") -> None:
        proc.wait_until(lambda: proc.cpu_seconds(pid) > 6, 60, "all parts have run, and are compiled", interval=0.2)
        self.check_list(pid, version, twin)
        self.check_adapters(pid, version, twin)
        self.check_rare_paths(pid)
        self.check_samples(pid, version)
        stubs = self.daemon.get(f"/api/v1/jvms/{pid}").json()["stubs"]
        self.assertGreater(stubs["named"], 60)
        self.assertEqual(stubs["dropped"], 0)
        if agent:
            self.check_agent(pid)


class Stubs(Base):
    def start(self, version: int) -> jvm.Jvm:
        j = jvm.Jvm(paths.jdk(version), *OPTIONS, "-cp", self.classes.folder, "Stubs")
        self.addCleanup(j.stop)
        return j

    @jvm.further_case
    def test_17(self):
        self.check_all(self.start(17).pid, 17, agent=True)

    def test_25(self):
        self.check_all(self.start(25).pid, 25, agent=True)


class Returns(jvm.WithClasses):
    """The interpreter calls compiled methods that leave registers as they were at the call, or change them."""
    sources = ("Returns.java",)

    def test_25(self):
        daemon = Daemon("--recorder-hz=0")
        self.addCleanup(daemon.stop)
        with jvm.Jvm(paths.jdk(25), "-Xmx64m", "-XX:+UnlockDiagnosticVMOptions", "-XX:-UseMontgomeryMultiplyIntrinsic",
                     "-XX:-UseMontgomerySquareIntrinsic", "-XX:CompileCommand=quiet",
                     "-XX:CompileCommand=exclude,java.math.BigInteger::montReduce", "-cp", self.classes.folder, "Returns") as target:
            proc.wait_until(lambda: proc.cpu_seconds(target.pid) > 2.5, 60, "all else is compiled", interval=0.1)
            profile = daemon.profile(pid=target.pid, seconds=2, hz=3999, timeout=40)
        reduce = [s for s in profile.stacks if "java.math.BigInteger.montReduce" in s.names]
        nameless = [s for s in reduce if any(f.name == "[unknown]" and not f.module for f in s.frames)]
        print(f"{count(reduce)} samples below the interpreted method, {count(nameless)} have a frame without a name")
        self.assertGreater(count(reduce), 500, "the machine is too busy for this test")
        self.assertLessEqual(count(nameless), 0.002 * count(reduce), profile.describe(nameless))
