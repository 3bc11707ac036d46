/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of render/: writes a view in a format. Pure: no sampling, no HTTP. One file per
 * format, one row of the table in formats.def. Equal views and options give equal bytes.
 * docs/formats.md describes the formats. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "profile/view.h"
#include "profile/words.h"

#define RENDER_MAX_BYTES ((size_t)64 << 20)

#define RENDER_VALUES_MAX 4

/* Name and unit of a sample's value. */
struct render_value {
    const char *type, *unit;
};

struct render_opts {
    const char *title;   /* clean UTF-8; NULL: made from the profile */
    double minwidth;     /* percent of the width below which frames are left out of html and svg; 0:
                            none */
    const char *version; /* of flamed; NULL: left out */
    const char *host;    /* otlp: the name of this machine; NULL: left out */
    const char *link;    /* otlp: address of the profile without its service; NULL: left out */
    bool untimed;        /* otlp: write sums, not the times of samples */
    bool spans;          /* pprof: each span has its own samples, with its ids */
    bool reverse;        /* html, svg: opens with stacks merged from the leaf; tree: merges stacks
                          * from the leaf */
    bool inverted;       /* html, svg: opens with the root at the top (an icicle) */
    const struct words *words; /* summary: sentences at its beginning; NULL: none */
    size_t top;   /* rows of flat, stacks of traces, frames of tree; 0: RENDER_TOP_DEFAULT */
    size_t width; /* width of svg, in pixels; 0: 1200 */
    /* pprof: names of both values of the event, and of further values, which are 0. At most
     * RENDER_VALUES_MAX; a NULL type ends the list. NULL: the event's names. */
    const struct render_value *values;
};

#define RENDER_TOP_DEFAULT 200
#define SPEEDSCOPE_STACK_MAX 2000 /* frames: speedscope recurses, and fails at about 4,500 */

struct render_format {
    const char *name;         /* "html" */
    const char *content_type; /* with charset if it has one */
    const char *extension;    /* "html" */
    const char *use;          /* "a page to keep or send" */
    /* Appends to @out. @o may be NULL. 0, -EFBIG (over out's ceiling), -ENOMEM. */
    int (*render)(const struct view *v, const struct render_opts *o, struct buf *out,
                  struct error *err);
    /* Renders as text/html for a browser; NULL: not supported. */
    int (*render_html)(const struct view *v, const struct render_opts *o, struct buf *out,
                       struct error *err);
    bool keep_lines;  /* wants a view with view_opts.keep_lines */
    bool exact;       /* wants a view with view_opts.exact */
    bool owners;      /* wants a view with view_opts.owners */
    bool kinds;       /* wants a view with view_opts.kinds */
    bool requests;    /* with spans=1 needs view_opts.requests */
    bool contexts;    /* shows nothing without requests */
    bool every_event; /* the format holds all events: wants view_opts.every_event */
    bool waits;       /* wants view_opts.waits */
    bool words;       /* wants render_opts.words */
    bool times;       /* shows the times of single samples */
    bool flows;       /* only appends to its buffer, which may spill (base/buf.h) */
    size_t stack_max; /* frames: the middle of longer stacks is left out; 0: no limit */
};

/* Returns the table of formats, static. */
const struct render_format *render_formats(size_t *ret_count);
/* Returns the number of stacks in @v that @f shortens. */
size_t render_shortened(const struct render_format *f, const struct view *v);
/* Returns the format with exactly this name; NULL: none. */
const struct render_format *render_format_find(struct span name);
