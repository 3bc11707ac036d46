/* SPDX-License-Identifier: Apache-2.0 */
/* elf/image_code.h over any bytes: functions and their steps are in order. Reading in pieces gives
 * the same as reading at once. */
#include "elf/image_code.h"

#include "base/fnv1a.h"

#define START UINT64_C(0x401000)
#define PIECE 41

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t end, hash, limit;
};

static int see(void *cookie, const struct image_function *f)
{
    struct seen *s = cookie;
    uint64_t pc = f->start;

    if (f->start % 16 || f->start < s->end || f->end < f->start || f->end > s->limit ||
        f->count > IMAGE_STEPS_MAX)
        abort();
    for (size_t i = 0; i < f->count; i++) {
        const struct image_step *step = &f->steps[i];

        if (step->pc < pc || step->pc > f->end || step->frame_bytes % 8 ||
            step->frame_bytes > INT16_MAX * 8)
            abort();
        pc = step->pc;
        s->hash = fnv1a(s->hash, (const char *)&step->pc, sizeof(step->pc));
        s->hash = fnv1a(s->hash, (const char *)&step->frame_bytes, sizeof(step->frame_bytes));
    }
    s->end = f->end;
    return 0;
}

static uint64_t read_in(const uint8_t *data, size_t size, size_t piece)
{
    struct seen s = { .hash = FNV1A_START, .limit = START + size };
    struct image_code *c = NULL;
    size_t at = 0, given = 0, used;

    if (image_code_new(START, see, &s, &c) < 0)
        abort();
    while (at < size) {
        given = MIN(size, given + piece);
        if (image_code_read(c, (struct span){ (const char *)data + at, given - at }, given == size,
                            &used) < 0)
            abort();
        at += used;
    }
    image_code_free(c);
    return s.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (read_in(data, size, MAX(size, (size_t)1)) != read_in(data, size, PIECE))
        abort();
    return 0;
}
