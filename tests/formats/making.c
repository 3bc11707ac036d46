/* SPDX-License-Identifier: Apache-2.0 */
#include "making.h"

#include "base/text.h"

void must(int r)
{
    if (r < 0) {
        fprintf(stderr, "a profile cannot be made up: %s\n", strerror(-r));
        exit(1);
    }
}

uint32_t making_string(struct frame_table *table, const char *s, size_t n)
{
    _cleanup_buf_ struct buf clean = BUF_NULL;
    uint32_t id;

    buf_init(&clean, 1 << 16);
    text_clean((struct span){ s, n }, TEXT_UTF8, TEXT_NAME_MAX, &clean);
    must(frame_table_string(table, buf_span(&clean), &id));
    return id;
}

enum frame_kind making_kind(char letter)
{
    static const char LETTERS[FRAME_KIND_COUNT] = {
        [FRAME_UNKNOWN] = '?',     [FRAME_C2] = 'j',
        [FRAME_C1] = '1',          [FRAME_INLINED] = 'i',
        [FRAME_INTERPRETED] = '0', [FRAME_NATIVE] = 'n',
        [FRAME_JVM] = 'v',         [FRAME_STUB] = 's',
        [FRAME_KERNEL] = 'k',      [FRAME_NATIVE_INLINED] = 'I',
        [FRAME_CLASS] = 'c',
    };

    for (unsigned i = 0; i < FRAME_KIND_COUNT; i++)
        if (LETTERS[i] == letter)
            return (enum frame_kind)i;
    return FRAME_UNKNOWN;
}

uint32_t making_random(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * n) >> 32);
}
