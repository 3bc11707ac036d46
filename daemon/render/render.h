/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of render/: a view into the bytes of a format. Pure: knows neither sampling nor HTTP. One file
 * per format. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "profile/view.h"

#define RENDER_MAX_BYTES ((size_t)64 << 20)

struct render_opts {
    const char *title;  /* clean UTF-8, or NULL: made from the profile */
    double minwidth;    /* percent of the width below which frames are left out of html and svg; 0: none */
    const char *version; /* of flamed */
};

struct render_format {
    const char *name;         /* "html" */
    const char *content_type; /* with charset where it has one */
    const char *extension;    /* "html" */
    int (*render)(const struct view *v, const struct render_opts *o, struct buf *out,
                  struct error *err); /* 0, -EFBIG (over out's ceiling), -ENOMEM */
};

const struct render_format *render_formats(size_t *ret_count);
const struct render_format *render_format_find(struct span name);
