/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/maps: each entry has its own text. Also searches a JVM in it. */
#include "base/cleanup.h"
#include "discover/table.h"
#include "proc/maps_walk.h"
#include "tests/maps_of.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size };
    struct jvm_scan scan = { 0 };
    struct maps m;
    _cleanup_close_ int fd = maps_file(text);

    maps_walk_text(fd, NSEC_PER_SEC, jvm_scan_mapping, &scan);
    lseek(fd, 0, SEEK_SET);
    if (maps_of(fd, &m) < 0)
        abort();
    if (m.count > MAPS_MAX_LINES)
        abort();
    for (size_t i = 0; i < m.count; i++) {
        const struct mapping *e = &m.entries[i];

        if (e->end <= e->start)
            abort();
        if (e->path.n && (e->path.p < m.text.p || e->path.p + e->path.n > m.text.p + m.text.n))
            abort();
        maps_find(&m, e->start);
    }
    maps_deinit(&m);
    return 0;
}
