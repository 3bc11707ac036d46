/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats: render/formats.def. */
#include "render/formats.h"

#include "base/list.h"

static const struct render_format FORMATS[] = {
#define FORMAT(name, content_type, extension, use, ...)                                            \
    { #name, content_type, extension, use, render_##name, __VA_ARGS__ },
#include "render/formats.def"
#undef FORMAT
};

const struct render_format *render_formats(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(FORMATS);
    return FORMATS;
}

size_t render_shortened(const struct render_format *f, const struct view *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->row_count && f->stack_max; i++)
        n += v->rows[i].n > f->stack_max;
    return n;
}

const struct render_format *render_format_find(struct span name)
{
    return FIRST_OF(i, FORMATS, ARRAY_SIZE(FORMATS), span_eq_str(name, FORMATS[i].name));
}
