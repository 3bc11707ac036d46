// SPDX-License-Identifier: Apache-2.0
// Paints the part of a tree that is in view onto a canvas. Only levels and frames that can be seen are
// touched: frames too narrow to tell apart are painted together, in runs of the colour of one of them, and those
// below half a pixel are passed over by binary search.

import { colourFamily, labelFor, nameForms } from "./names.js";
import { isHatched } from "./kinds.js";
import { variantOf } from "./colors.js";
import { firstEndingAfter, nodeKind } from "./tree.js";

export const ROW_HEIGHT = 18;
export const FONT = '11.5px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", ' +
    "monospace";

const NARROWEST = 0.5; // CSS pixels; narrower frames are passed over
const DUST_BELOW = 1.5; // frames narrower than this share a colour …
const DUST_WIDTH = 3; // … for so many pixels
const TEXT_LEFT = 4;
const GAP = 1; // between neighbours, where both are wide enough

// What is the same for a profile whatever is in view: colours and labels, made when first needed.
export class Looks {
    constructor(profile) {
        this.profile = profile;
        this.variants = new Int8Array(profile.groups.length).fill(-1);
        this.forms = new Array(profile.groups.length).fill(null);
        this.labels = new Map();
    }

    colour(palette, g) {
        const { name, kind, module } = this.profile.groups[g];

        if (this.variants[g] < 0)
            this.variants[g] = variantOf(colourFamily(name, kind, module));
        return palette.kinds[kind][this.variants[g]];
    }

    label(g, max) {
        const { name, kind } = this.profile.groups[g];
        const forms = this.forms[g] || (this.forms[g] = nameForms(name, kind));

        return labelFor(forms, kind, max);
    }
}

// Cells are of one width in a monospace font; names with other characters are measured.
export function measureFont(ctx) {
    ctx.font = FONT;
    return ctx.measureText("MMMMMMMMMM").width / 10;
}

function isPlain(text) {
    for (let i = 0; i < text.length; i++)
        if (text.charCodeAt(i) > 0x7e && text[i] !== "…")
            return false;
    return true;
}

function fitted(ctx, looks, g, width, cell) {
    let max = Math.floor((width - TEXT_LEFT - 2) / cell);
    let label = looks.label(g, max);

    while (label && !isPlain(label) && ctx.measureText(label).width > width - TEXT_LEFT - 2)
        label = looks.label(g, max = Math.min(max - 1, [...label].length - 1));
    return label;
}

const hatchPatterns = new Map();

function hatch(ctx, palette, scale) {
    const key = palette.theme + scale;

    if (!hatchPatterns.has(key)) {
        const tile = document.createElement("canvas");
        const size = Math.round(6 * scale);
        const t = tile.getContext("2d");

        tile.width = tile.height = size;
        t.strokeStyle = palette.hatch;
        t.lineWidth = scale;
        t.beginPath();
        for (const shift of [-size, 0, size]) {
            t.moveTo(shift - 1, size + 1);
            t.lineTo(shift + size + 1, -1);
        }
        t.stroke();
        hatchPatterns.set(key, tile);
    }
    const pattern = ctx.createPattern(hatchPatterns.get(key), "repeat");

    pattern.setTransform(new DOMMatrix().scale(1 / scale));
    return pattern;
}

// @view: x0, x1 (weight at the left and right edge); width, height (CSS pixels); rowY(depth) (where a level is);
// scale (device pixels per CSS pixel); cell (width of a character); palette; matched (or null);
// tint(node) in place of the kind's colour (or null); rootText.
export function drawTree(ctx, tree, looks, view) {
    const { palette, scale } = view;

    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.clearRect(0, 0, view.width, view.height);
    ctx.font = FONT;
    ctx.textBaseline = "middle";
    const cell = view.cell || measureFont(ctx);
    const texts = [];

    view.rects = new Map();
    for (let depth = 0; depth < tree.levels; depth++) {
        const y = view.rowY(depth);

        if (y + ROW_HEIGHT > 0 && y < view.height)
            drawLevel(ctx, tree, looks, view, depth, y, cell, texts);
    }
    paintRects(ctx, view.rects);
    if (view.hatched) {
        ctx.fillStyle = hatch(ctx, palette, scale);
        for (let i = 0; i < view.hatched.length; i += 3)
            ctx.fillRect(view.hatched[i], view.hatched[i + 1], view.hatched[i + 2], ROW_HEIGHT - 1);
    }
    ctx.fillStyle = palette.ink;
    for (let i = 0; i < texts.length; i += 3)
        ctx.fillText(texts[i], texts[i + 1], texts[i + 2]);
}

