// SPDX-License-Identifier: Apache-2.0
// The rules that let cmake put the modules into one script, and those that keep names from becoming markup.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

const web = new URL("../../web/", import.meta.url);
const text = (name) => readFileSync(new URL(name, web), "utf8");
const lists = ["standalone/viewer.txt", "page/page.txt", "standalone/heatmap.txt", "standalone/diff.txt", "standalone/tree.txt",
    "standalone/svg.txt"].map((name) => text(name).trim().split("\n"));
const FOLDERS = { shared: [], viewer: ["shared"], standalone: ["shared", "viewer"], page: ["shared", "viewer"] }; // which each may import
const modules = [...new Set(lists.flat())];

// What the module @name imports, each as the lists name it.
function importsOf(name) {
    return [...text(name).matchAll(/^import [^;]* from "([^"]+)";$/gm)]
        .map(([, from]) => new URL(from, new URL(name, web)).href.slice(web.href.length));
}

test("the lists name every module, each once and after those it imports", () => {
    const files = Object.keys(FOLDERS).flatMap((folder) => readdirSync(new URL(folder, web)).map((f) => `${folder}/${f}`));

    assert.deepEqual(readdirSync(web).sort(), Object.keys(FOLDERS).sort());
    assert.deepEqual([...modules].sort(), files.filter((f) => f.endsWith(".js")).sort());
    for (const list of lists) {
        assert.equal(new Set(list).size, list.length);
        for (const [i, name] of list.entries())
            for (const from of importsOf(name))
                assert.ok(list.indexOf(from) >= 0 && list.indexOf(from) < i, `${name} imports ${from}`);
    }
});

test("a folder imports from itself and from those below it", () => {
    for (const name of modules) {
        const folder = name.split("/")[0];

        for (const from of importsOf(name))
            assert.ok([folder, ...FOLDERS[folder]].includes(from.split("/")[0]), `${name} imports ${from}`);
    }
});

test("a top-level name exists once", () => {
    const owner = new Map();

    for (const name of modules)
        for (const [, declared] of text(name).matchAll(/^(?:export )?(?:async )?(?:const|let|class|function) (\w+)/gm)) {
            assert.ok(!owner.has(declared), `${declared} is in ${owner.get(declared)} and in ${name}`);
            owner.set(declared, name);
        }
    assert.ok(owner.size > 50);
});

test("modules keep to what the bundler understands", () => {
    for (const name of modules) {
        const source = text(name);

        assert.doesNotMatch(source, /^\s*(?:\/\*|\*)/m, name); // comments are whole lines of //
        assert.doesNotMatch(source, /^export (?!const|let|class|function|async function)/m, name);
        assert.doesNotMatch(source, /^import (?![^;]* from "\.{1,2}\/[^"]+";)/m, name);
        for (const line of source.split("\n"))
            assert.equal((line.match(/`/g) || []).length % 2, 0, `${name}: ${line}`);
    }
});

test("nothing turns text into markup or code", () => {
    for (const name of modules)
        assert.doesNotMatch(text(name),
            /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|setAttribute\("style"|\bon\w+=/,
            name);
});
