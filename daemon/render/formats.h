/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to render/: the renderers in the table, and functions that they share. Each renderer
 * appends to @out and returns 0, -EFBIG or -ENOMEM with a sentence.
 */
#pragma once

#include "render/render.h"

#define FORMAT(name, ...)                                                                          \
    int render_##name(const struct view *v, const struct render_opts *o, struct buf *out,          \
                      struct error *err);
#include "render/formats.def"
#undef FORMAT
/* Renders the tree as a page, for clients that accept text/html. Returns 0 or -errno with @err. */
int render_tree_html(const struct view *v, const struct render_opts *o, struct buf *out,
                     struct error *err);

/* Returns the weight: @value if the view weighs by value, else @samples. */
uint64_t render_weight(const struct view *v, uint64_t samples, uint64_t value);

/* Returns the stable name of a kind, as in json and the viewer: "c2", "native", ... Unknown kinds
 * are "unknown". */
const char *render_kind_name(unsigned kind);

/* Appends @s in quotes, with JSON's escapes. */
void render_add_json_string(struct buf *out, struct span s);
/* Appends `,"NAME":"..."` with @s, unless it is empty. */
void render_add_json_member(struct buf *out, const char *name, struct span s);

/* Returns whether the ids or the operation of @c are known. */
static inline bool request_known(const struct profile_context *c)
{
    return profile_context_has_ids(c) || c->operation;
}

/* Appends the requested title, else "cpu · <target>". */
void render_add_title(const struct view *v, const struct render_opts *o, struct buf *out);

/* Appends the members "meta", "quality" and "warnings" (docs/formats.md), without the braces around
 * them. */
void render_add_meta(const struct view *v, const struct render_opts *o, struct buf *out);

/* Returns the result of a renderer, out->error, with a sentence for @err. */
int render_result(const struct buf *out, struct error *err);
