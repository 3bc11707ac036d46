# SPDX-License-Identifier: Apache-2.0
"""Names made by an attacker: markup, quotes, control characters, direction marks and broken encodings in names of classes, methods, threads
and processes. No format contains one that could act."""
import gzip
import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.dom.minidom
import zipfile

from harness import classfile, jvm, paths, proc
from harness.daemon import Daemon

REPLACEMENT = "\ufffd"
# label -> text in the names of a class and of its method, as bytes of a class file. HotSpot accepts anything there except . ; [ and, in
# methods, < >.
HOSTILE = {
    "markup": b"Evil<script>alert(1)<\\script>",
    "quotes": b"Evil\"'`&amp onload=x",
    "newline": b"Evil\r\n\tline 9",
    "escape": b"Evil\x1b]0owned\x07\x1bc",
    "c1": b"Evil\xc2\x9b31m\xc2\x85",
    "bidi": b"Evil\xe2\x80\xae\xe2\x81\xa6gnp_exe",
    "nul": b"Evil\xc0\x80end",
    "surrogates": b"Evil\xed\xa0\xbd\xed\xb8\x80",
    "lone": b"Evil\xed\xa0\xbdx",
    "long": b"Evil" + b"x" * 20000,
    "folded": b"Evil 1 2 3",
}
# Bytes that are not text, for a VM that does not check the constant pool (-XX:-BytecodeVerificationRemote).
BROKEN = {"broken": b"Evil\xff\xfe\x80\xc2", "cut": b"Evil\xe2\x80"}
# Characters that no text may contain: C0 except newline and tab of the format itself, DEL, C1, direction marks.
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
THREADS = {"markup": "<b>\"&'</b>", "newline": "a\nb\r", "escape": "\x1b[31mred", "c1": "\u009b31m", "bidi": "\u202eevil"}


# Bytes of those names that could act or are not text, with their neighbours. Without neighbours, the length that follows a name in a binary
# format may be such a byte by chance.
RAW = (b"Evil\x1b]", b"\x1b]0owned", b"owned\x07\x1bc", b"Evil\xc2\x9b3", b"\xc2\x9b31m", b"Evil\r\n\t", b"Evil\xe2\x80\xae", b"\xe2\x80\xaeevil",
       b"\xe2\x81\xa6gnp", b"\xc0\x80end", b"Evil\xed\xa0\xbd", b"\xa0\xbd\xed\xb8\x80", b"\xed\xa0\xbdx", b"\x1b[31mred", b"a\nb\r")


