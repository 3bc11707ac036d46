// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { KINDS } from "../../web/shared/kinds.js";
import { chooseOwn, isForeign, isLibrary, ownPackages } from "../../web/shared/packages.js";
import { OwnCode } from "../../web/viewer/owncode.js";
import { CATEGORIES, categoryColor } from "../../web/page/categories.js";
import { VARIANTS, contrast, hexOf, paletteOf, rgbOfHex, rgbOfOklch, variantOf } from "../../web/shared/colors.js";

test("OKLCH becomes sRGB", () => {
    assert.equal(hexOf(rgbOfOklch(1, 0, 0)), "#ffffff");
    assert.equal(hexOf(rgbOfOklch(0, 0, 0)), "#000000");
    assert.equal(hexOf(rgbOfOklch(0.62796, 0.25768, 29.234)), "#ff0000");
});

test("contrast is WCAG's", () => {
    assert.equal(contrast("#ffffff", "#000000"), 21);
    assert.ok(Math.abs(contrast("#767676", "#ffffff") - 4.54) < 0.01);
});

// What people see who lack one of the three kinds of cones (Machado, Oliveira, Fernandes 2009), of linear RGB.
const SIGHTS = {
    usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
    deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881],
    tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900],
};

// A colour in OKLab as one of SIGHTS sees it.
function seen(hex, m) {
    const linear = rgbOfHex(hex).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    const [r, g, b] = [0, 3, 6].map((i) => Math.min(1, Math.max(0, m[i] * linear[0] + m[i + 1] * linear[1] + m[i + 2] * linear[2])));
    const [x, y, z] = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
        .map(([p, q, s]) => Math.cbrt(p * r + q * g + s * b));

    return [0.2104542553 * x + 0.7936177850 * y - 0.0040720468 * z, 1.9779984951 * x - 2.4285922050 * y + 0.4505937099 * z,
        0.0259040371 * x + 0.7827717662 * y - 0.8086757660 * z];
}

const APART = 0.07; // in OKLab; 0.02 is a difference that is just seen

const CODE_APART = 0.06;
const CODE = ["c2", "inlined", "c1", "interpreted", "jvm", "stub", "native", "kernel"]; // which graphs of CPU time have

const STATES = ["runnable", "sleep", "lock", "park", "network", "blocked", "kernel"]; // that stand beside each other most

// @list: [{id, colour}]
function assertApart(list, matrix, least = APART) {
    const places = list.map(({ id, colour }) => ({ id, at: seen(colour, matrix) }));

    for (const [i, a] of places.entries())
        for (const b of places.slice(0, i)) {
            const distance = Math.hypot(...a.at.map((v, k) => v - b.at[k]));

            assert.ok(distance >= least, `${a.id} and ${b.id}: ${distance.toFixed(3)}`);
        }
}

for (const theme of ["light", "dark"])
    for (const [sight, matrix] of Object.entries(SIGHTS)) {
        const palette = paletteOf(theme);

        test(`categories of the timeline are told apart, ${theme}, ${sight}`, () => {
            assertApart(CATEGORIES.map((category) => ({ id: category.id, colour: categoryColor(palette, category) })), matrix);
        });

        test(`kinds of code are told apart, ${theme}, ${sight}`, () => {
            assertApart(CODE.map((id) => ({ id, colour: palette.kind(KINDS.findIndex((kind) => kind.id === id)) })), matrix, CODE_APART);
        });

        test(`states of threads are told apart, ${theme}, ${sight}`, () => {
            assertApart(STATES.map((id) => ({ id, colour: palette.kind(KINDS.findIndex((kind) => kind.id === id)) })), matrix);
        });
    }

