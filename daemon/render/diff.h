/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a diff in a format. Pure. Each function appends to @out and returns 0, -EFBIG or -ENOMEM
 * with a sentence. docs/formats.md describes the formats. Thread: any.
 */
#pragma once

#include "profile/diff.h"
#include "render/render.h"

/* Writes two columns after each stack, as difffolded.pl does for `flamegraph.pl`. The first column
 * is scaled if the diff is normalized. */
int diff_collapsed(const struct diff *d, const struct render_opts *o, struct buf *out,
                   struct error *err);
/* Writes all nodes, and the most changed functions. */
int diff_json(const struct diff *d, const struct render_opts *o, struct buf *out,
              struct error *err);
/* Writes the most changed functions for a terminal, a line each. */
int diff_text(const struct diff *d, const struct render_opts *o, struct buf *out,
              struct error *err);
/* Writes one flame graph: red grew, blue shrank. The width of a frame is the sum of both sides, so
 * that vanished frames stay visible. The graph has zoom and search, as the svg of a profile
 * does. */
int diff_svg(const struct diff *d, const struct render_opts *o, struct buf *out, struct error *err);
/* Writes a page with the viewer of web/, that graph, and the most changed functions. */
int diff_html(const struct diff *d, const struct render_opts *o, struct buf *out,
              struct error *err);
/* Appends the requested title, else "cpu · a → b". */
void diff_add_title(const struct diff *d, const struct render_opts *o, struct buf *out);
/* Appends {"id":…,"target":…,"event":…,"weight":…,…} of one of the two sides. */
void diff_add_side(const struct diff *d, bool is_b, struct buf *out);
/* Appends the warnings as JSON texts with commas. @names: what each begins with, by the side (enum
 * diff_side) that it is about. */
void diff_add_warnings(const struct diff *d, const char *const names[], struct buf *out);
