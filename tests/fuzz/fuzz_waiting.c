/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks of threads that wait, walked out of memory that may hold anything, by tables and offsets
 * that may be anything. However it is, each round brings the batch forward, and no stack is longer
 * than it may be.
 */
#include "tests/unit/hotspot/waiting_image.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A word that may lead on, or nowhere. */
static uint64_t pick(uint8_t what, uint8_t where, uint64_t at)
{
    switch (what % 8) {
    case 0:
        return WAITING_TEXT + (uint64_t)where * (WAITING_ROWS * WAITING_TEXT_ROW / 256);
    case 1:
        return at + 8 * (uint64_t)where; /* a frame further up */
    case 2:
        return at - 8 * (uint64_t)where; /* and down: a circle */
    case 3:
        return WAITING_CODE + (uint64_t)where * (WAITING_CODE_BYTES / 256);
    case 4:
        return WAITING_STACK + (uint64_t)where * (sizeof(uint64_t) * WAITING_STACK_WORDS / 256);
    case 5:
        return WAITING_STACK + sizeof(uint64_t) * WAITING_STACK_WORDS - where; /* its end */
    case 6:
        return (uint64_t)where << 56 | where;
    default:
        return waiting_pc(where % WAITING_ROWS);
    }
}

static void fill(struct waiting_image *w, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < WAITING_STACK_WORDS; i++) {
        size_t from = 2 * (i % (size / 2));

        w->stack[i] = pick(data[from], data[from + 1], WAITING_STACK + 8 * i);
    }
    for (size_t i = 0; i < sizeof(w->code); i++)
        w->code[i] = data[i % size];
}

static void check(const struct hotspot_waiting_batch *b)
{
    if (!b->done || b->done > b->count || b->word_count > HOTSPOT_WAITING_WORDS)
        abort();
    for (uint32_t i = 0; i < b->done; i++) {
        const struct hotspot_waiting *t = &b->threads[i];

        if (t->count > b->max_words || t->first > HOTSPOT_WAITING_WORDS ||
            t->count > HOTSPOT_WAITING_WORDS - t->first || t->end >= UNWIND_END_COUNT)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct waiting_image *w;
    static int proc_fd = -1;
    uint32_t left;

    if (size < 64)
        return 0;
    if (proc_fd < 0)
        proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    w = w ? w : waiting_image_new(proc_fd);
    if (!w)
        return 0;
    fill(w, data + 32, size - 32);
    w->gone = data[0] == 255;
    w->batch.max_words = SAMPLE_USER_MIN + 8 * (uint32_t)data[1];
    w->batch.max_words = MIN(w->batch.max_words, (uint32_t)SAMPLE_USER_MAX);
    memset(&w->batch.process.vm, 0, sizeof(w->batch.process.vm));
    if (data[2] & 1) { /* a VM, whose offsets are anything */
        struct unwind_vm *vm = &w->batch.process.vm;

        for (size_t i = 0; i < sizeof(*vm); i++)
            ((uint8_t *)vm)[i] = data[32 + i % (size - 32)] & (data[2] & 2 ? 0xff : 0x1f);
        vm->code_low = WAITING_CODE;
        vm->code_high = WAITING_CODE + WAITING_CODE_BYTES;
        vm->heaps[0] = (struct unwind_heap){ WAITING_CODE, WAITING_CODE + WAITING_CODE_BYTES,
                                             WAITING_CODE + data[3], data[4] & 15, 0 };
        vm->heap_count = data[5] & 7;
    }
    left = 1 + data[6] % HOTSPOT_WAITING_MAX;
    while (left) {
        w->batch.count = 0;
        for (uint32_t i = 0; i < left; i++)
            waiting_image_add(w, pick(data[7], (uint8_t)(data[8] + i), WAITING_STACK),
                              WAITING_STACK + 8 * (uint64_t)data[9] + data[10] % 8 * (i & 1),
                              pick(data[11], data[12], WAITING_STACK))
                ->java_thread = data[13] & 1 ? pick(data[14], data[15], WAITING_STACK) : 0;
        if (waiting_image_walk(w) != 0)
            abort();
        check(&w->batch);
        left -= w->batch.done;
    }
    return 0;
}