for (const theme of ["light", "dark"]) {
    const palette = paletteOf(theme);

    test(`text on every frame meets WCAG AA, ${theme}`, () => {
        for (let kind = 0; kind < KINDS.length; kind++)
            for (const colour of [...palette.kinds[kind], ...palette.dim[kind]])
                assert.ok(contrast(colour, palette.ink) >= 4.5, `${KINDS[kind].id} ${colour}`);
        for (const colour of [palette.match, palette.root, palette.hatch])
            assert.ok(contrast(colour, palette.ink) >= 4.5, colour);
    });

    test(`each kind has its colour in legends, too, ${theme}`, () => {
        const css = readFileSync(new URL("../../web/shared/base.css", import.meta.url), "utf8");

        assert.deepEqual(KINDS.filter(({ id }) => !css.includes(`\n.kind-${id} { background: `)).map(({ id }) => id), []);
        KINDS.forEach(({ id }, kind) => assert.match(palette.kind(kind), /^#[0-9a-f]{6}$/, id));
    });

    test(`pauses are seen on the paper, ${theme}: nothing is written on them`, () => {
        assert.ok(contrast(categoryColor(palette, CATEGORIES.find(({ id }) => id === "gc")), palette.paper) >= 3); // WCAG 1.4.11
    });

    test(`the paper of the graph is the page's, ${theme}`, () => {
        const css = readFileSync(new URL("../../web/shared/base.css", import.meta.url), "utf8");
        const pages = [...css.matchAll(/--page: (#\w+);/g)].map(([, colour]) => colour);

        assert.equal(palette.paper, pages[theme === "dark" ? 1 : 0]);
    });

    test(`kinds that meet in a stack differ in lightness, ${theme}`, () => {
        const ids = ["c2", "inlined", "c1", "interpreted", "native", "kernel", "jvm"];
        const colour = (id) => palette.kind(KINDS.findIndex((k) => k.id === id));

        for (const [a, b] of [["c2", "inlined"], ["c2", "c1"], ["c1", "interpreted"], ["native", "kernel"],
            ["inlined", "c1"], ["jvm", "interpreted"], ["c2", "kernel"]])
            assert.ok(contrast(colour(a), colour(b)) >= 1.12, `${a} ${b} ${contrast(colour(a), colour(b))}`);
        assert.equal(new Set(ids.map(colour)).size, ids.length);
    });
}

test("the JDK and libraries are not the application's code", () => {
    for (const pack of ["java.util", "jdk.internal.misc", "org.apache.coyote.http11", "io.netty.channel", "kotlin", "com.fasterxml.jackson"])
        assert.ok(isLibrary(pack), pack);
    for (const pack of ["", "com.acme", "org.acme.shop", "javassist2", "iox.netty", "playground", "scalable.shop"])
        assert.ok(!isLibrary(pack), pack);
});

test("the daemon knows the same libraries", () => {
    const rows = readFileSync(new URL("../../daemon/profile/libraries.def", import.meta.url), "utf8").matchAll(/^LIBRARY\("(.*)"\)$/gm);
    const packs = [...rows].map(([, pack]) => pack);
    const source = readFileSync(new URL("../../web/shared/packages.js", import.meta.url), "utf8");
    const [, listed] = /const LIBRARIES = \/\^\(\?:(.*)\)\(\?:/.exec(source);
    // "a|org\.(?:b|c)" are three packages.
    const count = listed.split("|").length;

    assert.ok(packs.every(isLibrary), packs.filter((pack) => !isLibrary(pack)).join());
    assert.equal(new Set(packs).size, count);
    assert.deepEqual(packs, [...packs].sort());
});

test("the application's own code: what a person says, else what the main class says, else all but libraries", () => {
    const foreign = (mine, mains, ...packs) => {
        chooseOwn(mine, mains);
        return packs.filter(isForeign);
    };
    const some = ["", "java.util", "org.apache.kafka.clients", "org.apache.coyote", "com.acme", "com.acmes"];

    assert.deepEqual(foreign("", [], ...some), ["java.util", "org.apache.kafka.clients", "org.apache.coyote"]);
    assert.deepEqual(foreign("", ["com.acme.Main", "org.apache.kafka.server.Kafka", "/opt/x.jar"], ...some), ["java.util", "org.apache.coyote"]);
    assert.deepEqual(foreign("", ["org.springframework.boot.loader.launch.JarLauncher"], "org.springframework.boot"), ["org.springframework.boot"]);
    assert.deepEqual(foreign("com.acme,java.util", ["org.apache.kafka.server.Kafka"], ...some), ["org.apache.kafka.clients", "org.apache.coyote", "com.acmes"]);
    assert.deepEqual(foreign("(,[x", [], "java.util", "com.acme"), ["java.util", "com.acme"]);
    assert.deepEqual(foreign("com.my-app,a$b,c\\d;e", [], "com.my-app.x", "a$b", "ab", "comxmy-app"), ["ab", "comxmy-app"]);
    // Of a process only its name is known, which is any text: a jar's, or what a program calls itself.
    assert.deepEqual(foreign("", ["/x/org.apache.a-b.jar", "jdk.a-b.c", "com.google.a@b c$d.Main"], "org.apache.a-b", "jdk.a-b.c", "com.google.a@b c$d", "jdk.axb.c"), ["jdk.axb.c"]);
    assert.deepEqual(ownPackages(["jdk.compiler/com.sun.tools.javac.Main"]), ["com.sun.tools"]);
    chooseOwn("", []);
});

test("packages that cannot be shown are not kept: the next page would not show them either", () => {
    const stored = [], of = (value, take) => Object.assign(Object.create(OwnCode.prototype), { input: { value } }).chosen(take);

    globalThis.localStorage = { setItem: (key, value) => stored.push(value) };
    assert.throws(() => of("com.bad", () => { throw new Error("not shown"); }));
    assert.deepEqual(stored, []);
    of("com.acme; org.foo", ({ mine }) => assert.equal(mine, "com.acme,org.foo"));
    assert.deepEqual(stored, ["com.acme,org.foo"]);
    delete globalThis.localStorage;
});

test("packages spread over the variants, equal ones fall together", () => {
    const seen = new Set();

    for (const family of ["java.util", "java.lang", "com.acme.shop", "org.apache.coyote", "sun.nio.ch", "", "a",
        "io.netty.channel", "kotlin", "scala.collection", "ch.qos.logback", "jdk.internal"]) {
        const v = variantOf(family);

        assert.ok(Number.isInteger(v) && v >= 0 && v < VARIANTS);
        assert.equal(v, variantOf(family));
        seen.add(v);
    }
    assert.ok(seen.size >= 4);
});
