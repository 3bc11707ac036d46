/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State shared by the files that build a view: view.c filters and adds up, view_frames.c spells
 * frames, view_order.c sorts rows. Thread: the one that builds.
 */
#pragma once

#include "base/buf.h"
#include "base/id_table.h"
#include "profile/handlers.h"
#include "profile/view.h"

/* Key of a row before its frames are spelled. */
struct view_key {
    uint32_t stack;     /* index in the profile */
    uint32_t thread;    /* UINT32_MAX: not split by thread */
    uint32_t process;   /* UINT32_MAX: not split by process */
    uint32_t truncated; /* 1: "[truncated]" is at the root */
    uint32_t state;     /* enum thread_state */
    uint32_t kind;      /* as in struct view_row */
    uint32_t owner;     /* as in struct view_row */
    uint32_t group;     /* id in view_builder.groups; UINT32_MAX: not split by view_opts.by */
    uint32_t context;   /* as in struct view_row */
};

/* The frames of view_opts.by within a process. */
struct view_group {
    uint32_t process; /* as in struct view_key */
    uint32_t frames[VIEW_BY_MAX];
};

/* Position of a stack's frames in view->stack; n 0: not spelled yet. */
struct view_spelled {
    uint32_t first, n;
};

/* The frames of a process, and of a thread or a group. */
struct view_roots {
    uint32_t frames[VIEW_ROOTS_MAX];
    uint32_t n;
    bool made;
};

struct view_counts {
    uint64_t samples, value, unknown, truncated;
    double looks;
};

struct view_builder {
    struct view *v;
    const struct profile *p;
    struct id_table keys;                /* struct view_key */
    struct id_table groups;              /* struct view_group */
    uint32_t *group_frames[VIEW_BY_MAX]; /* by member, such as a thread: id of its frame in `frames`
                                          * + 1; 0: none yet */
    uint8_t *operations;                 /* [p->context_count]: 0: not matched yet; 1: left out; 2:
                                          * kept */
    uint8_t *handled;                    /* [p->function_count]: the same by function that handles a
                                          * request */
    struct handlers *handlers;           /* NULL: operations are not used */
    struct view_counts *counts;          /* [keys.cap], by key id */
    size_t counts_cap;
    struct waits *waits;          /* NULL: no thread was blocked */
    struct thread_kinds *kinds;   /* NULL: not used */
    struct id_table frames;       /* struct view_frame */
    uint32_t *frame_ids;          /* [p->frame_count]: id in `frames` + 1 */
    uint32_t hidden;              /* id + 1 of the "[kernel]" frame that replaces hidden frames; 0:
                                   * none */
    struct view_spelled *spelled; /* [view_bodies()], by view_body() */
    struct view_roots *roots;     /* [root_count], by view_root() */
    size_t root_count;
    uint32_t *root_of_row; /* [keys.count] */
    uint32_t *key_first; /* [keys.count]: view_row.first of the key's row, VIEW_NO_ROW: left out */
    size_t stack_cap;
    struct buf text;
};

/* Returns for how many looks at threads @s stands, at least. A wait stands for one look per period
 * of its time. But a virtual thread without a carrier is drawn by chance, and its time includes
 * that of others: such a sample stands for one look. */
double view_looks_of(const struct profile *p, const struct profile_sample *s);

/* ---- view_frames.c: each 0, -EFBIG or -ENOMEM ---- */

/* Finds or adds the frame without code that has the name in b->text. */
int view_mark_text(struct view_builder *b, enum frame_kind kind, uint32_t *ret);
/* Appends "[name what=number]" to b->text, or "[name]" if @number is 0 or less, or names are
 * merged. */
void view_spell_numbered(struct view_builder *b, struct span name, const char *what,
                         int32_t number);

/* Appends the frames of a row's process, thread and groups. */
int view_push_roots(struct view_builder *b, const struct view_key *k);
/* Returns the index of a key's roots in b->roots; 0: neither process nor thread nor group is
 * known. */
static inline uint32_t view_root(const struct view_builder *b, const struct view_key *k)
{
    if (b->v->opts.by[0])
        return k->group == UINT32_MAX ? 0 : k->group + 1;
    if (b->v->opts.threads)
        return k->thread == UINT32_MAX ? 0 : k->thread + 1;
    return k->process == UINT32_MAX ? 0 : k->process + 1;
}
/* Appends "[truncated]" for a cut stack, then the frames of the stack, root first; with a depth
 * limit the middle becomes one "[...]". */
int view_push_body(struct view_builder *b, const struct view_key *k);
/* Returns the body number of a key: rows with equal numbers have equal frames behind those of
 * view_push_roots(). */
static inline size_t view_body(const struct view_key *k)
{
    return 4 * (size_t)k->stack + 2 * (k->state == STATE_BLOCKED) + k->truncated;
}
static inline size_t view_bodies(const struct view_builder *b)
{
    return 4 * b->p->stack_count;
}

/* ---- view_groups.c ---- */

/* Prepares for operations and for kinds of threads, if the options use them. 0 or -ENOMEM. */
int view_groups_begin(struct view_builder *b);
/* Returns whether view_opts keeps samples of the request of @s. 1; 0; -errno with @err. */
int view_wants_context(struct view_builder *b, const struct profile_sample *s, struct error *err);
/* Finds or adds the group of @s in process @process. 0; -EFBIG; -ENOMEM. */
int view_group_of(struct view_builder *b, const struct profile_sample *s, uint32_t process,
                  uint32_t *ret);
/* Returns how many entries of view_opts.by are above the process. */
uint32_t view_groups_above(const struct view_opts *o);

/* ---- view_order.c ---- */

/* Sorts the rows and adds up equal ones. 0 or -ENOMEM. */
int view_order_rows(struct view_builder *b);
