/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures under way, from the request to the finished profile. Besides: the memory that they hold
 * together, and the BPF filter that lets pass what they want. Thread: the engine's.
 */
#pragma once

#include "attach/attaching.h"
#include "base/id_table.h"
#include "capture/counted.h"
#include "capture/incoming.h"
#include "capture/pending_samples.h"
#include "capture/probe/calls.h"
#include "capture/probe/moments.h"
#include "capture/probe/probes.h"
#include "capture/process_selector.h"
#include "capture/sample_sets.h"
#include "capture/sampling.h"
#include "capture/store_writer.h"
#include "capture/virtual_wishes.h"
#include "profile/rebase.h"
#include "request/backend.h"
#include "unwind_tables/java_threads.h"
#include "unwind_tables/unwinding.h"

struct captures_opts {
    int proc_fd;               /* borrowed: a directory fd of /proc */
    size_t captures_max;       /* of one caller; of all: request/caller.h */
    size_t samples_max;        /* of one capture */
    size_t captures_max_bytes; /* of all captures together, and of what waits to be stored */
};

struct recorder;

/* The result of a capture that took longer to begin. Borrowed. */
struct capture_begun {
    uint64_t ticket;      /* as of captures_create() */
    const char *schedule; /* "": none */
    const char *id;
    int r; /* 0: it samples. Else an outcome or -errno with @err: it has failed */
    const struct error *err;
};

struct captures {
    struct captures_opts opts;
    /* Borrowed: */
    struct broker *broker;
    struct discover *discover;
    struct symbolizer *symbolizer;
    struct unwinding *unwinding;
    struct anchors *anchors;
    struct frame_table *frames;
    struct store *store; /* NULL: none */
    struct store_writer *store_writer;
    struct attaching *attaching;
    const struct sampling *sampling;
    const struct pending_samples *pending; /* samples that wait for symbols */
    /* Hands on those that were taken before @all_until_ns. */
    void (*release)(void *cookie, uint64_t all_until_ns);
    void *release_cookie;
    /* Says whether a capture that captures_create() made later samples. Returns whether what waited
     * for that still does. */
    bool (*begun)(void *cookie, const struct capture_begun *b);
    void *begun_cookie;

    struct sample_sets sets;
    uint32_t recorder_sets;    /* bits: sets that the recorder has of every process */
    struct recorder *recorder; /* borrowed; NULL: off */
    bool recorder_requests;    /* it records requests */
    struct capture *running;   /* list of those under way */
    bool stopping;             /* flamed ends: no capture waits for what it needs */
    uint64_t last_handle;      /* of captures; never used again */
    size_t capture_count;
    struct record_budget budget;          /* of what captures hold */
    uint64_t events_late;                 /* that were not ready when their capture began, */
    uint64_t events_left_out;             /* and those that never were */
    uint64_t captures_thinned;            /* times that one was, for another's sake */
    uint64_t captures_cut_short;          /* ended early for want of memory */
    uint64_t cut_short_ns;                /* when the last one was */
    uint64_t reconciled_ns;               /* when the BPF filter was last brought up to date */
    uint32_t filtered_all;                /* sets of every process, as the BPF filter holds them */
    struct id_table filtered;             /* struct filtered_process: what the BPF filter holds */
    struct probe_table probes;            /* in JVMs, for event alloc */
    struct probe_table agents;            /* in agents of JVMs, for the same */
    struct moments moments;               /* of JVMs, for event safepoint */
    struct counted counted;               /* what JVMs count themselves */
    struct probe_table calls;             /* functions whose calls are counted */
    struct probe_table contexts;          /* JVMs whose requests are read */
    struct virtual_wishes virtual_wishes; /* JVMs, for events of waiting */
    uint64_t losses_ns;                   /* when the broker was last asked what was lost */
    uint64_t unplaced_lost;               /* of perf_rings_lost(): counted by captures already */
    uint64_t taken_ns; /* samples until then are taken; UINT64_MAX: all that came */
};

/* Gets how the requests of @p are read: no steps if nobody asks for them. */
void captures_context_path(const struct captures *captures, const struct process *p,
                           struct context_path *ret);

/* Prepares @captures, with limits and without captures. The caller sets the borrowed members before
 * the first capture. */
