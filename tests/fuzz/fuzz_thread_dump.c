/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dump of virtual threads over a Java heap with any contents: words of the input are put into
 * an intact heap. The walk always ends, and no stack exceeds its limit.
 */
#include "tests/unit/hotspot/threads_image.h"

#define CALLS_MAX 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns a word that may lead on, or nowhere. */
static uint64_t pick(uint8_t what, uint8_t where)
{
    switch (what % 8) {
    case 0:
        return THREADS_HEAP + (uint64_t)where * 0x80; /* an object, or the middle of one */
    case 1:
        return THREADS_HEAP + THREADS_KLASSES + (uint64_t)(where % VIRTUAL_CLASSES) * 0x100;
    case 2:
        return threads_image_pc() + where - 64;
    case 3:
        return where;
    case 4:
        return (uint64_t)where << 32 | (what >> 3);
    case 5:
        return (uint64_t)where << 56 | where;
    case 6:
        return THREADS_HEAP + THREADS_CHUNK + 8 * (uint64_t)where;
    default:
        return UINT64_MAX - where;
    }
}

static void check(const struct hotspot_dump_batch *b)
{
    if (b->count > DUMP_BATCH_THREADS || b->word_count > DUMP_BATCH_WORDS ||
        b->name_bytes > DUMP_BATCH_NAMES)
        abort();
    for (uint32_t i = 0; i < b->count; i++) {
        const struct hotspot_dump_thread *t = &b->threads[i];

        if (t->count > JAVA_STACK_WORDS_MAX || t->first > b->word_count ||
            t->count > b->word_count - t->first || t->name_at > b->name_bytes ||
            t->name_n > b->name_bytes - t->name_at)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct threads_image *t = threads_image_new();

    if (!t)
        return 0;
    if (size && data[0] & 1) { /* the interpreter lies at the code, too */
        t->vm.code.interpreter_start = threads_image_pc() - 32;
        t->vm.code.interpreter_end = threads_image_pc() + 32;
    }
    if (size && data[0] & 2) { /* draws some by chance, without the list */
        t->batch.draws = 1 + (data[0] >> 2);
        t->batch.random = size;
    }
    if (size % 4 == 2) /* the thread waits for a monitor */
        threads_image_put(t, THREADS_THREAD + 48, THREADS_BLOCKED);
    for (size_t i = 1; i + 4 <= size; i += 4)
        threads_image_put(t, 8 * (size_t)(data[i] | data[i + 1] << 8),
                          pick(data[i + 2], data[i + 3]));
    for (unsigned i = 0; i < (t->batch.draws ? 1 : CALLS_MAX) && !t->batch.ended; i++) {
        if (hotspot_dump_threads(&t->vm, &t->batch) < 0)
            break;
        check(&t->batch);
    }
    threads_image_free(t);
    return 0;
}
