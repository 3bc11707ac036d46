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
/* One flame graph: red grew, blue shrank; a frame is as wide as both sides together, so that what
 * vanished is still there. */
int diff_svg(const struct diff *d, const struct render_opts *o, size_t width, struct buf *out,
             struct error *err);
/* A page with that picture and the table of the most changed functions, without a script. */
int diff_html(const struct diff *d, const struct render_opts *o, size_t width, struct buf *out,
              struct error *err);
/* Appends "cpu · a → b", or the title that was asked for. */
void diff_add_title(const struct diff *d, const struct render_opts *o, struct buf *out);
