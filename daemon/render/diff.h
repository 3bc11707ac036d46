/* SPDX-License-Identifier: Apache-2.0 */
/* A diff into the bytes of a format. Pure. Each appends to @out and returns 0, -EFBIG or -ENOMEM
 * with a sentence. docs/formats.md describes them. Thread: any. */
#pragma once

#include "profile/diff.h"
#include "render/render.h"

/* Two columns behind each stack, as difffolded.pl writes them and `flamegraph.pl` reads them; the
 * first is scaled where the diff is normalized. */
int diff_collapsed(const struct diff *d, const struct render_opts *o, struct buf *out,
                   struct error *err);
/* All nodes and the most changed functions. */
int diff_json(const struct diff *d, const struct render_opts *o, struct buf *out,
              struct error *err);
/* Writes the most changed functions, a line each: for a terminal. */
int diff_text(const struct diff *d, const struct render_opts *o, struct buf *out,
              struct error *err);
/* One flame graph: red grew, blue shrank; a frame is as wide as both sides together, so that what
 * vanished is still there. Zooms and is searched as the svg of a profile. */
int diff_svg(const struct diff *d, const struct render_opts *o, struct buf *out, struct error *err);
/* Renders a page with the viewer of web/, that graph in it, and the most changed functions. */
int diff_html(const struct diff *d, const struct render_opts *o, struct buf *out,
              struct error *err);
/* Appends "cpu · a → b", or the title that was asked for. */
void diff_add_title(const struct diff *d, const struct render_opts *o, struct buf *out);
/* Appends {"id":…,"target":…,"event":…,"weight":…,…} of one of the two sides. */
void diff_add_side(const struct diff *d, bool is_b, struct buf *out);
