// SPDX-License-Identifier: Apache-2.0
// What a person does with a flame graph: pointer, wheel and keys, as calls of the graph.

import { ROW_HEIGHT } from "./draw.js";
import { isWithin, neighbour, nodeAt, widestChild } from "../shared/tree.js";

const CLICK_SLOP = 4; // CSS pixels that a click may move
const GRAPH_KEYS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter", " ", "+", "-", "c"];

export class GraphInput {
    constructor(graph) {
        const { root } = graph;

        this.graph = graph;
        this.last = null; // event of a mouse that rests here
        root.addEventListener("pointermove", (e) => this.pointerMoved(e));
        root.addEventListener("pointerleave", (e) => {
            this.last = null;
            graph.setHover(-1, e);
        });
        root.addEventListener("pointerdown", (e) => { this.pressed = { x: e.clientX, y: e.clientY }; });
        root.addEventListener("click", (e) => this.clicked(e));
        root.addEventListener("dblclick", (e) => this.doubleClicked(e));
        root.addEventListener("contextmenu", (e) => this.menuAsked(e));
        root.addEventListener("wheel", (e) => this.wheeled(e), { passive: false });
        root.addEventListener("keydown", (e) => this.keyed(e));
    }

    // ---- pointer ----

    nodeUnder(event) {
        const { graph } = this;

        if (!graph.tree)
            return -1;
        const box = graph.layer.getBoundingClientRect();
        const y = event.clientY - box.top, x = event.clientX - box.left;

        if (x < 0 || x >= graph.width || y < 0 || y >= graph.height)
            return -1;
        const depth = graph.icicle ? Math.floor((y + graph.top) / ROW_HEIGHT)
            : Math.floor((graph.full - graph.top - y) / ROW_HEIGHT);

        return nodeAt(graph.tree, depth, graph.view.x0 + x / graph.width * (graph.view.x1 - graph.view.x0));
    }

    pointerMoved(event) {
        if (event.pointerType === "touch")
            return;
        this.last = event;
        const node = this.nodeUnder(event);

        this.graph.root.classList.toggle("over-frame", node >= 0);
        this.graph.setHover(node, event);
    }

    // Another graph stands under the mouse, which did not move.
    pointAgain() {
        if (this.last && this.graph.root.matches(":hover"))
            this.pointerMoved(this.last);
    }

    clicked(event) {
        const { graph } = this;
        const node = this.nodeUnder(event);
        const moved = this.pressed &&
            Math.hypot(event.clientX - this.pressed.x, event.clientY - this.pressed.y) > CLICK_SLOP;

        if (node < 0 || moved)
            return;
        // A finger cannot hover: its first tap tells, its second one zooms.
        const tells = event.pointerType === "touch" && node !== graph.focus;

        graph.setFocus(node, { scroll: false });
        if (!tells)
            graph.zoom(node);
    }

    menuAsked(event) {
        const { graph } = this;
        const byKey = event.button !== 2 && !event.clientX;
        const node = byKey ? graph.focus : this.nodeUnder(event);
        const box = (byKey ? graph.focusMark : graph.root).getBoundingClientRect();

        if (!graph.tree)
            return;
        event.preventDefault();
        graph.on.menu(Math.max(node, 0), byKey ? { x: box.left, y: box.bottom }
            : { x: event.clientX, y: event.clientY }, graph);
    }

    async doubleClicked(event) {
        const node = this.nodeUnder(event);

        if (node > 0)
            await this.graph.copy(node);
    }

    wheeled(event) {
        const { graph } = this;

        if (!graph.tree)
            return;
        if (event.ctrlKey) {
            const box = graph.layer.getBoundingClientRect();
            const at = (event.clientX - box.left) / graph.width;

            event.preventDefault();
            graph.stretch(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 200))), at);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && graph.canGoBack()) {
            event.preventDefault();
            graph.pan(event.deltaX / graph.width);
        }
    }

    // ---- keyboard ----

    walk(direction) {
        const { graph } = this;
        const { tree, focus } = graph;
        let to = -1;

        if (focus < 0) {
            to = graph.zoomNode;
        } else if (direction === "deeper") {
            to = this.childInView(focus);
        } else if (direction === "outer") {
            to = focus > 0 ? tree.parent[focus] : -1;
        } else {
            to = neighbour(tree, focus, direction === "left" ? -1 : 1);
            if (to >= 0 && !isWithin(tree, to, graph.zoomNode))
                to = -1;
        }
        if (to >= 0)
            graph.setFocus(to);
    }

    // On the way to the zoomed frame that way, else the widest child.
    childInView(node) {
        const { tree, zoomNode } = this.graph;

        if (node === zoomNode || !isWithin(tree, zoomNode, node))
            return widestChild(tree, node);
        let i = zoomNode;

        while (tree.parent[i] !== node)
            i = tree.parent[i];
        return i;
    }

    takesKey(key) {
        return GRAPH_KEYS.includes(key);
    }

    keyed(event) {
        const { graph } = this;
        const { key } = event;

        if (!graph.tree || event.ctrlKey || event.metaKey || event.altKey || !this.takesKey(key))
            return;
        const up = graph.icicle ? "outer" : "deeper", down = graph.icicle ? "deeper" : "outer";
        const moves = { ArrowUp: up, ArrowDown: down, ArrowLeft: "left", ArrowRight: "right" };

        event.preventDefault();
        if (moves[key])
            this.walk(moves[key]);
        else if (key === "+" || key === "-")
            graph.stretch(key === "+" ? 0.7 : 1 / 0.7, 0.5);
        else if (key !== "c")
            graph.zoom(Math.max(graph.focus, 0));
        else if (graph.focus > 0)
            graph.copy(graph.focus);
    }
}
