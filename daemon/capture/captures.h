/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Captures under way, from the request to the finished profile. Also their common memory budget,
 * and the BPF filter, which passes only processes that a capture wants. Thread: the engine's.
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
#include "capture/probe/yields.h"
#include "capture/process_selector.h"
#include "capture/recorded_allocs.h"
#include "capture/sample_sets.h"
#include "capture/sampling.h"
#include "capture/store_writer.h"
#include "capture/virtual_wishes.h"
#include "profile/rebase.h"
#include "request/backend.h"
#include "unwind_tables/java_threads.h"
#include "unwind_tables/unwinding.h"

/* What files, names, waiting samples and the file that is being read may take besides. What they
 * take more, captures take less, but not less than a part of captures_max_bytes. */
#define CAPTURES_BESIDE_BYTES (UINT64_C(36) << 20)
#define CAPTURES_LEAST_PART 8

struct captures_opts {
    int proc_fd;               /* borrowed: a directory fd of /proc */
    size_t captures_max;       /* captures per caller; request/caller.h limits the total */
    size_t samples_max;        /* samples per capture */
    size_t captures_max_bytes; /* of all captures, with profiles that wait to be stored */
};

struct recorder;

/* The result of a capture that captures_create() began with -EINPROGRESS. Borrowed. */
struct capture_begun {
    uint64_t ticket;      /* the ticket given to captures_create() */
    const char *schedule; /* name of the schedule; "": none */
    const char *id;
    int r; /* 0: the capture samples. Else an outcome or -errno, with @err: it failed */
    const struct error *err;
};

/* Functions outside this folder that captures call. */
struct captures_hooks {
    /* Delivers held samples that were taken before @all_until_ns. */
    void (*release)(void *cookie, uint64_t all_until_ns);
    void *release_cookie;
    /* Reports whether a capture that captures_create() began later samples. Returns whether the
     * request still waits for it. */
    bool (*begun)(void *cookie, const struct capture_begun *b);
    void *begun_cookie;
};

/* The flight recorder's part in the sets of captures. */
struct captures_recording {
    uint32_t sets;             /* bits: sets that the recorder samples in every process */
    struct recorder *recorder; /* borrowed; NULL: off */
    bool requests;             /* the recorder records requests */
    struct recorded_allocs allocs;
};

/* The content of the BPF filter. */
struct captures_filter {
    uint64_t reconciled_ns;    /* CLOCK_MONOTONIC of the last update */
    uint32_t all;              /* bits: sets that sample every process */
    struct id_table processes; /* struct filtered_process */
};

/* Counters since flamed's start. */
struct captures_counts {
    uint64_t events_late;     /* events that became ready after their capture began */
    uint64_t events_left_out; /* events that never became ready */
    uint64_t thinned;         /* times that a capture was thinned to give memory to another */
    uint64_t cut_short;       /* captures that ended early for want of memory */
    uint64_t cut_short_ns;    /* CLOCK_MONOTONIC of the last such end */
    uint64_t losses_ns;       /* CLOCK_MONOTONIC of the last captures_take_losses() */
    uint64_t unplaced_lost;   /* value of perf_rings_lost() that captures have already counted */
    uint64_t hidden_copies;   /* samples without BPF of processes outside flamed's pid namespace */
};

/* The look that ends the sampling of a JVM's virtual threads by probes, and its result. */
struct waits_closing {
    uint32_t set;     /* set of the probes */
    uint32_t no;      /* number of this look, for struct sample_record: flush */
    bool locks;       /* only waits for locks are sampled */
    bool missed;      /* the begin of a wait may be unknown */
    uint64_t from_ns; /* CLOCK_MONOTONIC; begin of waits with an unknown begin */
    /* Set by the look: */
    bool incomplete;      /* some threads were unreadable, or their begin is unknown */
    bool untracked;       /* the JVM does not list all of its virtual threads */
    uint64_t unbegun_ns;  /* the longest that waits of an unknown begin can have lasted */
    uint64_t unlisted_ns; /* how long threads that the look did not find have waited; 0: unknown */
};

/* JVMs with virtual threads that events of waiting sample. */
struct captures_virtual {
    struct virtual_wishes wishes; /* JVMs to look at */
    struct probe_table yields;    /* JVMs with probes */
    uint32_t closings;            /* number of the last look that ended sampling by probes */
    /* Samples the virtual threads of @p that wait now, with all of their waits. Returns
     * CLOCK_MONOTONIC of the look, or 0 if it failed. The pointer is NULL if that is never
     * possible. */
    uint64_t (*close)(void *cookie, struct process *p, struct waits_closing *closing);
    void *cookie;
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
    const struct pending_samples *pending; /* samples held for their symbols */
    struct captures_hooks hooks;

    struct sample_sets sets;
    struct captures_recording recording;
    struct capture *running; /* list of captures under way */
    bool stopping;           /* flamed stops: a capture that cannot sample at once fails */
    uint64_t last_handle;    /* handle of the last capture; handles are never reused */
    size_t capture_count;
    struct record_budget budget; /* memory of captures */
    struct captures_counts counts;
    struct captures_filter filter;
    struct probe_table probes;   /* in JVMs, for event alloc */
    struct probe_table agents;   /* in agents of JVMs, for event alloc */
    struct moments moments;      /* of JVMs, for event safepoint */
    struct counted counted;      /* counters of JVMs */
    struct probe_table calls;    /* functions with sampled calls */
    struct probe_table contexts; /* JVMs with a known path to requests */
    struct captures_virtual virtual_threads;
    uint64_t taken_ns; /* CLOCK_MONOTONIC up to which samples are read; UINT64_MAX: all */
};

