/* SPDX-License-Identifier: Apache-2.0 */
#include "render/moments.h"

#include "render/formats.h"

static void add_text(const struct profile *p, const char *member, uint32_t string, struct buf *out)
{
    struct span s = intern_get(p->strings, string);

    if (!s.n)
        return;
    buf_printf(out, ",\"%s\":", member);
    render_add_json_string(out, s);
}

static void add_moment(const struct profile *p, const struct profile_moment *m, struct buf *out)
{
    buf_printf(out, "\n{\"kind\":\"%s\",\"process\":%u,\"at_ns\":%lld,\"ns\":%llu",
               profile_moment_kind_name(m->kind), m->process,
               (long long)(m->start_ns - p->start_ns),
               (unsigned long long)(m->end_ns - m->start_ns));
    if (profile_moment_counts(m->kind))
        buf_printf(out, ",\"count\":%u", m->count);
    if (m->reach_ns)
        buf_printf(out, ",\"%s\":%llu", profile_moment_counts(m->kind) ? "total_ns" : "reach_ns",
                   (unsigned long long)m->reach_ns);
    add_text(p, "name", m->name, out);
    add_text(p, "by", m->by, out);
    add_text(p, "compiler", m->compiler, out);
    buf_add_char(out, '}');
}

void render_add_moments(const struct profile *p, size_t max, struct buf *out)
{
    size_t count = MIN(p->moment_count, max);

    if (!count)
        return;
    buf_add_str(out, ",\n\"moments\":[");
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(out, ',');
        add_moment(p, &p->moments[i], out);
    }
    buf_add_char(out, ']');
    if (p->moment_count > count)
        buf_printf(out, ",\n\"moments_left_out\":%zu", p->moment_count - count);
}
