/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the matching methods on a stack, and their frames. Private to method_calls*.c. */
#pragma once

#include "base/buf.h"
#include "base/id_table.h"
#include "profile/method_calls.h"

/* The outermost frame of a matching method on a stack, linked to the matching frames outside it. */
struct method_frame {
    uint64_t caller; /* hash of the callers and their lines; 0: unknown */
    uint32_t method; /* name of the method, a string of struct method_calls */
    uint32_t before; /* number in method_stacks.frames of the next frame outwards; 0: none */
    uint32_t depth;  /* number of matching frames from here outwards */
    uint32_t zero;
};

/* Cached facts of a node of the profile's stacks. */
struct method_node {
    uint64_t path;   /* hash of the frames and lines from the root on */
    uint32_t frames; /* number of the innermost struct method_frame; 0: none */
    bool known;
    bool is_virtual;      /* the frames of a virtual thread follow those of its carrier */
    bool matches_virtual; /* the virtual thread has a matching method */
};

struct method_stacks {
    const struct profile *p;           /* borrowed */
    const struct method_calls_opts *o; /* borrowed */
    struct method_calls *calls;        /* borrowed: gets names, and counts methods that are left
                                        * out */
    struct method_node *nodes;         /* owned, [p->stack_count] */
    uint32_t *methods;                 /* owned, [p->frame_count]: 0: not matched yet; 1: no match;
                                        * else 2 + name */
    uint32_t *path;                    /* owned: scratch memory for one stack */
    size_t path_cap;
    struct id_table frames; /* struct method_frame; the frame with number n has id n - 1 */
    struct buf text;
};

/* 0 or -ENOMEM; @s needs method_stacks_deinit() in every case. */
int method_stacks_init(struct method_stacks *s, const struct profile *p,
                       const struct method_calls_opts *o, struct method_calls *calls);
void method_stacks_deinit(struct method_stacks *s);
/* Gets the facts of stack node @stack; *ret is valid until the next call. 0; -EINVAL with @err;
 * -ENOMEM. */
int method_stacks_get(struct method_stacks *s, uint32_t stack, const struct method_node **ret,
                      struct error *err);
/* Returns the frame with number @n, not 0. */
static inline const struct method_frame *method_stacks_frame(const struct method_stacks *s,
                                                             uint32_t n)
{
    return id_table_get(&s->frames, n - 1);
}
/* Returns whether frame @n, or a frame outside it, is of @method. n 0: no frame. */
bool method_stacks_have(const struct method_stacks *s, uint32_t n, uint32_t method);

/* Adds the warnings about @c. @thinned: mean count of a sample. */
void method_calls_warn(struct method_calls *c, double thinned);
