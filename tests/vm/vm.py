# SPDX-License-Identifier: Apache-2.0
"""Runs COMMAND as root in a virtual machine with a kernel of Debian's and the root file system of this machine. Returns the command's exit
status, or 77 if that is not possible here.

The machine is QEMU without KVM. Its root is read-only, shared by virtiofs, below an overlay in the guest's memory: the guest may write
anywhere, and nothing of that stays. Files to keep go to /out. In whatever way this program ends, kill -9 included, QEMU and its helpers end
too and no folder stays. They live in a pid and a mount namespace of their own, and their files in a file system that is mounted
only there."""
import argparse
import contextlib
import lzma
import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))

import common # pylint: disable=wrong-import-position
from harness import jvm, paths, proc # pylint: disable=wrong-import-position

import kernel # pylint: disable=wrong-import-position

HERE = os.path.dirname(os.path.abspath(__file__))
WORK = os.path.join(paths.CACHE, "vm") # where the files of a running machine are mounted, for that machine alone
VIRTIOFSD = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"] # in the packages qemu-system-common and virtiofsd
# The last two: flamed asks the kernel for the owner of a connection, and tests for the number of a block device. No modprobe finds them
# in the guest.
MODULES = ["virtio_pci", "virtio_console", "virtiofs", "overlay", "tcp_diag", "loop"]
GUEST = "/out/guest.sh"
# Without cmpxchg16b: QEMU 7.2 emulates it in a way that newer kernels sometimes crash at their start.
PROCESSOR = {"amd64": "max,cx16=off", "arm64": "neoverse-n1"}
QEMU = {"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}
# Options for the machine and its second serial line, and words of the kernel's command line.
MACHINE = {"amd64": (["-M", "q35", "-serial", "stdio"], "console=ttyS0 tsc=reliable no_timer_check"),
           "arm64": (["-M", "virt,gic-version=3", "-device", "virtio-serial-pci", "-chardev", "stdio,id=second", "-device",
                      "virtconsole,chardev=second"], "console=ttyAMA0 VM_OUT=hvc0")}
PATIENCE = 6 # for the harness in the guest: its waits are multiplied by this
# Seconds without a word of the kernel, after which a boot counts as hung; option --silence. A busy machine takes as many times longer as
# programs wait for each of its processors.
SILENCE = 60
BOOTS = 3 # at most, if they hang
PRIVATE = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSIDE = "FLAMED_VM_INSIDE" # set in the environment of the process inside those namespaces


def busybox(options: argparse.Namespace) -> str:
    return os.path.join(options.root, "bin/busybox")


def virtiofsd() -> str:
    for path in VIRTIOFSD:
        if os.path.exists(path):
            return path
    raise unittest.SkipTest("no virtiofsd on this machine")


def write_initramfs(path: str, busybox: str, modules: list[str]) -> None:
    """Writes an archive with BUSYBOX, the MODULES and initramfs.sh."""
    folder = WORK + "/initramfs"
    for part in ("bin", "modules"):
        os.makedirs(f"{folder}/{part}")
    shutil.copy(busybox, folder + "/bin/busybox")
    shutil.copy(HERE + "/initramfs.sh", folder + "/init")
    shutil.copy(HERE + "/vm.service", folder + "/vm.service")
    with open(folder + "/modules/order", "w", encoding="ascii") as order:
        for module in modules:
            name = os.path.basename(module).removesuffix(".xz")
            with (lzma.open if module.endswith(".xz") else open)(module, "rb") as f, open(f"{folder}/modules/{name}", "wb") as out:
                shutil.copyfileobj(f, out)
            order.write(name + "\n")
    with open(path, "wb") as out:
        subprocess.run("find . | cpio --create --format=newc --quiet", shell=True, cwd=folder, stdout=out, check=True)


def bind(folder: str, where: str, *options: str) -> None:
    os.makedirs(where, exist_ok=True)
    subprocess.run(["mount", "--bind", folder, where], check=True)
    if options:
        subprocess.run(["mount", "-o", ",".join(("remount", "bind", *options)), where], check=True)


def share(tag: str, folder: str) -> list[str]:
    """Starts a virtiofsd for FOLDER. Returns QEMU's options for it."""
    path = f"{WORK}/{tag}.sock"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path) # of a boot that hung
    with socket.socket(socket.AF_UNIX) as listening, open(f"{WORK}/{tag}.log", "wb") as log:
        listening.bind(path)
        listening.listen()
        subprocess.Popen([virtiofsd(), f"--fd={listening.fileno()}", "-o", f"source={folder}", "-o", "cache=always", "-o",
                          "sandbox=chroot", "--thread-pool-size=0"], pass_fds=[listening.fileno()], stdin=subprocess.DEVNULL,
                         stdout=log, stderr=log)
    return ["-chardev", f"socket,id={tag},path={path}", "-device", f"vhost-user-fs-pci,chardev={tag},tag={tag}"]


def share_tree(folder: str, root: str) -> None:
    """Shows the guest this tree, if its file system is not that of ROOT, and in FOLDER the classes that tests there use."""
    if root != "/" or os.stat(paths.TREE).st_dev != os.stat("/").st_dev:
        bind(paths.TREE, WORK + "/root" + paths.TREE, "ro")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    os.environ["FLAMED_CLASSES"] = "/out/classes"
    jvm.COMPILED = folder
    more = jvm.Classes()
    more.compile("Events.java", "Naps.java", "Silence.java")
    for classes in (jvm.make_spin().folder, common.compile_bench("Mix").folder, common.compile_bench("Mixed").folder, more.folder):
        shutil.copytree(classes, folder, dirs_exist_ok=True)


