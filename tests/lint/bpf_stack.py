#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the deepest chain of calls in compiled BPF objects as the kernel's verifier does, and fails above a bound.

The verifier refuses a program whose chain of calls takes more than 512 bytes of stack or more than 8 frames. It rounds the
stack of each function up: to 16 bytes since Linux 6.8 where code is compiled at load time, to 32 before (check_max_stack_depth
in kernel/bpf/verifier.c). A function's stack reaches to the lowest offset from r10 that any of its instructions names.

    bpf_stack.py SOURCE BUILD [--most BYTES] [--frames N]     BYTES: at 32-byte rounding

Programs at uprobes must have a tail call, so that their functions have no private stacks: probe_stack.bpf.h.

Each *.bpf.c below SOURCE/daemon must have its object at the same place below BUILD. A program whose object is elsewhere fails,
so that no program is left out.
"""
import argparse
import struct
import sys
from collections import defaultdict
from pathlib import Path

CALL, LOAD_IMM64, MOVE, ADD_IMM = 0x85, 0x18, 0xBF, 0x07
PSEUDO_CALL, PSEUDO_FUNC = 1, 4
FRAME_POINTER = 10
TAIL_CALL = 12 # BPF_FUNC_tail_call


class Object:
    """The parts of an ELF file that are needed here."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"bpf_stack: {path} is no 64-bit little-endian ELF file")
        shoff, = struct.unpack_from("<Q", self.data, 40)
        size, count = struct.unpack_from("<HH", self.data, 58)
        # name, type, flags, addr, offset, size, link, info, align, entsize
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + i * size) for i in range(count)]
        self.symbols = []  # (name, info, section, value, size)
        for s in self.sections:
            if s[1] == 2:  # SHT_SYMTAB
                names = self.sections[s[6]][4]
                for at in range(s[4], s[4] + s[5], 24):
                    name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self.data, at)
                    end = self.data.index(b"\0", names + name)
                    self.symbols.append((self.data[names + name:end].decode(), info & 15, section, value, length))

    def functions(self):
        """Returns {(section, offset): (name, size)} of every function."""
        return {(s[2], s[3]): (s[0], s[4]) for s in self.symbols if s[1] == 2}

    def section_name(self, section):
        names = self.sections[struct.unpack_from("<H", self.data, 62)[0]][4]
        at = names + self.sections[section][0]
        return self.data[at:self.data.index(b"\0", at)].decode()

    def relocations(self, section):
        """Returns {offset: symbol} of a section."""
        found = {}
        for s in self.sections:
            if s[1] == 9 and s[7] == section:  # SHT_REL
                for at in range(s[4], s[4] + s[5], 16):
                    offset, info = struct.unpack_from("<QQ", self.data, at)
                    found[offset] = self.symbols[info >> 32]
        return found

    def code(self, section, start, size):
        """Returns (offset, opcode, dst, src, off, imm) of each instruction."""
        base = self.sections[section][4]
        for offset in range(start, start + size, 8):
            opcode, registers, off, imm = struct.unpack_from("<BBhi", self.data, base + offset)
            yield offset, opcode, registers & 15, registers >> 4, off, imm


def called(obj, section, insn, relocation):
    """Returns the target of a call, or of a load of a function's address: (section, offset), or None."""
    offset, opcode, _, src, _, imm = insn
    if opcode == CALL and src == PSEUDO_CALL:
        if relocation is None:
            return section, offset + 8 * (imm + 1)
        if relocation[2] == 0:
            return None  # a function of the kernel
        # A static function is named by its section and the distance from its start.
        return relocation[2], relocation[3] + (8 * (imm + 1) if relocation[1] == 3 else 0)
    if opcode == LOAD_IMM64 and relocation is not None and obj.sections[relocation[2]][2] & 4:  # SHF_EXECINSTR
        return relocation[2], relocation[3] + (imm if relocation[1] == 3 else 0)
    return None


