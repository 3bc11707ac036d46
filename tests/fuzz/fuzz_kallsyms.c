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

        struct span name = symbol_name(&k.symbols, s);

        if (!s->bytes || (i && symbol_end(&s[-1]) > s->start) || !name.n || k.hidden)
            abort();
        if (span_find(name, '\n') < name.n)
            abort();
    }
    kallsyms_deinit(&k);
    return 0;
}
