/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of a GraalVM native image. Its file has no .eh_frame for compiled Java code, and mostly no
 * symbols. But that code has one shape. A function begins at a multiple of 16, and its first
 * instructions make its frame. Before each return it leaves that, and in between the stack pointer
 * stays. Breakpoints fill the room behind it. So the code itself tells where functions begin, and
 * how large their frames are. What has another shape has no steps here. Pure; thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "base/span.h"

#define IMAGE_SECTION ".svm_heap"                  /* that every such file has, */
#define IMAGE_CODE_SECTION ".text"                 /* and where its code lies */
#define IMAGE_CODE_MAX_BYTES ((uint64_t)256 << 20) /* of one file: the rest is not read */
#define IMAGE_INSTRUCTIONS_MAX (48u << 20)         /* the same */
#define IMAGE_STEPS_MAX 4096                       /* of one function: others have none */

/* From @pc on the return address lies @frame_bytes above the stack pointer. */
struct image_step {
    uint64_t pc;
    uint32_t frame_bytes; /* a multiple of 8 */
    bool fp_saved;        /* the caller's frame pointer lies below the return address */
};

struct image_function {
    uint64_t start, end;            /* behind its padding */
    const struct image_step *steps; /* [count], valid during the call */
    size_t count;                   /* 0: it has another shape */
};

/* Takes a function. Return: 0, or -errno that ends the reading. */
typedef int (*image_function_fn)(void *cookie, const struct image_function *f);

struct image_code;

/* Code that begins at @vaddr; @fn gets its functions. 0 or -ENOMEM. */
int image_code_new(uint64_t vaddr, image_function_fn fn, void *cookie, struct image_code **ret);
struct image_code *image_code_free(struct image_code *c);
CLEANUP_FUNCTION(image_code_freep, image_code, image_code_free)

/* Reads the code in @s, which follows what was read. *ret_used: how much of it; what is left is to
 * come again, with what follows. @last: nothing follows. 0; -ENOMEM; or what the function gave. */
int image_code_read(struct image_code *c, struct span s, bool last, size_t *ret_used);
