/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps: entries are in order, and each is found by its addresses; a JVM is looked for in
 * the same text. */
#include "discover/table.h"
#include "proc/maps_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size };
    struct jvm_scan scan = { 0 };
    struct maps m;
    struct buf b;

    maps_walk_lines(text, jvm_scan_mapping, &scan);
    buf_init(&b, MAPS_MAX_BYTES);
    buf_add_span(&b, text);
    if (maps_parse(&b, &m) < 0 || b.p)
        abort();
    if (m.count > MAPS_MAX_LINES)
        abort();
    for (size_t i = 0; i < m.count; i++) {
        const struct mapping *e = &m.entries[i];

        if (e->end <= e->start || (i && m.entries[i - 1].start > e->start))
            abort();
        if (e->path.n && (e->path.p < m.text.p || e->path.p + e->path.n > m.text.p + m.text.n))
            abort();
        if (i + 1 == m.count && (i == 0 || m.entries[i - 1].end <= e->start) &&
            maps_find(&m, e->end - 1) == NULL)
            abort();
        maps_find(&m, e->start);
    }
    maps_deinit(&m);
    return 0;
}
