/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the mapping that makes a process a JVM. A process may have tens of thousands of other
 * mappings, with names of 4 KB each. Where the kernel supports it, only executable files are
 * queried, and either way the time is limited.
 */
#include "base/list.h"
#include "discover/table.h"

#include "base/cleanup.h"
#include "proc/maps_walk.h"
#include "proc/procmap.h"
#include "proc/stall_readers.h"

/* Processor time for one process; mappings beyond it are skipped. */
#define JVM_LOOK_MAX_NS (200 * NSEC_PER_MSEC)
#define JVM_QUERY_MAX_NS (20 * NSEC_PER_MSEC) /* the same limit for queries */
/* The most bytes, and the most mappings, from a library's first mapping to its code. */
#define JVM_LIBRARY_BYTES (UINT64_C(256) << 20)
#define JVM_LIBRARY_MAPPINGS 64

/* Checks the last part of the path: libj9vm29.so, libj9vm_b158.so. */
static bool is_openj9(struct span path)
{
    struct span base = span_from(path, span_rfind(path, '/') + 1);

    return span_starts_with(base, "libj9vm") && span_ends_with(base, ".so");
}

bool jvm_libraries_have(const struct jvm_libraries *all, uint64_t base)
{
    return ANY_OF(i, all->count, all->bases[i] == base);
}

/* Adds a library unless it is there: a library in several pieces comes several times. */
static void add_library(struct jvm_libraries *all, uint64_t base)
{
    if (all->count < JVM_LIBRARIES_MAX && !jvm_libraries_have(all, base))
        all->bases[all->count++] = base;
}

bool jvm_scan_mapping(const struct mapping *m, void *cookie)
{
    struct jvm_scan *s = cookie;

    if (path_is_libjvm(m->path) && m->offset == 0)
        add_library(&s->libjvm, m->start);
    else if (is_openj9(m->path))
        s->openj9 = true;
    return false;
}

/* Returns the address at which the file of the mapping @code is mapped from its beginning. */
static uint64_t find_base(int fd, const struct mapping *code)
{
    uint64_t at = code->start - MIN(code->start, JVM_LIBRARY_BYTES), base = code->start;
    struct procmap name;
    struct mapping m;

    base -= MIN(code->offset, base);
    if (code->offset == 0 || (procmap_query(fd, base, PROCMAP_FILE, &name, &m) == 0 &&
                              m.start == base && m.offset == 0 && m.inode == code->inode))
        return base;
    for (int i = 0; i < JVM_LIBRARY_MAPPINGS &&
                    procmap_query(fd, at, PROCMAP_FILE | PROCMAP_OR_NEXT, &name, &m) == 0 &&
                    m.start < code->start;
         i++) {
        if (m.inode == code->inode && m.dev_major == code->dev_major &&
            m.dev_minor == code->dev_minor && m.offset == 0)
            return m.start;
        at = m.end;
    }
    return base;
}

struct scan_reading {
    struct reading base; /* first */
    struct jvm_scan scan;
    int fd;
};

/* Checks a mapping as jvm_scan_mapping() does, for use with executable mappings only. */
static bool scan_code(const struct mapping *m, void *cookie)
{
    struct scan_reading *s = cookie;

    s->scan.openj9 |= is_openj9(m->path);
    if (path_is_libjvm(m->path))
        add_library(&s->scan.libjvm, find_base(s->fd, m));
    return false;
}

/* Scans the mappings within a limit of time. */
static int run_scan(struct reading *r)
{
    struct scan_reading *s = (struct scan_reading *)r;
    int e = maps_walk_query(s->fd, PROCMAP_EXEC | PROCMAP_FILE, JVM_QUERY_MAX_NS, scan_code, s);

    if (e == -ENOTTY)
        e = maps_walk_text(s->fd, JVM_LOOK_MAX_NS, jvm_scan_mapping, &s->scan);
    return MIN(e, 0);
}

static void drop_scan(struct reading *r)
{
    struct scan_reading *s = (struct scan_reading *)r;

    close_fd(s->fd);
    free(s);
}

int jvm_scan_fd(const struct proc_id *id, int fd, struct jvm_scan *ret)
{
    struct scan_reading *s = calloc(1, sizeof(*s));
    struct reading *r;
    int e;

    if (!s) {
        close_fd(fd);
        return -ENOMEM;
    }
    s->base = (struct reading){ .run = run_scan, .drop = drop_scan };
    s->fd = fd;
    r = &s->base;
    e = readers_run(id, &r);
    if (e == 0)
        *ret = s->scan;
    if (r)
        drop_scan(r);
    return e;
}
