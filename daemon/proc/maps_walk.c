/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/maps_walk.h"

#include "base/clock.h"
#include "proc/procmap.h"

#include <unistd.h>

/* More than any line: a path has 4,096 bytes at most, and each may be written as "\012". */
#define CHUNK_BYTES 65536
#define QUERY_STRIDE 64 /* queries between two reads of the clock */

/* Returns the CPU time of this thread. Time of other threads does not count. */
static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static int walk_lines(struct span text, size_t *lines, maps_fn fn, void *cookie)
{
    struct mapping m;
    struct span line;

    while (span_take_line(&text, &line)) {
        if (++*lines > MAPS_MAX_LINES)
            return MAPS_LIMIT;
        if (maps_parse_line(line, &m) == 0 && fn(&m, cookie))
            return MAPS_ENDED;
    }
    return 0;
}

int maps_walk_text(int fd, uint64_t ns, maps_fn fn, void *cookie)
{
    uint64_t deadline_ns = now_ns() + ns;
    char chunk[CHUNK_BYTES];
    size_t kept = 0, total = 0, lines = 0;
    ssize_t n;

    while ((n = read(fd, chunk + kept, sizeof(chunk) - kept)) > 0) {
        struct span text = { chunk, kept + (size_t)n };
        size_t end = span_rfind(text, '\n');
        int r;

        total += (size_t)n;
        /* No end of line: read on, or drop a text that is too long for a line. */
        if (end == text.n) {
            kept = text.n < sizeof(chunk) ? text.n : 0;
            r = 0;
        } else {
            r = walk_lines((struct span){ chunk, end }, &lines, fn, cookie);
            kept = text.n - end - 1;
            memmove(chunk, chunk + end + 1, kept);
        }
        if (r)
            return r;
        if (total >= MAPS_MAX_BYTES || now_ns() >= deadline_ns)
            return MAPS_LIMIT;
    }
    return n < 0 ? -errno : 0;
}

int maps_walk_query(int fd, unsigned which, uint64_t ns, maps_fn fn, void *cookie)
{
    uint64_t deadline_ns = now_ns() + ns, at = 0;
    struct procmap name;
    struct mapping m;
    int r;

    for (size_t n = 1; (r = procmap_query(fd, at, which | PROCMAP_OR_NEXT, &name, &m)) == 0; n++) {
        if (fn(&m, cookie))
            return MAPS_ENDED;
        if (n % QUERY_STRIDE == 0 && now_ns() >= deadline_ns)
            return MAPS_LIMIT;
        at = m.end;
    }
    return r == -ENOENT ? 0 : r;
}
