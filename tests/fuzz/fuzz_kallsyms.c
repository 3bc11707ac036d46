/* SPDX-License-Identifier: Apache-2.0 */
/* kallsyms_parse(): sorted ranges that do not overlap, none without a name, none that is too long.
 */
#include "symbolize/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kallsyms k;

    if (kallsyms_parse((struct span){ (const char *)data, size }, &k) < 0)
        return 0;
    for (size_t i = 0; i < k.symbols.count; i++) {
        const struct symbol *s = &k.symbols.symbols[i];

        if (s->start >= s->end || (i && s[-1].end > s->start) || !s->name_n || k.hidden)
            abort();
        if (span_find(symbol_name(&k.symbols, s), '\n') < s->name_n)
            abort();
    }
    kallsyms_deinit(&k);
    return 0;
}
