// SPDX-License-Identifier: Apache-2.0
// What is the same for a profile whatever is in view: the colours and labels of its frames, made when first needed.

import { colourFamily, labelFor, nameForms, splitJavaName } from "../shared/names.js";
import { isHatched, isJava } from "../shared/kinds.js";
import { isForeign } from "../shared/packages.js";
import { variantOf } from "../shared/colors.js";
import { pixelOf } from "./raster.js";

export const FONT = '11.5px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", ' +
    "monospace";

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

export class Looks {
    constructor({ groups }) {
        this.groups = groups;
        this.forms = new Array(groups.length).fill(null);
        this.variants = new Int8Array(groups.length).fill(-1);
        this.isHatched = Uint8Array.from(groups, ({ kind }) => isHatched(kind));
        this.palette = null;
    }

    // Colours are of this palette from now on. By group, as pixels: @kinds of the kind alone, @own with the variant
    // of the package, 0 where it was not needed yet.
    use(palette) {
        if (palette === this.palette)
            return;
        this.palette = palette;
        this.kinds = Uint32Array.from(this.groups, ({ kind }) => pixelOf(palette.kind(kind)));
        this.own = new Uint32Array(this.groups.length);
    }

    colour(g) {
        return this.own[g] || (this.own[g] = this.makeColour(g));
    }

    makeColour(g) {
        const { name, kind, module } = this.groups[g];

        if (this.variants[g] < 0)
            this.variants[g] = variantOf(colourFamily(name, kind, module));
        const { kinds, dim } = this.palette;

        return pixelOf((isJava(kind) && isForeign(splitJavaName(name).pack) ? dim : kinds)[kind][this.variants[g]]);
    }

    label(g, max) {
        const { name, kind } = this.groups[g];
        const forms = this.forms[g] || (this.forms[g] = nameForms(name, kind));

        return labelFor(forms, kind, max);
    }

    // The label that is not wider than @room, for cells of the width @cell; "" where fewer than @least fit.
    fitted(ctx, g, room, cell, least) {
        let max = Math.floor(room / cell);
        let label = max < least ? "" : this.label(g, max);

        while (label && !isPlain(label) && ctx.measureText(label).width > room)
            label = this.label(g, max = Math.min(max - 1, [...label].length - 1));
        return label;
    }
}