void captures_init(struct captures *captures, const struct captures_opts *opts);
/* Ends it, when no capture runs any more. */
void captures_deinit(struct captures *captures);

/* ---- captures.c: captures under way ---- */

/* Adds the frames and names of what is being captured, for a table that takes the old one's
 * place: as in profile/rebase.h. */
int captures_rebase_add(const struct captures *captures, struct rebase *b);
void captures_rebase(struct captures *captures, const struct rebase *b, struct frame_table *frames);

/* Starts a capture that @waiter waits for. It samples when its sets and probes are in place, which
 * may be later. Return: 0: *ret_handle names it for captures_end(), and @waiter->done will be
 * called. Else an outcome or -errno with @err. */
int captures_start(struct captures *captures, const struct capture_request *req,
                   const struct capture_waiter *waiter, uint64_t *ret_handle, struct error *err);
/* Starts one that is a resource: it runs on its own and goes to the store. @schedule may be NULL.
 * Return: 0: it samples. -EINPROGRESS: it will later; then captures->begun() has the result for
 * @ticket. If that is 0, the store has the sentence why it fails. Else as captures_start(). */
int captures_create(struct captures *captures, const struct capture_request *req,
                    const char *schedule, uint64_t max_age_s, uint64_t ticket,
                    char ret_id[CAPTURE_ID_BYTES], struct error *err);
/* Says that there is no store. BACKEND_UNAVAILABLE. */
int captures_not_kept(struct error *err);
/* Gets what @c has so far, or since the last @reset. -EBUSY: there is no memory for it now. */
int captures_snapshot(struct captures *captures, struct capture *c, bool reset,
                      struct profile **ret, struct error *err);
/* Ends the capture if it still runs: finished early (@keep) or cancelled. */
void captures_end(struct captures *captures, uint64_t handle, bool keep);
/* Hands a sample to the captures that want it. */
void captures_sample(struct captures *captures, struct incoming *in);
/* Reads the counters of the JVMs that captures want or the recorder has samples of, if it is time.
 * Each tick. */
void captures_look(struct captures *captures, uint64_t now_ns);
/* Reads them at once, for a capture that begins or ends. */
void captures_look_edge(struct captures *captures);
/* Returns whether set @set is of an event of waiting now, or (@locks) of one of waits for locks. */
bool waits_take_virtual(const struct captures *captures, uint32_t set, bool locks);
/* Returns whether any capture takes samples of @set. */
bool captures_want(const struct captures *captures, uint32_t set);
/* Returns whether one takes those of @p: what the BPF filter says, where there is one. */
bool captures_want_process(struct captures *captures, uint32_t set, const struct process *p,
                           uint64_t now_ns);
/* Polls what captures wait for in order to begin, and has agents sample for those that want it.
 * Fails captures whose probes or agent are refused. Each tick. */
void captures_poll(struct captures *captures, uint64_t now_ns);
/* Takes captures whose time is over from state to state, to their profile. All samples up to
 * @now_ns must have been handed over. */
void captures_finish_due(struct captures *captures, uint64_t now_ns);
/* Ends captures that do not sample yet, and from now on each that cannot sample at once. To be
 * called when flamed stops, because requests wait for them. */
void captures_stop_preparing(struct captures *captures);
/* Ends all with @r and the sentence of @err. */
void captures_fail_all(struct captures *captures, int r, const struct error *err);
/* CLOCK_MONOTONIC of the next deadline; UINT64_MAX when none runs. */
uint64_t captures_next_deadline(const struct captures *captures);
/* Returns whether one runs whose samples must be named at once. */
bool captures_hurry(const struct captures *captures);
/* Makes the BPF filter hold just the processes that some capture wants. */
void captures_reconcile(struct captures *captures, uint64_t now_ns);
/* Notes that the broker stopped @set, and took it out of the filter. */
void captures_filter_stopped(struct captures *captures, uint32_t set);

/* ---- memory.c: what captures hold together ---- */

/* Bytes that the captures of @caller hold that run. */
size_t capture_memory_of(const struct captures *captures, const struct caller *caller);
/* Looks at what has become free. Each tick. */
void capture_memory_tick(struct captures *captures);
