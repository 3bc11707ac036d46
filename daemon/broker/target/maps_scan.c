/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches of a maps file by the broker: for one mapping, or for their number.
 */
#include "broker/target/target.h"

#include "proc/procmap.h"

/* Limits in processor time; after them, further mappings are not searched. */
#define SCAN_QUERY_NS (20 * NSEC_PER_MSEC)
#define SCAN_TEXT_NS (200 * NSEC_PER_MSEC)

bool maps_scan(int fd, maps_fn fn, void *cookie)
{
    return maps_walk_text(fd, SCAN_TEXT_NS, fn, cookie) == MAPS_ENDED;
}

bool maps_search(int fd, unsigned which, maps_fn fn, void *cookie)
{
    int r = maps_walk_query(fd, which, SCAN_QUERY_NS, fn, cookie);

    return r == -ENOTTY ? maps_scan(fd, fn, cookie) : r == MAPS_ENDED;
}

static bool is_jvm(const struct mapping *m, void *cookie)
{
    uint64_t *start = cookie;

    if (!m->exec || !path_is_libjvm(m->path) || (*start && *start != m->start))
        return false;
    *start = m->start;
    return true;
}

bool maps_find_jvm(int fd, uint64_t *start)
{
    return maps_search(fd, PROCMAP_EXEC | PROCMAP_FILE, is_jvm, start);
}
