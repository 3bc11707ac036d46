/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which mapping tells that a process is a JVM. It may have tens of thousands of others, with names
 * of 4 KB each: the kernel is asked for executable files alone where it can be, and either way has
 * a limit of time.
 */
#include "discover/table.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/procmap.h"
#include "proc/stall_readers.h"

#define JVM_CHUNK_BYTES 65536
/* Of processor time, for one process: the rest is not looked at. */
#define JVM_LOOK_MAX_NS (200 * NSEC_PER_MSEC)
#define JVM_QUERY_MAX_NS (20 * NSEC_PER_MSEC) /* the same where the kernel can be asked */
#define JVM_QUERY_STRIDE 64                   /* questions between two looks at the clock */
/* The mapping of a library's beginning lies so far before its code at most, */
#define JVM_LIBRARY_BYTES (UINT64_C(256) << 20)
#define JVM_LIBRARY_MAPPINGS 64 /* with so many in between. */

/* The last part of the path: libj9vm29.so, libj9vm_b158.so. */
static bool is_openj9(struct span path)
{
    struct span base = span_from(path, span_rfind(path, '/') + 1);

    return span_starts_with(base, "libj9vm") && span_ends_with(base, ".so");
}

void jvm_scan_text(struct jvm_scan *s, struct span text)
{
    struct mapping m;
    struct span line;

    while (s->lines < MAPS_MAX_LINES && span_take_line(&text, &line)) {
        s->lines++;
        if (maps_parse_line(line, &m) < 0)
            continue;
        if (span_ends_with(m.path, "/libjvm.so") && m.offset == 0 &&
            (!s->libjvm_base || m.start < s->libjvm_base))
            s->libjvm_base = m.start;
        else if (is_openj9(m.path))
            s->openj9 = true;
    }
}

/* Reads maps in bounded pieces. 0, or -errno when nothing could be read. */
static int scan_text(int fd, struct jvm_scan *s)
{
    uint64_t deadline_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + JVM_LOOK_MAX_NS;
    char chunk[JVM_CHUNK_BYTES];
    size_t kept = 0, total = 0;
    ssize_t n;

    while ((n = read(fd, chunk + kept, sizeof(chunk) - kept)) > 0) {
        struct span text = { chunk, kept + (size_t)n };
        size_t end = span_rfind(text, '\n');

        total += (size_t)n;
        if (end == text.n) { /* no end of line: wait for it, or drop what is too long for a line */
            kept = text.n < sizeof(chunk) ? text.n : 0;
        } else {
            jvm_scan_text(s, (struct span){ chunk, end });
            kept = text.n - end - 1;
            memmove(chunk, chunk + end + 1, kept);
        }
        if (total >= MAPS_MAX_BYTES || s->lines >= MAPS_MAX_LINES ||
            clock_ns(CLOCK_THREAD_CPUTIME_ID) >= deadline_ns)
            break;
    }
    return n < 0 && total == 0 ? -errno : 0;
}

/* Where the file of @code, a mapping of it, is mapped from its beginning. */
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

/* Asks for one executable file after the other. As scan_text(); -ENOTTY: the kernel cannot be
 * asked. */
static int scan_query(int fd, struct jvm_scan *s)
{
    uint64_t deadline_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + JVM_QUERY_MAX_NS, at = 0;
    const unsigned which = PROCMAP_EXEC | PROCMAP_FILE | PROCMAP_OR_NEXT;
    struct procmap name;
    struct mapping m;
    int r;

    while ((r = procmap_query(fd, at, which, &name, &m)) == 0) {
        if (span_ends_with(m.path, "/libjvm.so")) {
            s->libjvm_base = find_base(fd, &m);
            return 0;
        }
        s->openj9 |= is_openj9(m.path);
        if (++s->lines % JVM_QUERY_STRIDE == 0 && clock_ns(CLOCK_THREAD_CPUTIME_ID) >= deadline_ns)
            return 0;
        at = m.end;
    }
    return r == -ENOENT ? 0 : r;
}

struct scan_reading {
    struct reading base; /* first */
    struct jvm_scan scan;
    int fd;
};

static int run_scan(struct reading *r)
{
    struct scan_reading *s = (struct scan_reading *)r;
    int e = scan_query(s->fd, &s->scan);

    return e == -ENOTTY ? scan_text(s->fd, &s->scan) : e;
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
    s->base = (struct reading){ run_scan, drop_scan, /* jvm= */ false };
    s->fd = fd;
    r = &s->base;
    e = readers_run(id, &r);
    if (e == 0)
        *ret = s->scan;
    if (r)
        drop_scan(r);
    return e;
}