class Elements(html.parser.HTMLParser):
    """Collects tags and attributes of a document."""

    def __init__(self):
        super().__init__()
        self.tags: list[tuple[str, list]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        paths.need_root()
        cls.daemon = Daemon("--recorder-hz=0")
        cls.addClassCleanup(cls.daemon.stop)
        cls.classes = jvm.Classes()
        cls.classes.compile("Evil.java", "EvilBody.java")

    def start(self, names: dict[str, bytes], *options: str, link: str | None = None, jar: str | None = None) -> jvm.Jvm:
        """Starts a JVM that runs a class for each of NAMES, through a link named LINK, with its main class in JAR."""
        folder = tempfile.mkdtemp(prefix="flamed-evil.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        with open(os.path.join(self.classes.folder, "EvilBody.class"), "rb") as f:
            template = f.read()
        for label, name in names.items():
            method = name.replace(b"<", b"{").replace(b">", b"}") # methods may contain neither
            with open(os.path.join(folder, label + ".bin"), "wb") as f:
                f.write(classfile.rename(template, {b"EvilBody": name, b"evilMethod": method}))
            with open(os.path.join(folder, label + ".name"), "w", encoding="utf-8") as f:
                f.write(THREADS.get(label, label))
        home, executable = paths.jdk(17), None
        if link:
            executable = os.path.join(folder, link)
            os.symlink(home + "/bin/java", executable)
        main = ["-cp", self.classes.folder, "Evil"]
        if jar:
            main = ["-jar", os.path.join(folder, jar)]
            with zipfile.ZipFile(main[1], "w") as archive:
                archive.writestr("META-INF/MANIFEST.MF", "Main-Class: Evil\n")
                for name in os.listdir(self.classes.folder):
                    if name.endswith(".class"):
                        archive.write(os.path.join(self.classes.folder, name), name)
        target = jvm.Jvm(home, *options, "-Xmx64m", *main, folder, executable=executable)
        self.addCleanup(target.stop)
        return target

    def capture(self, target: jvm.Jvm, form: str, **parameters):
        answer = self.daemon.get("/profile", pid=target.pid, seconds=2, hz=199, threads=1, format=form, timeout=30, **parameters)
        self.assertEqual(answer.status, 200, str(answer))
        return answer

    def assert_clean(self, text: str, what: str) -> None:
        found = FORBIDDEN.search(text)
        self.assertIsNone(found, f"{what}: {found and text[max(0, found.start() - 60):found.end() + 60]!r}")

    def check(self, target: jvm.Jvm, labels) -> None:
        collapsed = self.capture(target, "collapsed").body.decode("utf-8", errors="strict")
        self.assert_clean(collapsed, "collapsed")
        for line in collapsed.splitlines():
            self.assertRegex(line, r"^.+ \d+$", "every line is a stack and a number")
        self.assertIn("Evil", collapsed)

        document = self.capture(target, "json").json() # UTF-8 and JSON, strictly
        def strings(value):
            if isinstance(value, str):
                yield value
            elif isinstance(value, dict):
                for k, v in value.items():
                    yield from strings(k)
                    yield from strings(v)
            elif isinstance(value, list):
                for v in value:
                    yield from strings(v)
        for text in strings(document):
            self.assert_clean(text, "json")
            self.assertNotIn("\n", text)
            self.assertLessEqual(len(text.encode()), 5000, "names are bounded")
        evil = [f for f in document["frames"] if f["name"].startswith("Evil") and not f["name"].startswith("Evil.lambda")]
        self.assertGreaterEqual(len(evil), len(labels), [f["name"][:80] for f in evil])

        page = self.capture(target, "html")
        text = page.body.decode("utf-8", errors="strict")
        self.assert_clean(text, "html")
        self.assertNotIn("<script>alert", text)
        self.assertNotIn("<b>", text)
        parser = Elements()
        parser.feed(text)
        for tag, attributes in parser.tags:
            self.assertNotIn("onload", dict(attributes), "no handler came in by a name")
        for header, value in page.headers.items():
            self.assert_clean(value, header)
        self.assertTrue(page.headers["Content-Disposition"].startswith("inline; filename="))
        self.assertEqual(page.headers["X-Content-Type-Options"], "nosniff")

    def check_pictures(self, target: jvm.Jvm) -> None:
        """svg, heatmap, tree as a page, diffs, and the table of /top: all pictures of one capture."""
        answer = self.capture(target, "svg")
        svg = answer.text
        self.assert_clean(svg, "svg")
        picture = xml.dom.minidom.parseString(answer.body)
        self.assertEqual(len(picture.getElementsByTagName("script")), 1, "svg has its own script alone")
        self.assertIn("Evil", svg)
        ident = answer.headers["X-Flamed-Capture"]
        pages = {"heatmap": self.daemon.get(f"/api/v1/captures/{ident}/profile", format="heatmap", threads=1),
                 "tree": self.daemon.get(f"/api/v1/captures/{ident}/profile", format="tree", threads=1, headers={"Accept": "text/html"}),
                 "diff": self.daemon.get("/api/v1/diff", a=ident, b=ident, threads=1)}
        for name, page in pages.items():
            self.assertEqual(page.status, 200, (name, page))
            self.assert_clean(page.text, name)
            elements = Elements()
            elements.feed(page.text)
            tags = [tag for tag, _ in elements.tags]
            self.assertEqual(tags.count("script"), 1 if name == "tree" else 2, name)
            self.assertNotIn("b", tags, name)
            self.assertFalse([key for _, attrs in elements.tags for key, _ in attrs if key.startswith("on")], name)
        for form in ("svg", "json", "collapsed"):
            answer = self.daemon.get("/api/v1/diff", a=ident, b=ident, threads=1, format=form)
            self.assert_clean(answer.text, "diff " + form)
        table = self.daemon.get("/top", pid=target.pid, once=1, interval="1s")
        self.assert_clean(table.text, "/top")
        self.assertIn("Evil", table.text)

    def test_every_format(self):
        target = self.start(HOSTILE)
        self.check(target, HOSTILE)
        self.check_pictures(target)

    def formats(self) -> list[str]:
        """Returns all formats of the daemon, by its own document."""
        document = self.daemon.get("/openapi.json").json()
        for parameter in document["paths"]["/api/v1/captures/{id}/profile"]["get"]["parameters"]:
            for step in parameter.get("$ref", "").split("/")[1:]:
                parameter = (document if step == "components" else parameter)[step]
            if parameter["name"] == "format":
                return parameter["schema"]["enum"]
        raise AssertionError("no parameter 'format'")

    def test_the_same_capture_in_every_format(self):
        """Text is clean, and no format, including binary ones, contains the bytes that the attacker chose."""
        target = self.start(HOSTILE)
        capture = self.daemon.capture(pid=target.pid, hz=199)
        proc.wait_until(lambda: proc.cpu_seconds(target.pid) > 3, 60, "every class has run")
        capture.stop()
        forms = self.formats()
        self.assertGreaterEqual(len(forms), 10, forms)
        for form in forms:
            with self.subTest(format=form):
                answer = self.daemon.get(capture.path + "/profile", format=form, threads=1, timeout=60)
                self.assertEqual(answer.status, 200, str(answer))
                body = gzip.decompress(answer.body) if answer.body[:2] == b"\x1f\x8b" else answer.body
                self.assertIn(b"Evil", body)
                for raw in RAW:
                    self.assertNotIn(raw, body)
                if answer.headers["Content-Type"].startswith(("text/", "application/json", "image/svg")):
                    self.assert_clean(body.decode("utf-8", errors="strict"), form)
                if "html" in answer.headers["Content-Type"] or "svg" in answer.headers["Content-Type"]:
                    self.assertNotIn(b"<script>alert", body)

    def test_bytes_that_are_no_text(self):
        target = self.start(BROKEN, "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")
        self.check(target, BROKEN)

    def test_long_names_end_in_dots(self):
        """Names longer than the part that flamed reads, as a bundler or a mocking library makes them; and descriptors."""
        classes = jvm.Classes()
        method, many = "\u00e9" * 600, 120 # of 1,200 bytes; descriptors of 4,324
        with tempfile.TemporaryDirectory(prefix="flamed-long.") as folder:
            with open(folder + "/Longs.java", "w", encoding="utf-8") as file:
                file.write("public class Longs { static volatile long sink;"
                           f" static void many({', '.join(f'java.util.function.Function[] a{i}' for i in range(many))})"
                           " { for (int i = 0; i < 1000000; i++) sink += i; }"
                           f" static void {method}() {{ for (int i = 0; i < 1000000; i++) sink += i; }}"
                           " public static void main(String[] a) { System.out.println(\"started\");"
                           f" while (true) {{ {method}(); many({', '.join(['null'] * many)}); }} }} }}")
            jvm.javac(classes.folder, classes.folder, 8, ["-encoding", "UTF-8", folder + "/Longs.java"])
        target = jvm.Jvm(paths.jdk(17), "-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:-Inline", "-cp", classes.folder, "Longs")
        self.addCleanup(target.stop)
        names = {name for line in self.capture(target, "collapsed").text.splitlines() for name in line.rpartition(" ")[0].split(";")}
        self.assertIn("Longs." + "\u00e9" * 254 + "...", names, names) # 512 bytes, without half a character
        signatures = {name for line in self.capture(target, "collapsed", names="signature").text.splitlines()
                      for name in line.rpartition(" ")[0].split(";") if name.startswith("Longs.many(")}
        self.assertEqual(len(signatures), 1, signatures)
        self.assertRegex(signatures.pop(), r"^Longs\.many\((java\.util\.function\.Function\[\], )+\.\.\.\)$")

    def test_process_names(self):
        link = "e<b>\x1b[3\n\u202e\"x"
        target = self.start({"markup": HOSTILE["markup"]}, link=link)
        self.assertIn("\x1b", proc.read(f"/proc/{target.pid}/comm"))
        self.check(target, {"markup": b""})
        for answer in (self.daemon.get("/api/v1/jvms"), self.daemon.get(f"/api/v1/jvms/{target.pid}")):
            self.assertEqual(answer.status, 200)
            self.assert_clean(json.dumps(answer.json(), ensure_ascii=False), "jvms")
        everything = self.daemon.get("/profile", seconds=1, format="collapsed", timeout=30)
        self.assert_clean(everything.body.decode(), "the whole node")
        self.assert_clean(self.daemon.log(), "flamed's log")

    def test_native_process(self):
        """A process that is no JVM, with a hostile name in comm and a hostile perf map."""
        with tempfile.TemporaryDirectory(prefix="flamed-evil.") as folder:
            link = os.path.join(folder, "p<i>\x1b[1m\n\"&")
            os.symlink(os.path.realpath("/bin/dash"), link)
            process = subprocess.Popen([link, "-c", "while :; do :; done"])
            try:
                for form in ("collapsed", "json", "html"):
                    answer = self.daemon.get("/profile", seconds=1, pid=process.pid, threads=1, format=form, timeout=30)
                    self.assertEqual(answer.status, 200)
                    self.assert_clean(answer.body.decode(), form)
            finally:
                process.kill()
                process.wait()

    def test_secrets_in_arguments(self):
        spin = jvm.make_spin()
        with jvm.Jvm(paths.jdk(17), "-Dpassword=hunter2hunter2", "-Xmx64m", "-cp", spin.folder, spin.main, "0",
                     "--token=s3cr3ts3cr3t") as target:
            for path in ("/api/v1/jvms", f"/api/v1/jvms/{target.pid}"):
                text = self.daemon.get(path).text
                self.assertNotIn("hunter2", text)
                self.assertNotIn("s3cr3t", text)
                self.assertIn("password", text, "the name of the property stays")