/* Gets the path to the requests of @p. The path has no steps if no capture wants requests. */
void captures_context_path(const struct captures *captures, const struct process *p,
                           struct context_path *ret);

/* Initializes @captures with limits and without captures. The caller sets the borrowed members
 * before the first capture. */
void captures_init(struct captures *captures, const struct captures_opts *opts);
/* Frees what @captures holds, when no capture runs any more. */
void captures_deinit(struct captures *captures);

/* ---- captures.c: captures under way ---- */

/* Add the frames and names of running captures to a table that replaces the old table, as
 * profile/rebase.h describes. */
int captures_rebase_add(const struct captures *captures, struct rebase *b);
void captures_rebase(struct captures *captures, const struct rebase *b, struct frame_table *frames);

/* Starts a capture that @waiter waits for. The capture may begin to sample later, when its sets and
 * probes are installed. Return: 0: *ret_handle identifies the capture for captures_end(), and
 * @waiter->done will be called. Else an outcome or -errno with @err. */
int captures_start(struct captures *captures, const struct capture_request *req,
                   const struct capture_waiter *waiter, uint64_t *ret_handle, struct error *err);
/* Starts a capture that runs on its own and goes to the store. @schedule may be NULL. Return: 0:
 * the capture samples. -EINPROGRESS: captures->hooks.begun() gets the result for @ticket; with
 * @ticket 0, the store gets the reason of a failure. Else as captures_start(). */
int captures_create(struct captures *captures, const struct capture_request *req,
                    const char *schedule, uint64_t max_age_s, uint64_t ticket,
                    char ret_id[CAPTURE_ID_BYTES], struct error *err);
/* Sets @err for a missing store. Returns BACKEND_UNAVAILABLE. */
int captures_not_kept(struct error *err);
/* Makes a profile of @c so far, or since the last call with @reset. Returns -EBUSY if there is no
 * memory for it now. */
int captures_snapshot(struct captures *captures, struct capture *c, bool reset,
                      struct profile **ret, struct error *err);
/* Ends the capture @handle if it still runs: finished early (@keep) or cancelled. */
void captures_end(struct captures *captures, uint64_t handle, bool keep);
/* Hands a sample to the captures that want it. */
void captures_sample(struct captures *captures, struct incoming *in);
/* Reads the counters of JVMs that captures want or the recorder samples, if they are due. Called
 * each tick. */
void captures_look(struct captures *captures, uint64_t now_ns);
/* Reads the counters of these JVMs at once, for a capture that begins or ends. */
void captures_look_edge(struct captures *captures);
/* Returns whether set @set belongs to a running event of waiting. @locks: of waiting for locks. */
bool waits_take_virtual(const struct captures *captures, uint32_t set, bool locks);
/* Time before a look at the virtual threads of a JVM that is in no sample. */
struct virtual_missed {
    uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; from_ns 0: since the begin of each capture */
    double threads, lockers; /* threads that waited; threads that waited for a lock */
};
/* Counts the time @missed of @p for the events of waiting that have the sets of @wish. They warn of
 * it. Called at each look that succeeds, with the wish as the previous look left it. */
void waits_miss_virtual(struct captures *captures, const struct virtual_wish *wish,
                        const struct process *p, const struct virtual_missed *missed);
/* Returns whether any capture takes samples of @set. */
bool captures_want(const struct captures *captures, uint32_t set);
/* Returns whether a capture takes samples of @set in @p. The BPF filter has the same condition. */
bool captures_want_process(struct captures *captures, uint32_t set, const struct process *p,
                           uint64_t now_ns);
/* Polls what captures wait for before they begin, and makes agents sample for captures that want
 * them. Fails captures that are refused probes or an agent. Called each tick. */
void captures_poll(struct captures *captures, uint64_t now_ns);
/* Takes captures that are over from state to state, up to their profile. All samples up to @now_ns
 * must have been delivered before. */
void captures_finish_due(struct captures *captures, uint64_t now_ns);
/* Fails captures that do not sample yet. From now on, captures that cannot sample at once fail.
 * Call this when flamed stops, because requests wait for captures. */
void captures_stop_preparing(struct captures *captures);
/* Fails all captures with @r and @err. */
void captures_fail_all(struct captures *captures, int r, const struct error *err);
/* Returns CLOCK_MONOTONIC of the next deadline; UINT64_MAX: none. */
uint64_t captures_next_deadline(const struct captures *captures);
/* Returns whether a running capture needs its samples named at once. */
bool captures_hurry(const struct captures *captures);
/* Updates the BPF filter to the processes that captures want. */
void captures_reconcile(struct captures *captures, uint64_t now_ns);
/* Records that the broker stopped @set and removed it from the filter. */
void captures_filter_stopped(struct captures *captures, uint32_t set);

/* ---- memory.c: the common memory budget ---- */

/* Returns the bytes that running captures of @caller hold. */
size_t capture_memory_of(const struct captures *captures, const struct caller *caller);
/* Gives the text that describes the memory of all captures in a sentence. */
#define CAPTURE_MEMORY_BYTES (64 + RECORD_TAKEN_BYTES)
const char *capture_memory_text(const struct captures *captures, char buf[CAPTURE_MEMORY_BYTES]);
/* Updates the bytes that finished profiles hold, and the limit of captures. @beside_bytes: bytes of
 * symbols, names and waiting samples. Called each tick. */
void capture_memory_tick(struct captures *captures, uint64_t beside_bytes);
