# SPDX-License-Identifier: Apache-2.0
"""Traces of probes in a process and in the kernel: breakpoints, copied pages of code, links of BPF."""
import ctypes
import os

from . import proc

BPF_CALL = proc.call({"x86_64": 321, "aarch64": 280}) # bpf(2)
LINK_FD_BY_ID, OBJECT_INFO, LINK_NEXT_ID = 30, 15, 31
UPROBE_MULTI = 12 # a type of link
PAGE = 4096
TRACEFS_PROBES = "/sys/kernel/tracing/uprobe_events"


def code_mappings(pid: int, name: str = "") -> list[tuple[int, int, int, str]]:
    """Returns (start, end, offset in the file, path) of the code of files with NAME in their path. A file may have been deleted."""
    found = []
    for line in proc.read(f"/proc/{pid}/maps").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/") and name in fields[5]:
            start, end = (int(word, 16) for word in fields[0].split("-"))
            found.append((start, end, int(fields[2], 16), fields[5]))
    return found


def breakpoints(pid: int, name: str = "") -> int:
    """Counts the bytes of that code that differ from its file. A page that had a probe may remain a copy."""
    changed = 0
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for start, end, offset, _ in code_mappings(pid, name):
            memory.seek(start)
            code = memory.read(end - start)
            with open(f"/proc/{pid}/map_files/{start:x}-{end:x}", "rb") as file:
                file.seek(offset)
                there = file.read(end - start).ljust(end - start, b"\0")
            for at in range(0, len(code), PAGE):
                if code[at:at + PAGE] != there[at:at + PAGE]:
                    changed += sum(a != b for a, b in zip(code[at:at + PAGE], there[at:at + PAGE]))
    return changed


def copies(pid: int, name: str = "") -> dict[str, int]:
    """Returns path -> KiB of its code that the process has a copy of (Private_Dirty)."""
    found: dict[str, int] = {}
    path = ""
    for line in proc.read(f"/proc/{pid}/smaps").splitlines():
        fields = line.split(maxsplit=5)
        if "-" in fields[0]:
            path = fields[5] if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/") and name in fields[5] else ""
        elif path and fields[0] == "Private_Dirty:" and fields[1] != "0":
            found[path] = found.get(path, 0) + int(fields[1])
    return found


def more_copies(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """Since 6.16, Linux mostly keeps the copy of a page when a probe is removed. It frees the copy when the next probe there is removed."""
    return {path: kib - before.get(path, 0) for path, kib in after.items() if kib != before.get(path, 0)}


def _bpf(command: int, attributes: ctypes.Array) -> int:
    return proc.LIBC.syscall(BPF_CALL, command, ctypes.byref(attributes), ctypes.sizeof(attributes))


def links(*pids: int) -> int:
    """Returns how many links of probes (uprobe_multi) the kernel has for these processes. Probes of older kernels are perf events, which
    cannot be counted."""
    count, ident = 0, 0
    while True:
        after = (ctypes.c_uint32 * 4)(ident)
        if _bpf(LINK_NEXT_ID, after) != 0:
            return count
        ident = after[1]
        fd = _bpf(LINK_FD_BY_ID, (ctypes.c_uint32 * 4)(ident))
        if fd < 0:
            continue # the link is gone
        info = (ctypes.c_uint32 * 32)() # type, id, program, -, three addresses of 8 bytes, their size, count, flags, pid
        asked = (ctypes.c_uint64 * 2)(fd | ctypes.sizeof(info) << 32, ctypes.addressof(info))
        if _bpf(OBJECT_INFO, asked) == 0 and info[0] == UPROBE_MULTI and info[13] in pids:
            count += 1
        os.close(fd)


def left(pid: int) -> str:
    """Describes all traces of probes in a process. "": nothing but copied pages."""
    bytes_left, links_left = breakpoints(pid), links(pid)
    return f"{bytes_left} bytes of breakpoints, {links_left} links" if bytes_left or links_left else ""


def await_none(*pids: int, seconds: float = 20) -> None:
    """Waits until no probe is left. The kernel removes probes after the answer."""
    proc.wait_until(lambda: not any(left(pid) for pid in pids), seconds, f"no probe is left: {[left(pid) for pid in pids]}")


def traced() -> str:
    """Returns the probes that tracefs lists. None may be flamed's."""
    return proc.read(TRACEFS_PROBES) if os.path.exists(TRACEFS_PROBES) else ""


def kernel_log(since: int = 0) -> list[str]:
    """Returns lines of the kernel's log from number SINCE on that mention probes, or a fault of the kernel."""
    found = []
    fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            head, _, text = os.read(fd, 8192).decode(errors="replace").partition(";")
            if int(head.split(",")[1]) >= since and any(word in text.lower() for word in ("uprobe", "warning:", "bug:", "oops", "hung")):
                found.append(text.splitlines()[0])
    except (BlockingIOError, BrokenPipeError):
        return found
    finally:
        os.close(fd)
