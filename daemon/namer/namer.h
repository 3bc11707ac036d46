/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's side of the namer (namer_process.h): it takes symbols and returns readable names. No
 * caller has to wait: a thread asks the namer's process, and writes to an eventfd when an answer
 * arrives. Then a repeated call of namer_name() returns the name.
 *
 * Each owner (proc_owner()) has a queue of its own, and owners take turns. Each owner has a share
 * of the namer's CPU time: half a second at once, and a twentieth of a processor in the long run. A
 * symbol that takes more than 5 ms, or ends the process, keeps its raw form; it is remembered and
 * not tried again. Thread: any.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define NAMER_QUEUE_MAX 8192      /* waiting symbols of all owners together */
#define NAMER_OWN_QUEUE_MAX 2048  /* waiting symbols of one owner */
#define NAMER_KNOWN_MAX 8192      /* names kept for repeated requests */
#define NAMER_REMEMBERED_MAX 4096 /* symbols that took too long or ended the process */
#define NAMER_OWNER_SHARE 20
#define NAMER_OWNER_AT_ONCE_NS (500 * NSEC_PER_MSEC)

#define DEMANGLED_NAME_MAX 2048 /* bytes of a readable name */

struct namer;

/* Starts the thread that asks the process at the other end of @fd. @fd and the eventfd @wake_fd (<=
 * 0: none) are borrowed. Return: 0 or -errno. */
int namer_new(int fd, int wake_fd, struct namer **ret);
struct namer *namer_free(struct namer *n);

/* Results of namer_name() above 0. */
enum {
    NAMER_COMING = 1, /* appends nothing; call again */
    NAMER_REFUSED,    /* appends the raw symbol, only for this time */
};

/* Appends the readable form of @symbol to @out, as text that is not yet clean. That is the
 * demangled name, or the function that a compiler's clone was cut from, or else @symbol. Does not
 * block. @owner: owner of the file of @symbol. @n may be NULL: then appends raw symbols. Returns 0
 * if the name is final, NAMER_COMING, or NAMER_REFUSED if @owner has used up its time or the
 * process is gone. */
int namer_name(struct namer *n, uint64_t owner, struct span symbol, struct buf *out);
/* Does the same as namer_name(), but waits for the name, until CLOCK_MONOTONIC @until_ns at
 * most. */
int namer_name_wait(struct namer *n, uint64_t owner, struct span symbol, uint64_t until_ns,
                    struct buf *out);
/* Waits for the next answer, until CLOCK_MONOTONIC @until_ns at most. Returns false if none came,
 * or if no symbol waits. @n may be NULL. */
bool namer_wait(struct namer *n, uint64_t until_ns);
/* Returns the number of answers so far. After it has changed, a new call of namer_name() may
 * succeed. */
uint64_t namer_answers(struct namer *n);

struct namer_stats {
    uint64_t named;     /* symbols with a readable form */
    uint64_t none;      /* symbols without one */
    uint64_t timed_out; /* symbols that took too long; remembered */
    uint64_t died;      /* symbols that ended the process; remembered */
    /* Requests refused: the owner had used up its time, or the process was gone. */
    uint64_t refused;
    uint64_t waiting; /* symbols that wait now */
    uint64_t cpu_ns;  /* CPU time of the namer's process */
};
/* Gets the counters; zeros if @n is NULL. */
void namer_stats(struct namer *n, struct namer_stats *ret);
