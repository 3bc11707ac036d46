/* SPDX-License-Identifier: Apache-2.0 */
/* Which methods that match are on a stack, and in which frame. Private to method_calls*.c. */
#pragma once

#include "base/buf.h"
#include "base/id_table.h"
#include "profile/method_calls.h"

/* The frame of a method that matches, the outermost of this method, and those that are outside it.
 */
struct method_frame {
    uint64_t caller; /* stands for the callers and where in each; 0: they are not known */
    uint32_t method; /* its name, of struct method_calls */
    uint32_t before; /* number of the next one outside, in method_stacks.frames; 0: none */
    uint32_t depth;  /* how many there are, with this one */
    uint32_t zero;
};

/* What is known of a node of the profile's stacks. */
struct method_node {
    uint64_t path;   /* a hash of its frames and their lines */
    uint32_t frames; /* number of the innermost struct method_frame; 0: none */
    bool known;
    bool is_virtual;      /* below the frames of its carrier, a virtual thread runs */
    bool matches_virtual; /* and has a method that matches */
};

struct method_stacks {
    const struct profile *p;           /* borrowed */
    const struct method_calls_opts *o; /* the same */
    struct method_calls *calls;        /* the same: takes names, and counts what is left out */
    struct method_node *nodes;         /* owned, [p->stack_count] */
    uint32_t *methods;                 /* owned, [p->frame_count]: 0 not asked, 1 none, 2 + name */
    uint32_t *path;                    /* owned, scratch: of one stack */
    size_t path_cap;
    struct id_table frames; /* struct method_frame; number n is its record n - 1 */
    struct buf text;
};

/* 0 or -ENOMEM; then, too, it takes method_stacks_deinit(). */
int method_stacks_init(struct method_stacks *s, const struct profile *p,
                       const struct method_calls_opts *o, struct method_calls *calls);
void method_stacks_deinit(struct method_stacks *s);
/* Finds what is known of the stack that ends with node @stack: *ret is valid until the next call.
 * 0; -EINVAL with @err; -ENOMEM. */
int method_stacks_get(struct method_stacks *s, uint32_t stack, const struct method_node **ret,
                      struct error *err);
/* Returns the frame with number @n, not 0. */
static inline const struct method_frame *method_stacks_frame(const struct method_stacks *s,
                                                             uint32_t n)
{
    return id_table_get(&s->frames, n - 1);
}
/* Returns whether frame @n, or one outside it, is of @method. 0 is no frame. */
bool method_stacks_have(const struct method_stacks *s, uint32_t n, uint32_t method);

/* Adds the sentences about @c. @thinned: how many samples one stands for, on average. */
void method_calls_warn(struct method_calls *c, double thinned);
