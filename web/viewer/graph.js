// SPDX-License-Identifier: Apache-2.0
// The flame graph as a part of a page: a canvas that scrolls and zooms. It knows a tree and how to look at it, and
// tells its owner what happens through callbacks.

import { copyText, element } from "../shared/dom.js";
import { ROW_HEIGHT, drawTree } from "./draw.js";
import { GraphInput } from "./graphinput.js";
import { listenToPrinting } from "./graphprint.js";
import { Looks, measureFont } from "./looks.js";
import { paletteOf } from "../shared/colors.js";
import { findNode, nameNode } from "../shared/state.js";
import { Raster } from "./raster.js";
import { levelsBelow, nodeName } from "../shared/tree.js";

const ZOOM_MS = 120;
const REVEAL_WIDTH = 12; // CSS pixels that a frame gets when it is brought into sight

export class Graph {
    // @on: {hover(node, event, graph), focus(node, graph), zoom(node, graph), menu(node, {x, y}, graph),
    // copied(ok, name)}; node -1: none.
    constructor(on, label) {
        this.on = on;
        this.tint = null; // tint(tree, node, theme): a colour in place of the kind's
        this.canvas = element("canvas", { class: "graph-canvas", "aria-hidden": "true" });
        this.hoverMark = element("div", { class: "mark mark-hover" });
        this.focusMark = element("div", { class: "mark mark-focus" });
        this.layer = element("div", { class: "graph-layer" }, this.canvas, this.hoverMark, this.focusMark);
        this.space = element("div", { class: "graph-space" });
        this.root = element("div", {
            class: "graph", tabindex: "0", role: "application", "aria-roledescription": "flame graph",
            "aria-label": label + ". Arrow keys walk the frames, Enter zooms, Escape goes back.",
        }, this.layer, this.space);
        this.ctx = this.canvas.getContext("2d", { alpha: false });
        this.raster = new Raster();
        this.theme = "light";
        this.icicle = false;
        this.matched = null;
        this.tree = null;
        this.focus = -1;
        this.hover = -1;
        this.zoomNode = 0;
        this.history = [];
        this.view = { x0: 0, x1: 1 };
        this.target = this.view; // where the view moves to
        this.width = this.height = 0;
        this.fromEnd = 0; // how far a flame graph is scrolled up from its root
        this.input = new GraphInput(this);
        new ResizeObserver(() => this.resize()).observe(this.root);
        this.root.addEventListener("scroll", () => this.scrolled());
        this.root.flameGraph = this;
        listenToPrinting();
    }

    // ---- what is shown ----

    // @keep: it is what was shown before, a little later: place and focus stay.
    setTree(tree, rootText, zoomNode = 0, { keep = false } = {}) {
        const focus = keep && this.tree && this.focus > 0 ? findNode(tree, nameNode(this.tree, this.focus)) : 0;
        const isAtRoot = keep && this.focus === 0;

        if (!this.looks || this.looks.profile !== tree.profile)
            this.looks = new Looks(tree.profile);
        this.tree = tree;
        this.rootText = rootText;
        this.matched = null;
        this.history = [];
        this.focus = focus > 0 || isAtRoot ? focus : -1;
        this.hover = -1;
        this.zoomNode = zoomNode;
        this.view = this.target = this.viewOf(zoomNode);
        this.move = (this.move || 0) + 1;
        if (keep && this.height)
            this.keepRows();
        else
            this.placeRows(true);
        this.redraw();
    }

    // The widths changed (another weight); the place stays.
    reweighed() {
        this.view = this.target = this.viewOf(this.zoomNode);
        this.redraw();
    }

    setMatched(matched) {
        this.matched = matched;
        this.redraw();
    }

    setTint(tint) {
        if (tint === this.tint)
            return;
        this.tint = tint;
        this.redraw();
    }

    setTheme(theme) {
        this.theme = theme;
        this.redraw();
    }

    setIcicle(icicle) {
        this.icicle = icicle;
        this.placeRows(true);
        this.redraw();
    }

    viewOf(node) {
        const { tree } = this;

        return { x0: tree.x[node], x1: tree.x[node] + Math.max(tree.total[node], 1e-9) };
    }

