/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of a process: what a stack leads through; or all of them. A process may
 * have tens of thousands of mappings with names of 4 KB each, so neither their text nor their
 * entries are kept, and the kernel is asked for those that are wanted where it can be.
 */
#include "base/cleanup.h"
#include "proc/maps_walk.h"
#include "proc/procmap.h"
#include "proc/stall_readers.h"

struct collector {
    const struct maps_limits *limits;
    struct maps maps;
    size_t cap;
    struct span last; /* the path before; offset and length in the text */
};

/* Where @path stands in the text; paths that follow each other are often the same. */
static bool add_path(struct collector *c, struct span path, struct span *ret)
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
    if (text->n + path.n > c->limits->path_bytes)
        return false;
    *ret = (struct span){ (const char *)(uintptr_t)text->n, path.n };
    buf_add_span(&c->maps.text, path);
    c->last = *ret;
    return !text->error;
}

/* Takes @m. False: a limit is reached. */
static bool add(struct collector *c, const struct mapping *m)
{
    struct mapping *e;

    if (c->maps.count == c->limits->entries)
        return false;
    if (c->maps.count == c->cap) {
        c->cap = c->cap ? MIN(c->cap * 2, c->limits->entries) : 64;
        e = reallocarray(c->maps.entries, c->cap, sizeof(*e));
        if (!e)
            return false;
        c->maps.entries = e;
    }
    e = &c->maps.entries[c->maps.count];
    *e = *m;
    if (!add_path(c, m->path, &e->path))
        return false;
    c->maps.count++;
    return true;
}

/* Ends the walk when a limit is reached. */
static bool collect(const struct mapping *m, void *cookie)
{
    struct collector *c = cookie;

    return (m->exec || c->limits->every) && !add(c, m);
}

/* From offsets in the text to places in it, which does not move any more. */
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
    struct collector c = { .limits = limits };
    int r;

    buf_init(&c.maps.text, limits->path_bytes);
    r = maps_walk_query(fd, limits->every ? 0 : PROCMAP_EXEC, limits->ns, collect, &c);
    if (r == -ENOTTY)
        r = maps_walk_text(fd, limits->ns, collect, &c);
    if (r < 0) {
        maps_deinit(&c.maps);
        return r;
    }
    c.maps.truncated = r == MAPS_ENDED || r == MAPS_LIMIT;
    c.maps.late = r == MAPS_LIMIT;
    settle_paths(&c.maps);
    *ret = c.maps;
    return 0;
}

struct exec_reading {
    struct reading base; /* first */
    struct maps_limits limits;
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
    r = &e->base;
    result = readers_run(id, &r);
    if (result == 0) {
        *ret = e->maps;
        e->maps = (struct maps){ 0 };
    }
    if (r)
        drop_exec(r);
    return result;
}
