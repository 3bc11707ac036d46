// SPDX-License-Identifier: Apache-2.0
// A graph on paper: the whole of it, in light colours, as wide as a sheet.

import { ROW_HEIGHT } from "./draw.js";

const PRINT_WIDTH = 1060;
const CANVAS_MAX = 8192; // CSS pixels of height

let isListening = false;

// Once for the page: what is shown is printed, and what is shown no longer can be forgotten.
export function listenToPrinting() {
    const graphs = () => [...document.querySelectorAll(".graph")].map((root) => root.flameGraph).filter(({ tree }) => tree);

    if (isListening)
        return;
    isListening = true;
    addEventListener("beforeprint", () => graphs().forEach(startPrint));
    addEventListener("afterprint", () => graphs().forEach(endPrint));
}

function startPrint(graph) {
    const { theme, canvas } = graph;

    graph.printing = { theme };
    graph.theme = "light";
    graph.width = PRINT_WIDTH;
    graph.height = Math.min(graph.rows * ROW_HEIGHT, CANVAS_MAX);
    graph.full = graph.rows * ROW_HEIGHT;
    graph.top = graph.icicle ? 0 : graph.full - graph.height;
    graph.layer.style.height = "auto";
    graph.draw();
    canvas.style.width = "100%";
    canvas.style.height = "auto";
    graph.hoverMark.hidden = graph.focusMark.hidden = true;
}

function endPrint(graph) {
    graph.theme = graph.printing.theme;
    graph.printing = null;
    graph.resize();
}
