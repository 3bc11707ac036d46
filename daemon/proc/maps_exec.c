/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the executable mappings of a process, or all of them. A process may have tens of thousands
 * with names of 4 KB each, so the number of entries and of bytes is limited, and PROCMAP_QUERY,
 * where the kernel offers that, asks for executable ones only. Some room is reserved for vital
 * mappings: the libraries that a process loads first have the highest addresses, so they come last.
 */
#include "base/array.h"
#include "base/cleanup.h"
#include "proc/maps_walk.h"
#include "proc/procmap.h"
#include "proc/stall_readers.h"

/* Room for vital mappings and for mappings that samples met; at most a quarter of the limit. */
#define KEPT_ENTRIES (64 + MAPS_MET_MAX)
#define KEPT_PATH_BYTES ((size_t)64 << 10)

struct collector {
    const struct maps_limits *limits;
    struct maps maps;
    size_t cap;
    size_t entries, path_bytes; /* limits without the reserved room; @limits include it */
    struct span last;           /* the previous path, as offset and length in the text */
};

bool path_is_libjvm(struct span path)
{
    static const char NAME[] = "libjvm";
    struct span name = span_base_name(path);

    return path.n && path.p[0] == '/' && span_starts_with(name, NAME) &&
           name.n > sizeof(NAME) - 1 && strchr(".-_", name.p[sizeof(NAME) - 1]) &&
           memmem(name.p, name.n, ".so", strlen(".so"));
}

bool mapping_is_vital(const struct mapping *m)
{
    static const char *const NAMES[] = { "libc.so", "libc-", "libc.musl", "ld-" };
    struct span name = span_base_name(m->path);

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        if (span_starts_with(name, NAMES[i]))
            return true;
    }
    return path_is_libjvm(m->path) || span_eq_str(m->path, "[vdso]");
}

bool maps_meet(struct maps_met **met, uint64_t address)
{
    struct maps_met *m = *met ? *met : (*met = calloc(1, sizeof(*m)));

    for (size_t i = 0; m && i < m->count; i++) {
        if (m->at[i] == address)
            return false;
    }
    if (!m || m->count == MAPS_MET_MAX)
        return false;
    m->at[m->count++] = address;
    return true;
}

bool maps_have_met(const struct maps_met *met, const struct mapping *m)
{
    for (size_t i = 0; met && i < met->count; i++) {
        if (met->at[i] >= m->start && met->at[i] < m->end)
            return true;
    }
    return false;
}

/* Keeps one address for each mapping, so that there is room for addresses in other mappings. */
static void settle_met(struct maps_met *met, const struct maps *maps)
{
    size_t kept = 0;

    for (size_t i = 0; met && i < met->count; i++) {
        const struct mapping *m = maps_find(maps, met->at[i]);
        size_t j = 0;

        while (m && j < kept && met->at[j] != m->start)
            j++;
        if (m && j == kept)
            met->at[kept++] = m->start;
    }
    if (met)
        met->count = kept;
}

/* Stores @path in the text, unless it equals the previous path. Returns false if there is no room.
 */
static bool add_path(struct collector *c, struct span path, size_t max, struct span *ret)
{
    const struct buf *text = &c->maps.text;
    size_t at = (size_t)(uintptr_t)c->last.p;

    if (path.n == 0) {
        *ret = SPAN_NULL;
        return true;
    }
    if (c->last.n == path.n && memcmp(text->p + at, path.p, path.n) == 0) {
        *ret = c->last;
        return true;
    }
    if (text->n + path.n > max)
        return false;
    *ret = (struct span){ (const char *)(uintptr_t)text->n, path.n };
    buf_add_span(&c->maps.text, path);
    c->last = *ret;
    return !text->error;
}

/* Inserts @m at index @at. Returns false if a limit is reached, or there is no memory. */
static bool add_at(struct collector *c, const struct mapping *m, size_t at, bool first)
{
    struct mapping *e, copy = *m;

    if (c->maps.count >= (first ? c->limits->entries : c->entries))
        return false;
    if (!array_grow(&c->maps.entries, &c->cap, c->maps.count + 1, 64) ||
        !add_path(c, m->path, first ? c->limits->path_bytes : c->path_bytes, &copy.path))
        return false;
    e = c->maps.entries + at;
    memmove(e + 1, e, (c->maps.count - at) * sizeof(*e));
    *e = copy;
    c->maps.count++;
    return true;
}

