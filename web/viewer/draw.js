// SPDX-License-Identifier: Apache-2.0
// Paints the part of a tree that is in view onto a canvas. Only levels and frames that can be seen are
// touched: frames too narrow to tell apart are painted together, in runs of the colour of one of them, and those
// below a pixel are passed over by binary search.

import { FONT } from "./looks.js";
import { labelFor } from "../shared/names.js";
import { pixelOf } from "./raster.js";
import { firstEndingAfter } from "../shared/tree.js";

export const ROW_HEIGHT = 18;

const NARROWEST = 0.5; // CSS pixels that a run is wide at least
const DUST_BELOW = 1.5; // frames narrower than this share a colour …
const DUST_WIDTH = 3; // … for so many pixels
export const TEXT_LEFT = 4;
export const TEXT_RIGHT = 2;
const LABEL_MOVING = 8; // while a zoom goes on: shorter ones are gone before they are read
const GAP = 1; // between neighbours, where both are wide enough

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
// scale (device pixels per CSS pixel); cell (width of a character); palette; matched (or null); raster; isMoving;
// tint(node) in place of the kind's colour (or null); rootText.
export function drawTree(ctx, tree, looks, view) {
    const { palette, scale, raster } = view;
    const marks = { hatched: [], texts: [] };

    looks.use(palette);
    view.matchPixel = pixelOf(palette.match);
    view.perPixel = (view.x1 - view.x0) / view.width;
    raster.begin(ctx, scale, pixelOf(palette.paper));
    for (let depth = 0; depth < tree.levels; depth++) {
        const y = view.rowY(depth);

        if (y + ROW_HEIGHT <= 0 || y >= view.height)
            continue;
        drawLevel(ctx, tree, looks, view, depth, y, marks);
        raster.put(y, ROW_HEIGHT - 1);
    }
    raster.show(ctx);
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    paintMarks(ctx, marks, palette, scale);
}

// Paints over rows of plain colour what they hold besides: @hatched [x, y, width, …], @texts [text, x, y, …].
export function paintMarks(ctx, { hatched, texts }, palette, scale) {
    if (hatched.length)
        ctx.fillStyle = hatch(ctx, palette, scale);
    for (let i = 0; i < hatched.length; i += 3)
        ctx.fillRect(hatched[i], hatched[i + 1], hatched[i + 2], ROW_HEIGHT - 1);
    ctx.font = FONT;
    ctx.textBaseline = "middle";
    ctx.fillStyle = palette.ink;
    for (let i = 0; i < texts.length; i += 3)
        ctx.fillText(texts[i], texts[i + 1], texts[i + 2]);
}

function drawLevel(ctx, tree, looks, view, depth, y, marks) {
    const { levelNodes, levelLeft, levelRight } = tree;
    const { x0, x1, perPixel } = view;
    const dustBelow = DUST_BELOW * perPixel;
    const end = tree.levelStart[depth + 1];
    let at = firstEndingAfter(tree, depth, x0);

    while (at < end) {
        if (levelLeft[at] >= x1)
            break;
        if (levelRight[at] - levelLeft[at] < dustBelow) {
            at = drawDust(tree, looks, view, depth, at);
        } else {
            drawFrame(ctx, tree, looks, view, levelNodes[at], y, marks);
            at++;
        }
    }
}

// Paints frames of a level that are too narrow to tell apart, from index @at on. Returns where the next wide one is.
function drawDust(tree, looks, view, depth, at) {
    const { levelNodes, levelLeft, levelRight, group } = tree;
    const { x0, x1, perPixel, matched, matchPixel, tint, raster } = view;
    const dustBelow = DUST_BELOW * perPixel;
    const least = perPixel / view.scale;
    const end = tree.levelStart[depth + 1];
    let from = -1, to = 0, colour = 0; // the run so far

    while (at < end) {
        const left = levelLeft[at], wide = levelRight[at] - left;

        if (left >= x1 || wide >= dustBelow)
            break;
        if (!wide) { // beside another tree: it is in that one alone
            at++;
            continue;
        }
        const next = nextBeyond(tree, depth, at, left + least);
        const px = (left - x0) / perPixel;
        const pixel = matched && anyMatch(tree, matched, at, next) ? matchPixel
            : tint ? pixelOf(tint(levelNodes[at])) : looks.kinds[group[levelNodes[at]]];

        if (from >= 0 && (px - to > NARROWEST || (pixel !== colour && px - from >= DUST_WIDTH) ||
            (pixel === matchPixel) !== (colour === matchPixel))) {
            raster.fill(from, to, colour);
            from = -1;
        }
        if (from < 0) {
            from = Math.max(px, 0);
            colour = pixel;
        }
        to = px + Math.max(wide / perPixel, NARROWEST);
        at = next;
    }
    if (from >= 0)
        raster.fill(from, to, colour);
    return at;
}

// The index in the level after @at of what ends right of @x: often the very next one.
function nextBeyond(tree, depth, at, x) {
    return at + 1 >= tree.levelStart[depth + 1] || tree.levelRight[at + 1] > x ? at + 1
        : firstEndingAfter(tree, depth, x, at + 1);
}

function anyMatch(tree, matched, from, to) {
    for (let i = from; i < to; i++)
        if (matched[tree.group[tree.levelNodes[i]]])
            return true;
    return false;
}

function drawFrame(ctx, tree, looks, view, node, y, marks) {
    const { matched, width, cell, tint } = view;
    const g = tree.group[node];
    const px = (tree.x[node] - view.x0) / view.perPixel;
    const pw = tree.total[node] / view.perPixel;
    const left = Math.max(px, 0);
    const gap = pw >= 3 && px + pw <= width ? GAP : 0;
    const right = Math.min(px + pw, width) - gap;
    const isMatch = matched && node > 0 && matched[g];
    const room = right - left - TEXT_LEFT - TEXT_RIGHT;

    view.raster.fill(left, right, node === 0 ? pixelOf(view.palette.root) : isMatch ? view.matchPixel
        : tint ? pixelOf(tint(node)) : looks.colour(g));
    if (node > 0 && looks.isHatched[g] && !isMatch && !tint && pw > 3)
        marks.hatched.push(left, y, right - left);
    const label = node === 0 ? labelFor([view.rootText || "all", "all"], 10, Math.floor(room / cell))
        : looks.fitted(ctx, g, room, cell, view.isMoving ? LABEL_MOVING : 0);

    if (label)
        marks.texts.push(label, left + TEXT_LEFT, y + ROW_HEIGHT / 2);
}
