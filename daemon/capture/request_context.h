/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The request in which a sample was taken. Paths to requests are entries of a probe table: captures
 * that want requests put them, and the sweep removes them. The target chooses ids and names, which
 * may be hostile. Thread: the engine's.
 */
#pragma once

#include "capture/incoming.h"
#include "capture/probe/probe_table.h"
#include "profile/profile.h"
#include "unwind/context.h"

#define CONTEXTS_PUT_MAX 256 /* JVMs at a time; the BPF programs' table has at least as many */

/* A JVM for which requests are wanted. */
struct context_entry {
    struct probe_entry entry; /* first */
    uint64_t looked_ns;       /* CLOCK_MONOTONIC of the last look; 0: none yet */
    uint64_t wait_ns;         /* time until the next look, unless a caller wants it earlier */
    bool no_tracer;           /* the last look found no tracer */
    bool partial;             /* the path may get longer with further classes */
    uint32_t record;          /* number of the VM's thread_record at the last look */
    bool settled;             /* the result stays until the JVM loads another class */
    int64_t classes;          /* counters_loaded() before the last look */
    struct context_path path; /* installed in the broker; no steps: none */
};

extern const struct probe_kind CONTEXTS;

#define CONTEXT_TEXT_BYTES 400 /* bytes of a name as UTF-8 */

/* Decodes @raw, which a BPF program wrote, into @ret. Writes the name of the operation as clean
 * UTF-8 to @name; "": none. Invalid data gives PROFILE_CONTEXT_UNREADABLE. Pure. */
void context_decode(const struct sample_context *raw, struct profile_context *ret,
                    struct buf *name);
/* Returns whether samples of the process @id have a request. */
bool context_is_read(const struct probe_table *contexts, const struct proc_id *id);
/* Decodes the request of @in, as context_decode(). @contexts: paths to requests. ret->operation is
 * the name as a string of in->naming->frames, 0: none. */
void context_recorded(const struct probe_table *contexts, const struct incoming *in,
                      struct profile_context *ret);
