/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside render/: the renderers that the table in formats.c names, and what they share. Each
 * appends to
 * @out and returns 0, -EFBIG or -ENOMEM with a sentence.
 */
#pragma once

#include "render/render.h"

int render_html(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err);
int render_svg(const struct view *v, const struct render_opts *o, struct buf *out,
               struct error *err);
int render_collapsed(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err);
int render_json(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err);
int render_summary(const struct view *v, const struct render_opts *o, struct buf *out,
                   struct error *err);
int render_flat(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err);
int render_traces(const struct view *v, const struct render_opts *o, struct buf *out,
                  struct error *err);
int render_tree(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err);
int render_tree_html(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err);
int render_pprof(const struct view *v, const struct render_opts *o, struct buf *out,
                 struct error *err);
int render_heatmap(const struct view *v, const struct render_opts *o, struct buf *out,
                   struct error *err);
int render_speedscope(const struct view *v, const struct render_opts *o, struct buf *out,
                      struct error *err);
int render_otlp(const struct view *v, const struct render_opts *o, struct buf *out,
                struct error *err);
int render_jfr(const struct view *v, const struct render_opts *o, struct buf *out,
               struct error *err);

/* What a row weighs: its value where the view weighs by value, else its samples. */
uint64_t render_weight(const struct view *v, uint64_t samples, uint64_t value);

/* The stable name of a kind, as json and the viewer spell it: "c2", "native", ... Unknown kinds are
 * "unknown". */
const char *render_kind_name(unsigned kind);

/* Appends `"s"` with JSON's escapes. */
void render_add_json_string(struct buf *out, struct span s);

/* Appends the title: the one that was asked for, or "cpu · <target>". */
void render_add_title(const struct view *v, const struct render_opts *o, struct buf *out);

/* Appends the members "meta", "quality" and "warnings" (docs/formats.md), without the braces
 * around. */
void render_add_meta(const struct view *v, const struct render_opts *o, struct buf *out);

/* The result of a renderer whose last word is out->error, with its sentence. */
int render_result(const struct buf *out, struct error *err);
