/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder in a test: memory is a list of regions, and rows are an array. The table of known
 * return addresses has the kernel's size.
 */
#pragma once

#include "base/macros.h"

#include "unwind/state.h"

#include <unistd.h>

#define HOST_REGIONS_MAX 256
#define HOST_WORDS_MAX 2048

struct host_region {
    uint64_t low;
    size_t bytes;
    uint8_t *p; /* NULL: the test's own memory at the same address */
};

static struct {
    struct host_region regions[HOST_REGIONS_MAX];
    size_t region_count;
    const struct unwind_row *rows;
    uint32_t row_count;
    struct unwind_known known[UNWIND_KNOWN_COUNT];
    uint64_t out[HOST_WORDS_MAX];
    size_t reads;
    uint64_t java_thread;
    bool one_by_one; /* true: without the hot path, which must give the same */
    /* Called with all memory that a walk reads, for recording; may be NULL. */
    void (*on_read)(uint64_t from, const void *p, uint32_t bytes);
    void (*on_row)(uint32_t index, const struct unwind_row *row);
    /* Finds rows that are not in an array; may be NULL. */
    bool (*find_row)(uint32_t index, struct unwind_row *ret);
    int mem_fd; /* /proc/self/mem, for regions without p */
} host;

static bool unwind_read(struct unwind_walk *w, void *to, uint32_t bytes, uint64_t from)
{
    w->reads++;
    host.reads++;
    for (size_t i = 0; i < host.region_count; i++) {
        const struct host_region *r = &host.regions[i];

        if (from >= r->low && from - r->low <= r->bytes && bytes <= r->bytes - (from - r->low)) {
            if (r->p) /* without p not by memcpy(): sanitizers forbid parts of a stack */
                memcpy(to, r->p + (from - r->low), bytes);
            else if (pread(host.mem_fd, to, bytes, (off_t)from) != (ssize_t)bytes)
                return false;
            if (host.on_read)
                host.on_read(from, to, bytes);
            return true;
        }
    }
    return false;
}

static bool unwind_row(struct unwind_walk *w, uint32_t index, struct unwind_row *ret)
{
    (void)w;
    if (host.find_row)
        return host.find_row(index, ret);
    if (index >= host.row_count)
        return false;
    *ret = host.rows[index];
    if (host.on_row)
        host.on_row(index, ret);
    return true;
}

static struct unwind_known *unwind_known_at(struct unwind_walk *w, uint32_t index)
{
    (void)w;
    return &host.known[index % UNWIND_KNOWN_COUNT];
}

static uint64_t unwind_java_thread(struct unwind_walk *w)
{
    (void)w;
    return host.java_thread;
}

#define UNWIND_OUT_TYPE uint64_t *
#define UNWIND_OUT(out, i, word) ((out)[(i) % HOST_WORDS_MAX] = (word))

#include "unwind/step.h"

struct host_registers {
    uint64_t pc, sp, fp;
    struct unwind_registers more;
};

/* Walks like the BPF program. Returns the number of words; w->end: how the walk ended. */
static uint32_t host_walk(struct unwind_walk *w, struct unwind_process *p,
                          const struct host_registers *r, uint32_t tick, uint32_t max_words)
{
    unwind_start(w, r->pc, r->sp, r->fp, p->slot, tick, max_words);
    w->registers = r->more;
    for (uint32_t i = 0; i < HOST_WORDS_MAX * UNWIND_STEPS_PER_WORD; i++) {
        int outcome = host.one_by_one ? UNWIND_SLOWLY : unwind_fast_steps(w, p, host.out);

        if (outcome == UNWIND_SLOWLY)
            outcome = unwind_step(w, p, host.out);
        if (outcome == UNWIND_STOP)
            break;
    }
    return w->words;
}
