/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a process gets from malloc, of its C library or of one in its place such as jemalloc
 * (events malloc and nativelive). Finds the functions and has them probed. Each call then costs the
 * process time. So this counts the calls, and ends it for a process that makes too many. Thread:
 * the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "symbolize/symbolize.h"

#define MALLOCS_COST_NS 1000         /* of the process's time, a call */
#define MALLOCS_PER_SECOND_MAX 10000 /* calls of those that are not forced: 1 % of a processor */
#define MALLOCS_LIBRARIES_MAX 4      /* of a process */
#define MALLOCS_SURE_NS (2 * NSEC_PER_SEC) /* by then a process is known to call often or not */

/* How often it calls. */
struct mallocs {
    uint64_t begun_ns; /* of the second that is counted; 0: none is */
    uint64_t before;   /* calls until then */
    uint64_t per_second;
    uint32_t left_out; /* bits of functions that no probe can be put at */
    bool followed;     /* blocks are, until they are freed */
    bool more;         /* it has more than MALLOCS_LIBRARIES_MAX, the others are not seen */
};

/* Puts probes for set @set into @p, and then begins to count in @m, which is zero. @followed: the
 * set is one of event nativelive, and blocks are followed until they are given back. Return: 0.
 * -EAGAIN: symbols are being read. -EINPROGRESS: the kernel is installing the probes; to be called
 * again, with a zero @m. -errno; the last two with @err. */
int mallocs_put(struct mallocs *m, struct broker *b, struct symbolizer *s, struct process *p,
                uint32_t set, bool followed, struct error *err);
#define MALLOCS_LEFT_OUT_BYTES 96
/* Writes the names of the functions that no probe can be put at; "": none. Return: @buf. */
const char *mallocs_left_out(const struct mallocs *m, char buf[MALLOCS_LEFT_OUT_BYTES]);
/* Counts. Return: 0. -EDQUOT with @err: more than MALLOCS_PER_SECOND_MAX, and not @forced. */
int mallocs_look(struct mallocs *m, struct broker *b, int32_t host_pid, bool forced,
                 struct error *err);
