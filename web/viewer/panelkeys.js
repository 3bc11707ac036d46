// SPDX-License-Identifier: Apache-2.0
// The keys of a panel.

import { nodeName } from "../shared/tree.js";

const OTHERS_KEYS = "input, select, textarea, dialog, .menu"; // they take keys themselves
const FOCUSABLE = "button, a, summary, [tabindex='0']"; // they open, scroll or walk by keys themselves

// By key, what @panel does.
const PANEL_KEYS = {
    "/": (panel) => panel.searchBox.focus(),
    n: (panel) => panel.step(1),
    N: (panel) => panel.step(-1),
    r: (panel) => panel.toggle("reverse"),
    i: (panel) => panel.toggle("icicle"),
    t: (panel) => panel.toggle("table"),
    p: (panel) => !panel.source.meta.isDiff && !panel.source.meta.widths && panel.toggle("packages"),
    b: (panel) => panel.source.meta.isDiff && panel.toggle("beside"),
    a: (panel) => panel.toggle("frames"),
    k: (panel) => panel.toggle("tiers"),
    z: (panel) => panel.source.idle && panel.toggle("idle"),
    v: (panel) => panel.source.values && panel.toggleWeight(),
    s: (panel) => withName(panel, (name) => panel.sandwich(name)),
    f: (panel) => withName(panel, (name) => panel.focusOn(name)),
    h: (panel) => withName(panel, (name) => panel.hide(name)),
    m: (panel) => panel.menuOfShown(),
    0: (panel) => panel.graph.reset(),
    Escape: (panel) => panel.back(),
};

function withName({ graph }, run) {
    if (graph.focus > 0)
        run(nodeName(graph.tree, graph.focus));
}

// Whether the key was one of the panel's; then it is done.
export function panelKeyed(panel, event) {
    const { key, target } = event;

    if (!panel.source || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey ||
        target.closest(OTHERS_KEYS))
        return false;
    if (Object.hasOwn(PANEL_KEYS, key)) {
        PANEL_KEYS[key](panel);
        event.preventDefault();
        return true;
    }
    if (target.closest(FOCUSABLE) || !panel.graph.input.takesKey(key))
        return false;
    panel.graph.root.focus(); // keys that walk the graph need not be led there first
    panel.graph.input.keyed(event);
    return true;
}
