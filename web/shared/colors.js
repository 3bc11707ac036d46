// SPDX-License-Identifier: Apache-2.0
// The palette. Kinds differ in hue and in lightness, so that they stay apart for colour-blind people and on
// grey paper; within a kind the hue varies a little by package. Colours are made in OKLCH, where equal steps
// look equal, and a test holds the text on each of them to WCAG AA.

import { KIND, isSynthetic } from "./kinds.js";

export const VARIANTS = 8;

// [lightness, chroma, hue] by kind.
const LIGHT = [
    [0.86, 0.000, 0],   // unknown
    [0.797, 0.110, 154], // c2
    [0.69, 0.095, 195], // c1
    [0.89, 0.100, 142], // inlined
    [0.92, 0.140, 98], // interpreted
    [0.78, 0.150, 65],  // native
    [0.72, 0.110, 300], // jvm
    [0.81, 0.080, 308], // stub
    [0.65, 0.160, 34],  // kernel
    [0.90, 0.018, 255], // thread
    [0.85, 0.022, 255], // process
    [0.91, 0.000, 0],   // truncated
    [0.89, 0.075, 68],  // native_inlined
    [0.884, 0.140, 29],  // runnable
    [0.84, 0.060, 245],  // sleep
    [0.747, 0.129, 9],   // lock
    [0.80, 0.100, 350],  // notify
    [0.66, 0.092, 292],  // park
    [0.89, 0.050, 212],  // poll
    [0.753, 0.130, 250], // network
    [0.82, 0.090, 112],  // file
    [0.72, 0.100, 92],   // disk
    [0.84, 0.080, 178],  // pipe
    [0.71, 0.130, 52],   // fault
    [0.73, 0.110, 328],  // vm
    [0.80, 0.012, 60],   // stopped
    [0.93, 0.005, 273],  // blocked
    [0.83, 0.075, 232], // class
    [0.75, 0.120, 162], // jvmci
    [0.87, 0.030, 245], // request
];
const DARK = [
    [0.40, 0.000, 0],
    [0.543, 0.080, 167],
    [0.42, 0.077, 213],
    [0.488, 0.079, 137],
    [0.556, 0.120, 92],
    [0.422, 0.050, 50],
    [0.419, 0.141, 297],
    [0.51, 0.105, 308],
    [0.35, 0.120, 36],
    [0.35, 0.020, 255],
    [0.31, 0.024, 255],
    [0.35, 0.000, 0],
    [0.47, 0.080, 62],
    [0.54, 0.144, 35],
    [0.396, 0.070, 232],
    [0.422, 0.160, 8],
    [0.46, 0.100, 350],
    [0.35, 0.139, 292],
    [0.50, 0.045, 212],
    [0.53, 0.110, 242],
    [0.50, 0.080, 112],
    [0.43, 0.080, 92],
    [0.48, 0.070, 178],
    [0.46, 0.110, 50],
    [0.43, 0.120, 328],
    [0.42, 0.012, 60],
    [0.50, 0.020, 295],
    [0.46, 0.080, 245],
    [0.48, 0.095, 165],
    [0.33, 0.030, 245],
];
// Colours of the categories of CPU time that are threads of the JVM. They stand beside colours of kinds of code.
const CATEGORY = {
    light: { jit: [0.70, 0.110, 244], gc: [0.47, 0.145, 319], vm: [0.56, 0.020, 294] },
    dark: { jit: [0.61, 0.160, 227], gc: [0.60, 0.240, 297], vm: [0.81, 0.057, 277] },
};
const MATCH = { light: [0.74, 0.215, 335], dark: [0.53, 0.215, 340] };
const PAPER = { light: "#ffffff", dark: "#17191c" }; // --page of base.css
const INK = { light: "#161616", dark: "#ffffff" };

export const THEMES = Object.freeze(["light", "dark"]);

function gamma(c) {
    const v = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;

    return Math.round(Math.min(1, Math.max(0, v)) * 255);
}

// sRGB bytes of a colour in OKLCH; what lies outside of sRGB is clipped.
export function rgbOfOklch(l, c, h) {
    const a = c * Math.cos(h * Math.PI / 180);
    const b = c * Math.sin(h * Math.PI / 180);
    const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3;
    const y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
    const z = (l - 0.0894841775 * a - 1.2914855480 * b) ** 3;

    return [
        gamma(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z),
        gamma(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z),
        gamma(-0.0041960863 * x - 0.7034186147 * y + 1.7076147010 * z),
    ];
}

export function hexOf(rgb) {
    return "#" + rgb.map((v) => v.toString(16).padStart(2, "0")).join("");
}

export function rgbOfHex(hex) {
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
}

function luminance(rgb) {
    const [r, g, b] = rgb.map((v) => {
        const c = v / 255;

        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });

    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// WCAG 2 contrast ratio of two "#rrggbb".
export function contrast(one, other) {
    const a = luminance(rgbOfHex(one));
    const b = luminance(rgbOfHex(other));

    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const DIM = { light: { up: 0.03, chroma: 0.45 }, dark: { up: -0.03, chroma: 0.5 } }; // of code that is not the application's

function dimmed([l, c, h], { up, chroma }) {
    return [Math.min(l + up, 0.97), c * chroma, h];
}

function variantsOf([l, c, h], kind) {
    const list = [];

    for (let i = 0; i < VARIANTS; i++) {
        const t = i / (VARIANTS - 1) * 2 - 1; // -1 … 1
        const bend = kind === KIND.UNKNOWN || isSynthetic(kind) ? 0 : t;

        list.push(hexOf(rgbOfOklch(l - 0.012 * bend, c, h + 8 * bend)));
    }
    return list;
}

function makePalette(theme) {
    const base = theme === "dark" ? DARK : LIGHT;
    const kinds = base.map(variantsOf);

    return Object.freeze({
        theme,
        ink: INK[theme],
        paper: PAPER[theme],
        match: hexOf(rgbOfOklch(...MATCH[theme])),
        root: theme === "dark" ? "#2b2e33" : "#e3e5e8",
        hatch: theme === "dark" ? "#616161" : "#b4b4b4",
        kinds,
        dim: base.map((colour, kind) => variantsOf(dimmed(colour, DIM[theme] || DIM.light), kind)),
        // The colour of a kind in a legend.
        kind: (kind) => kinds[kind][VARIANTS >> 1],
        category: Object.fromEntries(Object.entries(CATEGORY[theme]).map(([id, colour]) => [id, hexOf(rgbOfOklch(...colour))])),
    });
}

const PALETTES = { light: makePalette("light"), dark: makePalette("dark") };

export function paletteOf(theme) {
    return PALETTES[theme] || PALETTES.light;
}

// A small number that is the same for equal texts.
export function hashText(text, seed = 0x811c9dc5) {
    let h = seed;

    for (let i = 0; i < text.length; i++)
        h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
    return h >>> 0;
}

export function variantOf(family) {
    const h = hashText(family);

    return ((h ^ h >>> 13 ^ h >>> 21) >>> 0) % VARIANTS;
}
