// SPDX-License-Identifier: Apache-2.0
// The pixels of a canvas whose picture is rows of plain colour: each row is filled once and copied to its height. Many
// thousand rectangles cost less this way than as calls of the canvas, and their edges stay sharp.

import { rgbOfHex } from "../shared/colors.js";

const FEW_PIXELS = 24; // pixels that are quicker set one by one

const numbers = new Map();

// A colour "#rrggbb" as it stands in memory: little-endian, as every browser's machine is.
export function pixelOf(colour) {
    let number = numbers.get(colour);

    if (number === undefined) {
        const [r, g, b] = rgbOfHex(colour);

        number = (0xff000000 | b << 16 | g << 8 | r) >>> 0;
        numbers.set(colour, number);
    }
    return number;
}

export class Raster {
    // Starts a picture of the canvas of @ctx. @scale: device pixels per CSS pixel. @paper: what is where no row is.
    begin(ctx, scale, paper) {
        const { width, height } = ctx.canvas;

        this.scale = scale;
        this.width = width;
        this.from = height; // rows of pixels that were put: [from, to)
        this.to = 0;
        if (!this.image || this.image.width !== width || this.image.height !== height) {
            this.image = ctx.createImageData(width, height);
            this.pixels = new Uint32Array(this.image.data.buffer);
            this.row = new Uint32Array(width);
        }
        this.paper = paper;
        this.row.fill(paper);
    }

    // Fills the row from @left to @right (CSS pixels) with a colour of pixelOf(), one device pixel at least.
    fill(left, right, pixel) {
        const { row, scale } = this;
        const from = Math.round(left * scale);
        const to = Math.max(from + 1, Math.round(right * scale));

        if (to - from > FEW_PIXELS) {
            row.fill(pixel, from, to);
            return;
        }
        for (let x = from; x < to; x++)
            row[x] = pixel;
    }

    // Puts the row at @top, @height high (CSS pixels) with a gap of one below, and begins another. Rows follow upon
    // each other, up or down.
    put(top, height) {
        const { row, pixels, width, scale, image, paper } = this;
        const from = Math.max(Math.round(top * scale), 0);
        const gap = Math.min(Math.round((top + height) * scale), image.height);
        const to = Math.min(Math.round((top + height + 1) * scale), image.height);

        for (let y = from; y < gap; y++)
            pixels.set(row, y * width);
        if (gap >= 0)
            pixels.fill(paper, gap * width, to * width);
        this.from = Math.min(this.from, from);
        this.to = Math.max(this.to, to);
        row.fill(paper);
    }

    show(ctx) {
        const { pixels, width, from, to, image, paper } = this;

        if (from < to) {
            pixels.fill(paper, 0, from * width);
            pixels.fill(paper, to * width);
        } else {
            pixels.fill(paper);
        }
        ctx.putImageData(image, 0, 0);
    }
}
