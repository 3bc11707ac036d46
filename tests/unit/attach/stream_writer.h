/* SPDX-License-Identifier: Apache-2.0 */
/* Writes records as the agent does. */
#pragma once

#include "attach/code_map.h"

#include <check.h>

struct writer {
    char bytes[65536];
    size_t n;
};

__attribute__((unused)) static void *add(struct writer *w, uint16_t kind, uint16_t flags,
                                         uint64_t time_ns, size_t bytes)
{
    struct stream_record *r = (struct stream_record *)(w->bytes + w->n);

    bytes = (bytes + 7) / 8 * 8;
    ck_assert_uint_le(w->n + bytes, sizeof(w->bytes));
    memset(r, 0, bytes);
    *r = (struct stream_record){ (uint32_t)bytes, kind, flags, time_ns };
    w->n += bytes;
    return r;
}

__attribute__((unused)) static void add_method(struct writer *w, uint32_t id,
                                               const char *class_name, const char *name,
                                               const struct stream_line *lines, uint32_t line_count)
{
    size_t strings = (strlen(class_name) + strlen(name) + 3) / 4 * 4;
    struct stream_method *m =
        add(w, STREAM_METHOD, 0, 0, sizeof(*m) + strings + line_count * sizeof(*lines));
    char *p = (char *)(m + 1);

    m->id = id;
    m->class_n = (uint16_t)strlen(class_name);
    m->name_n = (uint16_t)strlen(name);
    m->line_count = line_count;
    memcpy(p, class_name, m->class_n);
    memcpy(p + m->class_n, name, m->name_n);
    if (line_count)
        memcpy(p + strings, lines, line_count * sizeof(*lines));
}

__attribute__((unused)) static void add_load(struct writer *w, uint64_t time_ns, uint64_t address,
                                             uint32_t bytes, uint32_t method)
{
    struct stream_load *l = add(w, STREAM_LOAD, 0, time_ns, sizeof(*l));

    l->address = address;
    l->code_bytes = bytes;
    l->method = method;
}

__attribute__((unused)) static void add_unload(struct writer *w, uint64_t time_ns, uint64_t address)
{
    struct stream_unload *u = add(w, STREAM_UNLOAD, 0, time_ns, sizeof(*u));

    u->address = address;
}

__attribute__((unused)) static struct code_map *fed(const struct writer *w, int result)
{
    struct code_map *m = NULL;

    ck_assert_int_eq(code_map_new(NULL, 0, &m), 0);
    ck_assert_int_eq(code_map_feed(m, (struct span){ w->bytes, w->n }), result);
    return m;
}
