/* SPDX-License-Identifier: Apache-2.0 */
/* perf_map_parse(): reading at once or in two pieces gives the same, and the last line that covers
 * an address names it. */
#include "symbolize/perf_map.h"

#include "base/cleanup.h"

#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_last_wins(const struct symbol_builder *b, const struct symbol_table *t)
{
    for (size_t i = 0; i < MIN(b->count, (size_t)64); i++) {
        uint64_t address = b->items[i].start;
        const struct symbol *s = symbol_table_find(t, address);
        size_t last = i;

        for (size_t j = i; j < b->count; j++) {
            if (address >= b->items[j].start && address - b->items[j].start < b->items[j].bytes)
                last = j;
        }
        if (!s || s->name != b->items[last].name)
            abort();
    }
}

/* Reads a file that grows, twice, and cuts it afterwards. */
static void check_file(const uint8_t *data, size_t size, const struct symbol_table *whole)
{
    static struct memory_budget memory;
    _cleanup_(perf_map_closep) struct perf_map *m = NULL;
    int fd = memfd_create("fuzz", MFD_CLOEXEC), writer = dup(fd);
    struct symbol_table *t;

    memory_budget_init(&memory);
    if (fd < 0 || writer < 0 || perf_map_open(fd, /* owner= */ 1, (size_t)1 << 20, &memory, &m) < 0)
        abort();
    if (pwrite(writer, data, size / 2, 0) < 0)
        abort();
    perf_map_refresh(m, NULL, UINT64_C(1) << 40);
    if (pwrite(writer, data + size / 2, size - size / 2, (off_t)(size / 2)) < 0)
        abort();
    perf_map_refresh(m, NULL, UINT64_C(2) << 40);
    t = perf_map_symbols(m);
    if (size <= (size_t)1 << 20 && t->count != whole->count)
        abort();
    if (ftruncate(writer, (off_t)(size / 3)) < 0)
        abort();
    perf_map_refresh(m, NULL, UINT64_C(3) << 40);
    close(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 }, pieces = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    struct span text = { (const char *)data, size }, first = { text.p, size / 2 };
    ssize_t used, more;

    symbol_builder_init(&b, PERF_MAP_ENTRIES_MAX, 1 << 20);
    symbol_builder_init(&pieces, PERF_MAP_ENTRIES_MAX, 1 << 20);
    used = perf_map_parse(text, &b);
    if (used < 0 || (size_t)used > size || symbol_table_build_so_far(&b, &t) < 0)
        abort();
    for (size_t i = 0; i < t.count; i++) {
        if (!t.symbols[i].bytes || (i && symbol_end(&t.symbols[i - 1]) > t.symbols[i].start))
            abort();
    }
    check_last_wins(&b, &t);
    check_file(data, size, &t);
    more = perf_map_parse(first, &pieces);
    if (perf_map_parse(span_from(text, (size_t)more), &pieces) + more != used ||
        pieces.count != b.count)
        abort();
    return 0;
}
