/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions in the files that a process maps, for probes. */
#include "symbolize/resolver_impl.h"

#include "base/clock.h"

int resolver_functions(struct resolver *r, uint64_t from, const char *const *prefixes, size_t count,
                       uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!r->maps.count)
        resolver_read_maps(r, now_ns);
    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];
        const struct elf_image *image;

        if (!m->exec || m->start < from || !m->path.n)
            continue;
        image = resolver_bind(r, m, &r->bound[i], now_ns);
        if (!image)
            return r->bound[i].state == BOUND_READING ? -EAGAIN : -ENOENT;
        function_find_all(image, prefixes, count, /* by_prefix= */ true, ret_offsets);
        *ret_start = m->start;
        *ret_end = m->end;
        return 0;
    }
    return -ENOENT;
}

/* Returns the index of the mapping of the file that is called @file; r->maps.count: none. */
static size_t find_file(const struct resolver *r, struct span file)
{
    size_t found = r->maps.count;
    bool exact;

    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];

        if (!m->exec || !function_file_matches(m->path, file, &exact))
            continue;
        if (exact)
            return i;
        if (found == r->maps.count)
            found = i;
    }
    return found;
}

int resolver_function(struct resolver *r, struct span file, struct span name,
                      struct function_found *ret)
{
    uint64_t now_ns = clock_monotonic_ns();
    const struct elf_image *image;
    size_t at = find_file(r, file);

    *ret = (struct function_found){ 0 };
    if (at == r->maps.count && now_ns >= r->miss_ns) {
        resolver_read_maps(r, now_ns);
        at = find_file(r, file);
    }
    if (at == r->maps.count)
        return r->gaps.put_off_ns || r->late ? -EAGAIN : -ENXIO;
    image = resolver_bind(r, &r->maps.entries[at], &r->bound[at], now_ns);
    if (!image)
        return r->bound[at].state == BOUND_READING ? -EAGAIN : -EIO;
    ret->start = r->maps.entries[at].start;
    ret->end = r->maps.entries[at].end;
    return function_find(image, r->env->namer, resolver_owner(r), name, ret);
}

/* Searches in the maps of the last reading. */
static int find_library(struct resolver *r, uint64_t from, const char *const *names, size_t count,
                        uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t now_ns = clock_monotonic_ns();
    const struct mapping *before = NULL; /* the previous mapping that matched */
    bool reading = false;

    for (size_t i = 0; i < r->maps.count; i++) {
        const struct mapping *m = &r->maps.entries[i];
        const struct elf_image *image;
        bool known;

        if (!m->exec || m->path.n == 0 || m->path.p[0] != '/')
            continue;
        known = before && mapping_is_same_file(before, m);
        before = m;
        if (known || m->start < from)
            continue;
        image = resolver_bind(r, m, &r->bound[i], now_ns);
        reading |= !image && r->bound[i].state == BOUND_READING;
        if (reading || !image)
            continue;
        function_find_all(image, names, count, /* by_prefix= */ false, ret_offsets);
        if (!ret_offsets[0])
            continue;
        *ret_start = m->start;
        *ret_end = m->end;
        return 0;
    }
    return reading || r->gaps.put_off_ns || r->late ? -EAGAIN : -ENOENT;
}

int resolver_library(struct resolver *r, uint64_t from, const char *const *names, size_t count,
                     uint64_t *ret_offsets, uint64_t *ret_start, uint64_t *ret_end)
{
    uint64_t now_ns = clock_monotonic_ns();
    int k = find_library(r, from, names, count, ret_offsets, ret_start, ret_end);

    if (k != -ENOENT || from || now_ns < r->miss_ns)
        return k;
    resolver_read_maps(r, now_ns);
    return find_library(r, from, names, count, ret_offsets, ret_start, ret_end);
}
