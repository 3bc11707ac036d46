/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as SVG, box by box. The result is a complete picture. Its script adds zoom and
 * search, as FlameGraph's does. Independent of profiles. Private to render/standalone/.
 */
#pragma once

#include "base/buf.h"

#define SVG_WIDTH_DEFAULT 1200
#define SVG_LEAST_PX 0.1 /* narrower boxes are left out */

struct svg_picture {
    struct buf *out;
    double width;    /* pixels */
    uint32_t levels; /* levels of boxes */
    bool inverted;   /* the root at the top */
};

/* Returns the part of the whole (0 to 1) below which a box is not drawn. @width: pixels, 0: the
 * default; @minwidth: percent. */
double svg_least(size_t width, double minwidth);

/* Begins a picture. @note: the line below the title. @about: further text, a tooltip of the
 * note. */
void svg_begin(const struct svg_picture *p, struct span title, struct span note, struct span about);
/* Appends a box from @left on, @part wide, both relative to the whole (0 to 1). @facts follow the
 * name in brackets; @colour is 0xrrggbb. */
void svg_add_box(const struct svg_picture *p, uint32_t depth, double left, double part,
                 struct span name, struct span facts, uint32_t colour);
void svg_end(const struct svg_picture *p);

/* Appends a number such as "1,234,567". */
void svg_add_count(struct buf *out, uint64_t n);
