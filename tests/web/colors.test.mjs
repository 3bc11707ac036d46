// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { KINDS } from "../../web/shared/kinds.js";
import { isLibrary } from "../../web/shared/packages.js";
import { VARIANTS, contrast, hexOf, paletteOf, rgbOfOklch, variantOf } from "../../web/shared/colors.js";

test("OKLCH becomes sRGB", () => {
    assert.equal(hexOf(rgbOfOklch(1, 0, 0)), "#ffffff");
    assert.equal(hexOf(rgbOfOklch(0, 0, 0)), "#000000");
    assert.equal(hexOf(rgbOfOklch(0.62796, 0.25768, 29.234)), "#ff0000");
});

test("contrast is WCAG's", () => {
    assert.equal(contrast("#ffffff", "#000000"), 21);
    assert.ok(Math.abs(contrast("#767676", "#ffffff") - 4.54) < 0.01);
});

for (const theme of ["light", "dark"]) {
    const palette = paletteOf(theme);

    test(`text on every frame meets WCAG AA, ${theme}`, () => {
        for (let kind = 0; kind < KINDS.length; kind++)
            for (const colour of [...palette.kinds[kind], ...palette.dim[kind]])
                assert.ok(contrast(colour, palette.ink) >= 4.5, `${KINDS[kind].id} ${colour}`);
        for (const colour of [palette.match, palette.root, palette.hatch])
            assert.ok(contrast(colour, palette.ink) >= 4.5, colour);
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
