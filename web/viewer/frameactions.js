// SPDX-License-Identifier: Apache-2.0
// What can be done with a frame or with the whole, as a menu.

import { copyText } from "../shared/dom.js";
import { openMenu } from "../shared/menu.js";
import { nodeName, pathTo } from "../shared/tree.js";

// The names from the root to @node, one a line.
function stackText({ tree }, node) {
    const names = pathTo(tree, node).map((n) => nodeName(tree, n));

    return (tree.reverse ? names.reverse() : names).join("\n");
}

// @at: {x, y} of the window. @panel: whose methods do it.
export function openFrameMenu(panel, graph, node, at) {
    const name = nodeName(graph.tree, node);

    if (node <= 0) {
        openMenu([
            { label: "Reset the zoom", key: "0", run: () => graph.reset() },
            { label: "Table of methods", key: "t", run: () => panel.toggle("table") },
            { label: "Reverse", key: "r", run: () => panel.toggle("reverse") },
        ], at, "What to do with all");
        return;
    }
    graph.setFocus(node, { scroll: false });
    openMenu([
        { label: "Zoom into this frame", key: "Enter", run: () => { graph.zoom(node); graph.root.focus(); } },
        { label: "Callers and callees", key: "s", run: () => panel.sandwich(name) },
        { label: "Focus on this method", key: "f", run: () => panel.focusOn(name) },
        { label: "Hide this method", key: "h", run: () => panel.hide(name) },
        { label: "Search this", run: () => panel.searchBox.setName(name) },
        { label: "Copy name", key: "c", run: () => graph.copy(node) },
        { label: "Copy stack", run: async () => panel.copied(await copyText(stackText(graph, node)), "the stack") },
    ], at, "What to do with " + name);
}