def facts(obj):
    """Returns {function: (bytes of its own stack, the functions that it calls)}."""
    functions = obj.functions()
    stack, calls = defaultdict(int), defaultdict(set)
    for (section, start), (name, size) in functions.items():
        relocations = obj.relocations(section)
        copies = set()  # registers that hold r10
        for insn in obj.code(section, start, size):
            offset, opcode, dst, src, off, imm = insn
            kind = opcode & 7
            if kind == 1 and src == FRAME_POINTER:  # load
                stack[name] = max(stack[name], -off)
            elif kind in (2, 3) and dst == FRAME_POINTER:  # store
                stack[name] = max(stack[name], -off)
            elif opcode == MOVE and src == FRAME_POINTER:
                copies.add(dst)
                continue
            elif opcode == ADD_IMM and dst in copies:
                stack[name] = max(stack[name], -imm)
            if kind in (0, 1, 4, 7):  # it is written
                copies.discard(dst)
            target = called(obj, section, insn, relocations.get(offset))
            if target is not None:
                calls[name].add(functions[target][0])
    return {name: (stack[name], calls[name]) for name, _ in functions.values()}


def deepest(of, name, rounding, above=()):
    """Returns the largest sum of rounded stacks from @name down: (bytes, [(function, bytes)])."""
    if name in above:
        raise SystemExit(f"bpf_stack: {name} calls itself")
    own = max(of[name][0], 1)
    own = (own + rounding - 1) // rounding * rounding
    below = [deepest(of, callee, rounding, (*above, name)) for callee in of[name][1]]
    total, chain = max(below, key=lambda b: b[0], default=(0, []))
    return own + total, [(name, own), *chain]


def frames(of, name):
    return 1 + max((frames(of, callee) for callee in of[name][1]), default=0)


def objects(source, build):
    """Returns the compiled object of each BPF program of the sources."""
    found = []
    for path in sorted(Path(source, "daemon").rglob("*.bpf.c")):
        made = Path(build, path.relative_to(source)).with_suffix(".o")
        if not made.exists():
            raise SystemExit(f"bpf_stack: {path} has no object {made}")
        found.append(made)
    if not found:
        raise SystemExit(f"bpf_stack: no *.bpf.c below {source}/daemon")
    return found


# Functions that the kernel runs later, each at the begin of a stack of its own.
LATER = {"take_late"}


def too_much(path, most, most_frames):
    """Prints the chains of calls of one object. Returns whether one of them is above a bound."""
    of = {name: (own, calls - LATER) for name, (own, calls) in facts(Object(path)).items()}
    called_ones = set().union(*(calls for _, calls in of.values()))
    roots = sorted(set(of) - called_ones)
    if not roots:
        raise SystemExit(f"bpf_stack: {path} has no program")
    failed = False
    for root in roots:
        depth = frames(of, root)
        for rounding in (32, 16):
            total, chain = deepest(of, root, rounding)
            print(f"{path.name}: {root}: {total} bytes of 512 at {rounding}-byte rounding, {depth} frames of 8: "
                  + ", ".join(f"{name} {size}" for name, size in chain))
            failed |= rounding == 32 and total > most
        failed |= depth > most_frames
    return failed


def private(path):
    """Prints and returns the programs of one object whose functions would share a stack with those that preempt them."""
    obj = Object(path)
    found = [name for (section, start), (name, size) in obj.functions().items() if obj.section_name(section).startswith("uprobe") and not any(
        opcode == CALL and src == 0 and imm == TAIL_CALL for _, opcode, _, src, _, imm in obj.code(section, start, size))]
    for name in found:
        print(f"{path.name}: {name} is at uprobes, and does not call use_thread_stack()")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--most", type=int, default=448)
    parser.add_argument("--frames", type=int, default=8)
    args = parser.parse_args()
    made = objects(args.source, args.build)
    if any([private(path) for path in made]):
        return 1
    failed = [path.name for path in made if too_much(path, args.most, args.frames)]
    if failed:
        print(f"bpf_stack: {', '.join(failed)}: at most {args.most} bytes at 32-byte rounding and {args.frames} frames are wanted: "
              "kernels before 6.8 refuse more than 512. Move locals into the scratch memory of the walk, or inline a function of the chain.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
