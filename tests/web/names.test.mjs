// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import test from "node:test";
import { KIND } from "../../web/shared/kinds.js";
import { colourFamily, labelFor, nameForms, shortClasses, shortName, splitJavaName } from "../../web/shared/names.js";

test("a sentence has classes without their packages", () => {
    for (const [text, short] of [
        ["waited for a lock of class com.acme.shop.PriceTable; http-exec-6 holds it", "waited for a lock of class PriceTable; http-exec-6 holds it"],
        ["6.3 of 7.3 threads wait ([sleep]) in PriceTable.load", "6.3 of 7.3 threads wait ([sleep]) in PriceTable.load"],
        ["java.lang.Class, a.b.Outer$Inner.run of shop-1.2.jar", "Class, Outer$Inner.run of shop-1.2.jar"],
    ])
        assert.equal(shortClasses(text), short);
});

test("a Java name falls into its parts", () => {
    const cases = [
        ["com.acme.Order.total(int, long):42_[j]", "com.acme", "Order", "total", "(int, long)", ":42_[j]"],
        ["java.lang.Thread.run", "java.lang", "Thread", "run", "", ""],
        ["Thread.run", "", "Thread", "run", "", ""],
        ["a.B.<init>", "a", "B", "<init>", "", ""],
        ["a.b.Outer$Inner.m(java.util.List)", "a.b", "Outer$Inner", "m", "(java.util.List)", ""],
        ["a.b.C$$Lambda.0x00007f2c4c0d1a38.apply", "a.b", "C$$Lambda.0x00007f2c4c0d1a38", "apply", "", ""],
        ["a.b.C$$Lambda/0x0000000800c03000.run", "a.b", "C$$Lambda/0x0000000800c03000", "run", "", ""],
        ["[inlined in a.b.C.add]", "a.b", "[inlined in C", "add]", "", ""],
        ["run", "", "", "run", "", ""],
        ["", "", "", "", "", ""],
        [".x", "", "", ".x", "", ""],
        ["a.b.xxxxx...", "", "", "a.b.xxxxx...", "", ""],
        ["a..b", "", "", "a..b", "", ""],
    ];

    for (const [name, pack, type, method, params, suffix] of cases)
        assert.deepEqual(splitJavaName(name), { pack, type, method, params, suffix }, name);
});

test("package first, then parameters, then the class, then from the left", () => {
    const name = "com.acme.shop.Order.total(int)";
    const label = (max) => labelFor(nameForms(name, KIND.C2), KIND.C2, max);

    assert.equal(label(100), name);
    assert.equal(label(30), name);
    assert.equal(label(29), "Order.total(int)");
    assert.equal(label(16), "Order.total(int)");
    assert.equal(label(15), "Order.total");
    assert.equal(label(11), "Order.total");
    assert.equal(label(10), "total");
    assert.equal(label(5), "total");
    assert.equal(label(4), "");
    const nested = nameForms("a.b.Outer$Inner$Deep.apply", KIND.C2), of = (max) => labelFor(nested, KIND.C2, max);

    assert.deepEqual([24, 23, 20, 16, 10, 9, 5, 4].map(of), ["Outer$Inner$Deep.apply", "Outer$Inner$Deep.apply", "Inner$Deep.apply", "Inner$Deep.apply", "Deep.apply", "apply", "apply", ""]);
    assert.equal(labelFor(["run"], KIND.C2, 4), "", "what is shorter than five characters says nothing");
    assert.equal(labelFor(nameForms("a.C$$Lambda.0x00007f2c4c0d1a38.apply", KIND.C2), KIND.C2, 20), "apply");
    assert.equal(labelFor(nameForms("a.B.calculateTotal", KIND.C2), KIND.C2, 8), "…teTotal");
    assert.equal(labelFor(nameForms("a.B.calculateTotal", KIND.C2), KIND.C2, 7), "", "nor does the end of a name that was cut to less");
    assert.equal(labelFor(nameForms("[inlined in java.lang.AbstractStringBuilder.append]", KIND.INLINED), KIND.INLINED, 41), "[inlined in AbstractStringBuilder.append]");
    assert.equal(labelFor(nameForms("ObjectMonitor::enter(bool)", KIND.JVM), KIND.JVM, 12), "enter");
});

test("native names lose their parameters, synthetic ones their end", () => {
    assert.equal(shortName("G1CMTask::do_marking_step(double, bool)", KIND.JVM), "G1CMTask::do_marking_step");
    assert.equal(shortName("f(int (*)(char))", KIND.NATIVE), "f");
    assert.equal(shortName("Less::operator()", KIND.NATIVE), "Less::operator()");
    assert.equal(shortName("Less::operator()(int, int) const", KIND.NATIVE), "Less::operator()(int, int) const");
    assert.equal(shortName("do_syscall_64", KIND.KERNEL), "do_syscall_64");
    assert.equal(labelFor(nameForms("[worker-0 tid=4243]", KIND.THREAD), KIND.THREAD, 8), "[worker…");
    assert.equal(labelFor(["[unknown]"], KIND.UNKNOWN, 6), "[unkn…");
});

test("no label cuts a character in two", () => {
    const name = "a.B." + "\u{1f525}".repeat(5);

    for (let max = 3; max < 20; max++) {
        const label = labelFor(nameForms(name, KIND.C2), KIND.C2, max);

        assert.ok(label.length <= max);
        assert.ok(!/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(label), label);
    }
});

test("neighbours of a package share a colour family", () => {
    assert.equal(colourFamily("com.acme.A.x", KIND.C2, ""), colourFamily("com.acme.B.y(int)", KIND.INLINED, ""));
    assert.notEqual(colourFamily("com.acme.A.x", KIND.C2, ""), colourFamily("com.other.A.x", KIND.C2, ""));
    assert.equal(colourFamily("read", KIND.NATIVE, "/lib/libc.so.6"), "/lib/libc.so.6");
    assert.equal(colourFamily("[unknown]", KIND.UNKNOWN, ""), "");
});