/* Takes a mapping. Beyond the limit without reserved room, takes only mappings that may use that
 * room. If all mappings are wanted, ends the walk at that limit. */
static bool collect(const struct mapping *m, void *cookie)
{
    struct collector *c = cookie;
    bool every = c->limits->every;

    if ((!m->exec && !every) || add_at(c, m, c->maps.count, every))
        return false;
    if (!every && (mapping_is_vital(m) || maps_have_met(c->limits->met, m)) &&
        add_at(c, m, c->maps.count, /* first= */ true))
        return false;
    c->maps.left_out++;
    return every;
}

/* Queries the kernel for each mapping that samples met. Used after the walk ended at its time
 * limit. */
static void ask_for_met(struct collector *c, int fd)
{
    const struct maps_met *met = c->limits->met;
    struct procmap name;
    struct mapping m;

    for (size_t i = 0; met && i < met->count; i++) {
        size_t at = 0;

        if (procmap_query(fd, met->at[i], PROCMAP_EXEC, &name, &m) != 0)
            continue;
        while (at < c->maps.count && c->maps.entries[at].start < m.start)
            at++;
        if (at == c->maps.count || c->maps.entries[at].start != m.start)
            add_at(c, &m, at, /* first= */ true);
    }
}

/* Turns offsets in the text into pointers. Call it when the text has its final address. */
static void settle_paths(struct maps *m)
{
    for (size_t i = 0; i < m->count; i++) {
        struct span *path = &m->entries[i].path;

        if (path->n)
            path->p = m->text.p + (uintptr_t)path->p;
    }
}

static int read_exec(int fd, const struct maps_limits *limits, struct maps *ret)
{
    struct collector c = {
        .limits = limits,
        .entries = limits->entries - MIN((size_t)KEPT_ENTRIES, limits->entries / 4),
        .path_bytes = limits->path_bytes - MIN(KEPT_PATH_BYTES, limits->path_bytes / 4),
    };
    int r;

    buf_init(&c.maps.text, limits->path_bytes);
    r = maps_walk_query(fd, limits->every ? 0 : PROCMAP_EXEC, limits->ns, collect, &c);
    if (r == -ENOTTY)
        r = maps_walk_text(fd, limits->ns, collect, &c);
    if (r < 0) {
        maps_deinit(&c.maps);
        return r;
    }
    c.maps.late = r == MAPS_LIMIT;
    c.maps.truncated = c.maps.left_out || c.maps.late;
    if (c.maps.late && !limits->every)
        ask_for_met(&c, fd);
    settle_paths(&c.maps);
    settle_met(limits->met, &c.maps);
    *ret = c.maps;
    return 0;
}

struct exec_reading {
    struct reading base; /* first */
    struct maps_limits limits;
    struct maps_met met; /* a copy, because the read may outlive its caller */
    struct maps maps;
    int fd;
};

static int run_exec(struct reading *r)
{
    struct exec_reading *e = (struct exec_reading *)r;

    return read_exec(e->fd, &e->limits, &e->maps);
}

static void drop_exec(struct reading *r)
{
    struct exec_reading *e = (struct exec_reading *)r;

    maps_deinit(&e->maps);
    close_fd(e->fd);
    free(e);
}

int maps_read_exec(const struct proc_id *id, int fd, const struct maps_limits *limits,
                   struct maps *ret)
{
    struct exec_reading *e = malloc(sizeof(*e));
    struct reading *r;
    int result;

    if (!e) {
        close_fd(fd);
        return -ENOMEM;
    }
    *e = (struct exec_reading){ .base = { run_exec, drop_exec, /* jvm= */ false },
                                .limits = *limits,
                                .fd = fd };
    if (limits->met) {
        e->met = *limits->met;
        e->limits.met = &e->met;
    }
    r = &e->base;
    result = readers_run(id, &r);
    if (result == 0) {
        *ret = e->maps;
        e->maps = (struct maps){ 0 };
        if (limits->met)
            *limits->met = e->met;
    }
    if (r)
        drop_exec(r);
    return result;
}
