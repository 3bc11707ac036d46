/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's side of the namer (namer_process.h): symbols in, readable names out. Names come later,
 * and no caller has to wait. A thread asks the namer's process, and writes to an eventfd when an
 * answer is there. A caller that asks again then gets the name.
 *
 * Each owner (proc_owner()) has a queue of its own, and owners take turns. CPU time of the namer
 * is the owner's to spend: half a second at once, and a twentieth of a processor in the long run.
 * A symbol that takes more than 5 ms, or ends the process, keeps its raw form; it is remembered,
 * and not tried again. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define NAMER_QUEUE_MAX 8192      /* symbols that wait, of all owners */
#define NAMER_OWN_QUEUE_MAX 2048  /* of one owner */
#define NAMER_KNOWN_MAX 8192      /* names that are kept for those who ask again */
#define NAMER_REMEMBERED_MAX 4096 /* symbols that cannot be demangled; the oldest goes */
#define NAMER_OWNER_SHARE 20
#define NAMER_OWNER_AT_ONCE_NS (500 * NSEC_PER_MSEC)

#define DEMANGLED_NAME_MAX 2048 /* bytes of a readable name */

struct namer;

/* Begins to ask the process at the other end of @fd, which is borrowed, as is the eventfd @wake_fd
 * (<= 0: none). Return: 0 or -errno. */
int namer_new(int fd, int wake_fd, struct namer **ret);
struct namer *namer_free(struct namer *n);

/* What namer_name() returns above 0. */
enum {
    NAMER_COMING = 1, /* nothing is appended: ask again */
    NAMER_REFUSED,    /* the raw symbol is appended, for this once */
};

/* Appends the readable form of @symbol to @out, as text that is not yet clean. That is what a
 * mangled symbol stands for, the function that a compiler's clone was cut from, else @symbol. Does
 * not block. @owner: whose file it is in. @n: NULL: raw symbols. Return: 0: it is there, and stays
 * the same; NAMER_COMING; NAMER_REFUSED: @owner has used up its time, or the process is gone. */
int namer_name(struct namer *n, uint64_t owner, struct span symbol, struct buf *out);
/* As namer_name(), and waits until it is there, until CLOCK_MONOTONIC @until_ns at most. */
int namer_name_wait(struct namer *n, uint64_t owner, struct span symbol, uint64_t until_ns,
                    struct buf *out);
/* Waits for the next answer, until CLOCK_MONOTONIC @until_ns at most. False: there was none, or
 * nothing is asked. @n may be NULL. */
bool namer_wait(struct namer *n, uint64_t until_ns);
/* Counts the answers so far: another number than before says that it is worth asking again. */
uint64_t namer_answers(struct namer *n);

struct namer_stats {
    uint64_t named;     /* symbols with a readable form */
    uint64_t none;      /* that have none */
    uint64_t timed_out; /* that took too long, and are remembered */
    uint64_t died;      /* that ended the process, and are remembered */
    uint64_t refused;   /* times that an owner had no time left, or the process was gone */
    uint64_t waiting;   /* now */
    uint64_t cpu_ns;    /* of the namer's process */
};
/* Gives its counters; zeros for NULL. */
void namer_stats(struct namer *n, struct namer_stats *ret);
