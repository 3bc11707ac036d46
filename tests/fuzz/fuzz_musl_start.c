/* SPDX-License-Identifier: Apache-2.0 */
/* elf/musl_start.h over any bytes: rules lie within the code, those of a function ascend, end, and
 * do not overlap with others. The first two bytes are the entry of the code. */
#include "elf/musl_start.h"

#define START UINT64_C(0x401000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool overlaps(const struct musl_rules *rules, size_t end, uint64_t from, uint64_t to)
{
    uint64_t start = 0;

    for (size_t i = 0; i < end; i++) {
        const struct musl_rule *rule = &rules->rules[i];

        if (i == 0 || rule[-1].base == MUSL_END)
            start = rule->pc;
        if (rule->base == MUSL_END && from < rule->pc && start < to)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct musl_rules rules;
    size_t first = 0;

    if (size < 2)
        return 0;
    if (musl_read((struct span){ (const char *)data + 2, size - 2 }, START,
                  START + (data[0] | (uint64_t)data[1] << 8), &rules) != 0)
        abort();
    for (size_t i = 0; i < rules.count; i++) {
        const struct musl_rule *rule = &rules.rules[i];

        if (rule->pc < START || rule->pc > START + size - 2 || rule->frame_bytes % 8 ||
            (i > first && rule->pc <= rule[-1].pc) || (rule->base != MUSL_SP && rule->frame_bytes))
            abort();
        if (rule->base != MUSL_END)
            continue;
        if (i == first || (rules.rules[first].base == MUSL_SP &&
                           overlaps(&rules, first, rules.rules[first].pc, rule->pc)))
            abort();
        first = i + 1;
    }
    if (first != rules.count)
        abort();
    return 0;
}
