/* SPDX-License-Identifier: Apache-2.0 */
/* perf_map_parse(): read whole or in two pieces, the same comes out, and the last line that covers
 * an address names it. */
#include "symbolize/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_last_wins(const struct symbol_builder *b, const struct symbol_table *t)
{
    for (size_t i = 0; i < MIN(b->count, (size_t)64); i++) {
        uint64_t address = b->entries[i].start;
        const struct symbol *s = symbol_table_find(t, address);
        size_t last = i;

        for (size_t j = i; j < b->count; j++) {
            if (address >= b->entries[j].start &&
                address - b->entries[j].start < b->entries[j].size)
                last = j;
        }
        if (!s || !span_eq(symbol_name(t, s), (struct span){ b->names.p + b->entries[last].name,
                                                             b->entries[last].name_n }))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 }, pieces = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    struct span text = { (const char *)data, size }, first = { text.p, size / 2 };
    ssize_t used, more;

    symbol_builder_init(&b, 10000, 1 << 20);
    symbol_builder_init(&pieces, 10000, 1 << 20);
    used = perf_map_parse(text, &b);
    if (used < 0 || (size_t)used > size || symbol_table_build(&b, &t) < 0)
        abort();
    for (size_t i = 0; i < t.count; i++) {
        if (t.symbols[i].start >= t.symbols[i].end ||
            (i && t.symbols[i - 1].end > t.symbols[i].start))
            abort();
    }
    check_last_wins(&b, &t);
    more = perf_map_parse(first, &pieces);
    if (perf_map_parse(span_from(text, (size_t)more), &pieces) + more != used ||
        pieces.count != b.count)
        abort();
    return 0;
}
