/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds functions and frame sizes in the code of a GraalVM native image. Its file has no .eh_frame
 * for compiled Java code, and mostly no symbols. But all such functions have one shape. A function
 * begins at a multiple of 16, and its first instructions make its frame. It removes the frame
 * before each return, and in between the stack pointer does not move. Breakpoints pad the gap to
 * the next function. Functions of any other shape have no steps here. Pure; thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "base/span.h"

#define IMAGE_SECTION ".svm_heap"                  /* a section of every native image */
#define IMAGE_CODE_SECTION ".text"                 /* the section of its code */
#define IMAGE_CODE_MAX_BYTES ((uint64_t)256 << 20) /* bytes of one file that are read */
#define IMAGE_INSTRUCTIONS_MAX (48u << 20)         /* instructions of one file that are decoded */
#define IMAGE_STEPS_MAX 4096                       /* steps; a function with more gets none */

/* From @pc on the return address lies @frame_bytes above the stack pointer. */
struct image_step {
    uint64_t pc;
    uint32_t frame_bytes; /* a multiple of 8 */
    bool fp_saved;        /* the caller's frame pointer lies in the word below the return address */
};

struct image_function {
    uint64_t start, end;            /* the end includes padding */
    const struct image_step *steps; /* [count], valid during the call */
    size_t count;                   /* 0: the function has another shape */
};

/* Receives a function. Returns 0, or -errno to stop the reading. */
typedef int (*image_function_fn)(void *cookie, const struct image_function *f);

struct image_code;

/* Prepares to read code that begins at @vaddr; @fn receives its functions. Returns 0 or -ENOMEM. */
int image_code_new(uint64_t vaddr, image_function_fn fn, void *cookie, struct image_code **ret);
struct image_code *image_code_free(struct image_code *c);
CLEANUP_FUNCTION(image_code_freep, image_code, image_code_free)

/* Reads the next code, in @s. Sets *ret_used to the bytes it consumed: pass the rest again, with
 * the code that follows. @last: no code follows. Returns 0; -ENOMEM; or what the callback
 * returned. */
int image_code_read(struct image_code *c, struct span s, bool last, size_t *ret_used);