// Rectangles are kept by colour: they do not overlap, and changing the colour costs more than painting one.
function addRect(rects, colour, x, y, width) {
    let list = rects.get(colour);

    if (!list)
        rects.set(colour, list = []);
    list.push(x, y, width);
}

function paintRects(ctx, rects) {
    for (const [colour, list] of rects) {
        ctx.fillStyle = colour;
        for (let i = 0; i < list.length; i += 3)
            ctx.fillRect(list[i], list[i + 1], list[i + 2], ROW_HEIGHT - 1);
    }
}

function drawLevel(ctx, tree, looks, view, depth, y, cell, texts) {
    const { x0, x1, width, palette, matched } = view;
    const perPixel = (x1 - x0) / width;
    const least = NARROWEST * perPixel;
    const end = tree.levelStart[depth + 1];
    let at = firstEndingAfter(tree, depth, x0);
    let dustFrom = -1, dustTo = 0, dustColour = "";

    const flushDust = () => {
        if (dustFrom < 0)
            return;
        addRect(view.rects, dustColour, dustFrom, y, Math.max(dustTo - dustFrom, NARROWEST));
        dustFrom = -1;
    };

    while (at < end) {
        const node = tree.levelNodes[at];
        const px = (tree.x[node] - x0) / perPixel;
        const pw = tree.total[node] / perPixel;

        if (tree.x[node] >= x1)
            break;
        if (!tree.total[node]) { // beside another tree: it is in that one alone
            at++;
            continue;
        }
        if (pw >= DUST_BELOW) {
            flushDust();
            drawFrame(ctx, tree, looks, view, node, px, pw, y, cell, texts);
            at++;
            continue;
        }
        const skipTo = Math.max(at + 1, firstEndingAfter(tree, depth, tree.x[node] + least, at));
        const colour = matched && anyMatch(tree, matched, at, skipTo) ? palette.match
            : view.tint ? view.tint(node) : palette.kind(nodeKind(tree, node));

        if (dustFrom >= 0 && (px - dustTo > NARROWEST || (colour !== dustColour && px - dustFrom >= DUST_WIDTH) ||
            (colour === palette.match) !== (dustColour === palette.match)))
            flushDust();
        if (dustFrom < 0) {
            dustFrom = px;
            dustColour = colour;
        }
        dustTo = Math.max(px + pw, px + NARROWEST);
        at = skipTo;
    }
    flushDust();
}

function anyMatch(tree, matched, from, to) {
    for (let i = from; i < to; i++)
        if (matched[tree.group[tree.levelNodes[i]]])
            return true;
    return false;
}

function drawFrame(ctx, tree, looks, view, node, px, pw, y, cell, texts) {
    const { palette, matched, width } = view;
    const g = tree.group[node];
    const left = Math.max(px, 0);
    const right = Math.min(px + pw, width);
    const gap = pw >= 3 && px + pw <= width ? GAP : 0;
    const isMatch = matched && node > 0 && matched[g];

    addRect(view.rects, node === 0 ? palette.root : isMatch ? palette.match
        : view.tint ? view.tint(node) : looks.colour(palette, g),
        left, y, right - left - gap);
    if (node > 0 && !isMatch && !view.tint && isHatched(nodeKind(tree, node)) && pw > 3)
        (view.hatched || (view.hatched = [])).push(left, y, right - left - gap);
    const room = right - left - gap;
    const label = node === 0 ? rootLabel(view, room, cell) : fitted(ctx, looks, g, room, cell);

    if (label)
        texts.push(label, left + TEXT_LEFT, y + ROW_HEIGHT / 2);
}

function rootLabel(view, room, cell) {
    return labelFor([view.rootText || "all", "all"], 10, Math.floor((room - TEXT_LEFT - 2) / cell));
}

