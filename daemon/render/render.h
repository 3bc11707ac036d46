/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of render/: a view into the bytes of a format. Pure: knows neither sampling nor HTTP.
 * One file per format, one row of the table in formats.def. The same view and options give the same
 * bytes. The formats are described in docs/formats.md. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "profile/view.h"
#include "profile/words.h"

#define RENDER_MAX_BYTES ((size_t)64 << 20)

#define RENDER_VALUES_MAX 4

/* What the values of a sample are called. */
struct render_value {
    const char *type, *unit;
};

struct render_opts {
    const char *title;   /* clean UTF-8, or NULL: made from the profile */
    double minwidth;     /* percent of the width below which frames are left out of html and svg; 0:
                            none */
    const char *version; /* of flamed; NULL: left out */
    const char *host;    /* otlp: the name of this machine; NULL: left out */
    const char *link;    /* otlp: address of the profile without its service; NULL: left out */
    bool untimed;        /* otlp: sums in place of the times of samples */
    bool spans;          /* pprof: each span has samples of its own, with its ids */
    bool reverse;        /* html, svg: opens with callers merged from the leaf; tree: is so */
    bool inverted;       /* html, svg: opens with the root at the top (an icicle) */
    const struct words *words; /* summary: what it begins with; NULL: nothing */
    size_t top;   /* rows of flat, stacks of traces, frames of tree; 0: RENDER_TOP_DEFAULT */
    size_t width; /* of svg, in pixels; 0: 1200 */
    /* pprof: names of both values of the one event, and of values behind them, which are 0. At most
     * RENDER_VALUES_MAX; a type NULL ends them. NULL: the event's names. */
    const struct render_value *values;
};

#define RENDER_TOP_DEFAULT 200
#define SPEEDSCOPE_STACK_MAX 2000 /* frames: speedscope recurses, and fails from about 4,500 on */

struct render_format {
    const char *name;         /* "html" */
    const char *content_type; /* with charset where it has one */
    const char *extension;    /* "html" */
    const char *use;          /* "a page to keep or send" */
    /* Appends to @out. @o may be NULL. 0, -EFBIG (over out's ceiling), -ENOMEM. */
    int (*render)(const struct view *v, const struct render_opts *o, struct buf *out,
                  struct error *err);
    /* The same for a person with a browser, as text/html; NULL: there is none. */
    int (*render_html)(const struct view *v, const struct render_opts *o, struct buf *out,
                       struct error *err);
    bool keep_lines;  /* wants a view with view_opts.keep_lines */
    bool exact;       /* wants a view with view_opts.exact */
    bool owners;      /* wants a view with view_opts.owners */
    bool requests;    /* with spans=1 wants view_opts.requests */
    bool every_event; /* holds all events of a profile: wants view_opts.every_event */
    bool waits;       /* wants view_opts.waits */
    bool words;       /* wants render_opts.words */
    bool flows;       /* only appends to its buffer, which may spill (base/buf.h) */
    size_t stack_max; /* frames: of longer stacks it leaves out the middle; 0: it has all */
};

/* Returns the table of formats, static. */
const struct render_format *render_formats(size_t *ret_count);
/* Returns how many stacks of @v are longer than @f has them. */
size_t render_shortened(const struct render_format *f, const struct view *v);
/* NULL when there is no such format. Names are compared exactly. */
const struct render_format *render_format_find(struct span name);