def last_words(*names: str) -> None:
    """Prints the ends of files of this machine."""
    for name in names:
        if os.path.exists(f"{WORK}/{name}"):
            print(proc.read(f"{WORK}/{name}")[-4000:], file=sys.stderr)


def watch(qemu: subprocess.Popen, out: str, options: argparse.Namespace) -> tuple[bool, str]:
    """Waits until QEMU has ended, or ends it. Returns whether the boot hung, and how QEMU ended."""
    began = heard = time.monotonic()
    size = 0
    begun = False
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return False, f"QEMU ended with {qemu.wait(0.5)}"
        now = time.monotonic()
        if not begun and os.path.exists(out + "/begun"):
            begun = True
            print(f"vm: the command begins after {now - began:.1f} s", file=sys.stderr, flush=True)
        words = os.path.getsize(WORK + "/console") if os.path.exists(WORK + "/console") else 0
        if words != size:
            size, heard = words, now
        hung = not begun and now - heard > options.silence * max(1, os.getloadavg()[0] / os.cpu_count())
        if hung or now - began > options.limit:
            qemu.kill()
            qemu.wait()
            return hung, f"the boot hung: no word for {now - heard:.0f} s" if hung else f"it was not done after {options.limit} s"


def boot(options: argparse.Namespace) -> int:
    """Boots in its own namespaces."""
    linux = kernel.Kernel(options.kernel)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", WORK], check=True)
    tempfile.tempdir = WORK
    out = options.out or WORK + "/out"
    os.makedirs(out, exist_ok=True)
    write_initramfs(WORK + "/initrd", busybox(options), linux.files_of(*(name for name in MODULES if name not in options.without)))
    bind(options.root, WORK + "/root", "ro")
    tree = options.root == "/" or os.path.isdir(options.root + paths.TREE)
    if tree:
        share_tree(out + "/classes", options.root)
    shutil.copy(HERE + "/guest.sh", out)
    with open(out + "/command", "w", encoding="utf-8") as f:
        f.write(f"cd {shlex.quote(paths.TREE if tree else '/')}\nexport FLAMED_PATIENCE={PATIENCE}\n")
        f.writelines(f"export {name}={shlex.quote(value)}\n" for name, value in os.environ.items() if name.startswith("FLAMED_"))
        f.write(shlex.join(options.command) + "\n")
    for name in ("status", "begun"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{out}/{name}")
    for _ in range(BOOTS):
        hung, ended = run_machine(options, linux, out)
        if not hung:
            break
        last_words("console")
        print(f"vm: {ended}", file=sys.stderr, flush=True)
    if os.path.exists(out + "/status"):
        return int(proc.read(out + "/status"))
    last_words("root.log", "out.log", "console")
    print(f"vm: no exit status; {ended}", file=sys.stderr)
    return 1


def run_machine(options: argparse.Namespace, linux: kernel.Kernel, out: str) -> tuple[bool, str]:
    """Runs QEMU once. Returns whether the boot hung, and how QEMU ended."""
    architecture = kernel.architecture(options.kernel)
    machine, words = MACHINE[architecture]
    command = [QEMU[architecture], "-accel", "tcg,thread=multi", "-cpu", options.processor or PROCESSOR[architecture], "-smp",
               str(options.cpus), "-m", f"{options.memory}M", "-object", f"memory-backend-memfd,id=memory,size={options.memory}M,share=on",
               "-numa", "node,memdev=memory", "-nodefaults", "-display", "none", "-no-reboot",
               *share("root", WORK + "/root"), *share("out", out), "-serial", f"file:{WORK}/console", *machine,
               "-kernel", linux.image, "-initrd", WORK + "/initrd", "-append",
               f"{words} panic=-1 loglevel=7 mitigations=off systemd.wants=vm.service VM_INIT={options.init} "
               f"VM_CGROUPS={options.cgroups} " + options.append]
    print(f"vm: boots Linux {linux.release}", file=sys.stderr, flush=True)
    start = time.monotonic()
    result = watch(subprocess.Popen(command, stdin=subprocess.DEVNULL), out, options)
    print(f"vm: Linux {linux.release}, {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="/", help="a folder with another root file system; by default that of this machine")
    parser.add_argument("--init", default=GUEST, help="the guest's pid 1, by default guest.sh; systemd runs that")
    parser.add_argument("--out", help="the folder that is /out in the guest, by default one that vanishes")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which the machine is switched off; default 600")
    parser.add_argument("--silence", type=float, default=SILENCE,
                        help=f"seconds without a word of the kernel, after which a boot counts as hung and is repeated; default {SILENCE}")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--processor", help=f"QEMU's name of it; default {PROCESSOR}")
    parser.add_argument("--memory", type=int, default=3072, help="MiB; default 3072")
    parser.add_argument("--cgroups", choices=("v1", "hybrid", "v2"), default="v2", help="versions of control groups; default v2")
    parser.add_argument("--without", action="append", default=[], metavar="MODULE", choices=MODULES, help="a module that is not loaded")
    parser.add_argument("--append", default="", help="more words for the kernel's command line")
    parser.add_argument("kernel", choices=kernel.SUITES)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if INSIDE in os.environ:
        del os.environ[INSIDE]
        return boot(options)
    try:
        paths.need_root()
        paths.need(QEMU[kernel.architecture(options.kernel)], "cpio", "depmod", busybox(options))
        virtiofsd()
        kernel.Kernel(options.kernel)
    except unittest.SkipTest as reason:
        print(f"skipped: {reason}")
        return 77
    os.makedirs(WORK, exist_ok=True)
    return subprocess.run([*PRIVATE, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}).returncode


if __name__ == "__main__":
    sys.exit(main())
