/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking a maps file in a fixed buffer: the only text of /proc that the broker looks through, and
 * only to find whether a mapping is there, or how many there are.
 */
#include "broker/target/target.h"

#include "base/clock.h"
#include "proc/procmap.h"

#include <unistd.h>

#define WALK_BUFFER_BYTES                                                                          \
    65536 /* a line has at most a path of 4,096 bytes, each perhaps as "\012" */

/* Of processor time: what a process maps behind that is not looked at. */
#define WALK_QUERY_NS (20 * NSEC_PER_MSEC)
#define WALK_TEXT_NS (200 * NSEC_PER_MSEC)

bool maps_walk(int fd, maps_fn fn, void *cookie)
{
    static char buffer[WALK_BUFFER_BYTES];
    uint64_t deadline_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WALK_TEXT_NS;
    size_t held = 0, total = 0, lines = 0;

    for (;;) {
        ssize_t n = read(fd, buffer + held, sizeof(buffer) - held);
        struct span text, line;
        size_t end;

        if (n <= 0)
            return false;
        total += (size_t)n;
        held += (size_t)n;
        end = span_rfind((struct span){ buffer, held }, '\n');
        if (end == held) { /* no line end in the whole buffer: nothing the kernel writes */
            if (held == sizeof(buffer))
                return false;
            continue;
        }
        text = (struct span){ buffer, end + 1 };
        while (span_take_line(&text, &line)) {
            struct mapping m;

            if (++lines > MAPS_MAX_LINES)
                return false;
            if (maps_parse_line(line, &m) == 0 && fn(&m, cookie))
                return true;
        }
        if (total > MAPS_MAX_BYTES || clock_ns(CLOCK_THREAD_CPUTIME_ID) >= deadline_ns)
            return false;
        held -= end + 1;
        memmove(buffer, buffer + end + 1, held);
    }
}

static bool is_jvm(const struct mapping *m, void *cookie)
{
    if (!m->exec || !span_ends_with(m->path, "/libjvm.so"))
        return false;
    *(uint64_t *)cookie = m->start;
    return true;
}

bool maps_search(int fd, unsigned which, maps_fn fn, void *cookie)
{
    uint64_t deadline_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + WALK_QUERY_NS, at = 0;
    struct procmap name;
    struct mapping m;
    int r;

    while ((r = procmap_query(fd, at, which | PROCMAP_OR_NEXT, &name, &m)) == 0) {
        if (fn(&m, cookie))
            return true;
        if (clock_ns(CLOCK_THREAD_CPUTIME_ID) >= deadline_ns)
            return false;
        at = m.end;
    }
    return r == -ENOTTY && maps_walk(fd, fn, cookie);
}

bool maps_find_jvm(int fd, uint64_t *ret_start)
{
    return maps_search(fd, PROCMAP_EXEC | PROCMAP_FILE, is_jvm, ret_start);
}