    // ---- zoom ----

    zoom(node, { remember = true, animate = true } = {}) {
        if (node === this.zoomNode && this.isWhole())
            return;
        if (node === 0)
            this.history = [];
        else if (remember)
            this.history.push(this.zoomNode);
        this.zoomNode = node;
        this.moveTo(this.viewOf(node), animate);
        this.placeRows(false);
        this.on.zoom(node, this);
    }

    isWhole() {
        const { x0, x1 } = this.viewOf(this.zoomNode);

        return this.target.x0 === x0 && this.target.x1 === x1;
    }

    back() {
        if (!this.isWhole())
            this.zoom(this.zoomNode, { remember: false });
        else if (this.history.length)
            this.zoom(this.history.pop(), { remember: false });
        else if (this.zoomNode)
            this.zoom(0, { remember: false });
        else
            return false;
        return true;
    }

    reset() {
        this.zoom(0);
    }

    canGoBack() {
        return this.zoomNode !== 0 || !this.isWhole();
    }

    moveTo(target, animate) {
        this.target = target;
        const from = { ...this.view };
        const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;
        const started = performance.now();
        const move = (this.move = (this.move || 0) + 1);

        if (still) {
            this.view = target;
            this.redraw();
            return;
        }
        const step = (now) => {
            if (move !== this.move)
                return; // another zoom took over
            const t = Math.min(1, Math.max(0, (now - started) / ZOOM_MS));
            const eased = 1 - (1 - t) ** 3;

            this.view = t < 1
                ? { x0: from.x0 + (target.x0 - from.x0) * eased, x1: from.x1 + (target.x1 - from.x1) * eased }
                : target;
            this.draw();
            if (t < 1)
                requestAnimationFrame(step);
        };

        requestAnimationFrame(step);
    }

    // ---- rows and scrolling ----

    // Rows of the view: the path to the zoomed frame and what is above it. @home: scroll to the root.
    placeRows(home) {
        if (!this.tree || !this.height)
            return;
        this.rows = levelsBelow(this.tree, this.zoomNode);
        const full = Math.max(this.rows * ROW_HEIGHT, this.height);

        this.full = full;
        this.space.style.height = full - this.height + "px";
        if (home)
            this.fromEnd = 0;
        this.root.scrollTop = this.icicle ? (home ? 0 : this.root.scrollTop) : full - this.height - this.fromEnd;
        this.top = this.root.scrollTop;
        if (!home)
            this.scrollToLevel(this.tree.depth[this.zoomNode]);
    }

    // Rows of another tree: the place of a flame graph counts from its root.
    keepRows() {
        const { fromEnd, top } = this;

        this.rows = levelsBelow(this.tree, this.zoomNode);
        this.full = Math.max(this.rows * ROW_HEIGHT, this.height);
        this.space.style.height = this.full - this.height + "px";
        this.root.scrollTop = this.icicle ? top : this.full - this.height - fromEnd;
        this.scrolled();
    }

    rowY(depth) {
        return this.icicle ? depth * ROW_HEIGHT - this.top : this.full - (depth + 1) * ROW_HEIGHT - this.top;
    }

    scrollToLevel(depth) {
        const y = this.rowY(depth);

        if (y < 0)
            this.root.scrollTop += y - Math.min(2 * ROW_HEIGHT, this.height / 4);
        else if (y + ROW_HEIGHT > this.height)
            this.root.scrollTop += y + ROW_HEIGHT - this.height + Math.min(2 * ROW_HEIGHT, this.height / 4);
        this.scrolled();
    }

    scrolled() {
        this.top = this.root.scrollTop;
        this.fromEnd = (this.full || 0) - this.height - this.top;
        this.redraw();
    }

    resize() {
        const width = this.root.clientWidth, height = this.root.clientHeight;

        if (!width || !height || this.printing)
            return;
        const home = !this.height;

        this.width = width;
        this.height = height;
        this.layer.style.height = height + "px";
        this.placeRows(home);
        this.draw();
    }

    // ---- drawing ----

    redraw() {
        if (this.pending)
            return;
        this.pending = requestAnimationFrame(() => {
            this.pending = 0;
            this.draw();
        });
    }

