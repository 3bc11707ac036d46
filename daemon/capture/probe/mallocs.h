/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a process gets from malloc, of its C library or of a replacement such as jemalloc
 * (events malloc and nativelive). Finds and probes the functions. Each call of them then costs the
 * process time. So flamed counts the calls, and a process that makes too many loses its probes.
 * Thread: the engine's.
 */
#pragma once

#include "broker_client/broker.h"
#include "symbolize/symbolize.h"

#define MALLOCS_COST_NS 1000               /* CPU time that a call costs the process */
#define MALLOCS_PER_SECOND_MAX 10000       /* unforced calls: 1 % of a processor */
#define MALLOCS_LIBRARIES_MAX 4            /* libraries per process */
#define MALLOCS_SURE_NS (2 * NSEC_PER_SEC) /* then it is known if calls are frequent */

/* The rate of calls of a process. */
struct mallocs {
    uint64_t begun_ns; /* CLOCK_MONOTONIC; begin of the second that is counted; 0: none */
    uint64_t before;   /* number of calls at begun_ns */
    uint64_t per_second;
    uint32_t left_out; /* bits: functions that cannot be probed */
    bool followed;     /* blocks are followed until they are freed */
    bool more;         /* libraries beyond MALLOCS_LIBRARIES_MAX are not probed */
};

/* Puts probes for set @set into @p, and starts counting in @m, which is zero. @followed: for event
 * nativelive, which follows blocks until they are freed. Return: 0. -EAGAIN: symbols are being
 * read. -EINPROGRESS with @err: the kernel is installing the probes; call again with a zero @m.
 * -errno with @err. */
int mallocs_put(struct mallocs *m, struct broker *b, struct symbolizer *s, struct process *p,
                uint32_t set, bool followed, struct error *err);
#define MALLOCS_LEFT_OUT_BYTES 96
/* Writes the names of the functions that cannot be probed; "": none. Returns @buf. */
const char *mallocs_left_out(const struct mallocs *m, char buf[MALLOCS_LEFT_OUT_BYTES]);
/* Counts the calls. Return: 0. -EDQUOT with @err: more than MALLOCS_PER_SECOND_MAX, unless
 * @forced. */
int mallocs_look(struct mallocs *m, struct broker *b, int32_t host_pid, bool forced,
                 struct error *err);
