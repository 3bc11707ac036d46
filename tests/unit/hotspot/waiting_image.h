/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with threads for hotspot_walk_waiting(), made of given words: native code with a row of
 * each kind, and a piece of stack with any contents. The threads are the calling one, so that the
 * kernel knows whether they have run.
 */
#pragma once

#include "hotspot/vm.h"

#include "unwind/unwind.h"

#define WAITING_TEXT UINT64_C(0x400000)
#define WAITING_TEXT_ROW 0x40 /* bytes of code for each row */
#define WAITING_STACK UINT64_C(0x7f5000000000)
#define WAITING_STACK_WORDS 8192
#define WAITING_CODE UINT64_C(0x7f1000000000) /* code of the VM: any memory */
#define WAITING_CODE_BYTES 0x10000

enum waiting_row { /* one per row of the table, in its order */
                   WAITING_SP,
                   WAITING_FP,
                   WAITING_ROOT,
                   WAITING_SIGNAL,
                   WAITING_PLT,
                   WAITING_FP_LOAD,
                   WAITING_SP_LOAD,
                   WAITING_NONE,
                   WAITING_FAR, /* its row lies outside of the table */
                   WAITING_ROWS
};

struct waiting_image {
    uint64_t stack[WAITING_STACK_WORDS];
    uint8_t code[WAITING_CODE_BYTES];
    struct hotspot_vm vm;
    struct hotspot_waiting_batch batch;
    bool gone; /* true: the process has no memory */
};

/* Returns a pc in the code of @row. */
static inline uint64_t waiting_pc(enum waiting_row row)
{
    return WAITING_TEXT + (uint64_t)row * WAITING_TEXT_ROW + 8;
}

/* Makes an image with an empty batch and zeroed memory. NULL: out of memory. */
struct waiting_image *waiting_image_new(int proc_fd);
struct waiting_image *waiting_image_free(struct waiting_image *w);
/* Walks the threads of the batch. */
int waiting_image_walk(struct waiting_image *w);
/* Adds a thread that has not run. */
struct hotspot_waiting *waiting_image_add(struct waiting_image *w, uint64_t pc, uint64_t sp,
                                          uint64_t fp);