    draw() {
        if (!this.tree || !this.width)
            return;
        const scale = devicePixelRatio || 1;
        const { canvas, width, height } = this;

        if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
            canvas.width = Math.round(width * scale);
            canvas.height = Math.round(height * scale);
        }
        canvas.style.width = width + "px";
        canvas.style.height = height + "px";
        this.cell = this.cell || measureFont(this.ctx);
        const isMoving = this.view !== this.target;

        drawTree(this.ctx, this.tree, this.looks, {
            ...this.view, isMoving, width, height, scale, cell: this.cell, palette: paletteOf(this.theme),
            tint: this.tint && ((node) => this.tint(this.tree, node, this.theme)),
            matched: this.matched, raster: this.raster, rowY: (depth) => this.rowY(depth), rootText: this.rootText,
        });
        this.place(this.hoverMark, isMoving ? -1 : this.hover);
        this.place(this.focusMark, isMoving ? -1 : this.focus);
    }

    // Puts a mark around a node.
    place(mark, node) {
        const y = node < 0 ? -1 : this.rowY(this.tree.depth[node]);

        if (node < 0 || y + ROW_HEIGHT <= 0 || y >= this.height) {
            mark.hidden = true;
            return;
        }
        const { left, right } = this.pixels(node);

        mark.hidden = right <= left;
        mark.style.transform = `translate(${left}px, ${y}px)`;
        mark.style.width = Math.max(right - left, 2) + "px";
    }

    pixels(node, view = this.view) {
        const perPixel = (view.x1 - view.x0) / this.width;
        const left = (this.tree.x[node] - view.x0) / perPixel;
        const right = left + this.tree.total[node] / perPixel;

        return { left: Math.max(left, 0), right: Math.min(right, this.width) };
    }

    // ---- what a person does with it, by mouse or keyboard ----

    setHover(node, event) {
        this.markHover(node);
        this.on.hover(node, event, this);
    }

    markHover(node) {
        if (node === this.hover)
            return;
        this.hover = node;
        if (this.tree)
            this.place(this.hoverMark, node);
    }

    markFocus(node) {
        this.focus = node;
        if (this.tree)
            this.place(this.focusMark, node);
    }

    async copy(node) {
        const name = nodeName(this.tree, node);

        this.on.copied(await copyText(name), name);
    }

    stretch(factor, at) {
        const { x0, x1 } = this.view;
        const whole = this.tree.total[0];
        const middle = x0 + (x1 - x0) * at;
        const span = Math.min(whole, Math.max((x1 - x0) * factor, whole * 1e-7));

        this.setView(middle - span * at, span);
    }

    pan(share) {
        this.setView(this.view.x0 + (this.view.x1 - this.view.x0) * share, this.view.x1 - this.view.x0);
    }

    setView(x0, span) {
        const whole = this.tree.total[0];
        const start = Math.max(0, Math.min(x0, whole - span));

        this.move = (this.move || 0) + 1;
        this.view = { x0: start, x1: start + span };
        if (span >= whole * (1 - 1e-12))
            this.view = this.viewOf(0);
        this.target = this.view;
        this.redraw();
        this.on.zoom(this.zoomNode, this);
    }

    setFocus(node, { scroll = true } = {}) {
        this.focus = node;
        if (scroll && node >= 0)
            this.reveal(node);
        this.markFocus(node);
        this.on.focus(node, this);
    }

    // Brings a node into sight: scrolls, and zooms where it would be too narrow or lies outside.
    reveal(node) {
        const { tree, target: view } = this;
        const inView = tree.x[node] < view.x1 && tree.x[node] + tree.total[node] > view.x0;
        const visible = this.pixels(node, view);

        if (!inView || !(visible.right - visible.left >= 2)) {
            let to = node;

            while (to > 0 && tree.total[node] / tree.total[tree.parent[to]] * this.width >= REVEAL_WIDTH)
                to = tree.parent[to];
            this.zoom(to);
        } else if (tree.depth[node] >= this.rows) {
            this.zoom(0);
        }
        this.scrollToLevel(tree.depth[node]);
    }
}
