/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What captures do for an event, as a table of functions: each event of events.def names one. The
 * files beside this header have the tables, and nothing else in capture/ asks what an event is.
 * Thread: the engine's.
 */
#pragma once

#include "capture/captures.h"
#include "capture/empty_text.h"

struct capture_event;
struct seen_run;

/*
 * @e is the event of a capture, e->capture; e->state has state_bytes, which are zero at first. A
 * function that is NULL has nothing to do. Their order is: begin, sets, prepare, run. While the
 * capture runs: want, poll, and those of samples. Then ended, flush, lates, settle, warn, weigh.
 * release is called once, whatever was called before.
 */
struct event_source {
    size_t state_bytes;
    bool reads_threads;        /* the program reads Java threads: their tables are loaded before */
    bool has_moments;          /* moments of JVMs come with its samples, and are not counted then */
    bool at_end;               /* its samples are known when the capture ends */
    struct empty_reason empty; /* why there may be no sample */

    /* ---- before the first sample ---- */

    /* Checks and plans at the request. 0; BACKEND_CONFLICT or -errno with @err. */
    int (*begin)(struct capture_event *e, struct error *err);
    /* Writes the events that are sampled for @e, at most EVENT_SETS_MAX. NULL: its own alone. */
    void (*sets)(const struct capture_event *e, struct event_ref *ret);
    /* Has @p, the one process of the capture (NULL: it has several), probed. 0: it can be sampled.
     * -EINPROGRESS with @err: to be called again. BACKEND_CONFLICT with @err. */
    int (*prepare)(struct capture_event *e, struct process *p, struct error *err);
    /* Marks the probes as wanted that prepare() has put, at each reconciliation. @p: of its
     * process; NULL: there is none, or want() is called for it. */
    void (*hold)(const struct capture_event *e, const struct proc_id *p);

    /* ---- while the capture runs ---- */

    /* Notes the state of the node as the capture begins. */
    void (*run)(struct capture_event *e);
    /* Has @p, a process of the capture, probed, at each reconciliation. */
    void (*want)(struct capture_event *e, struct process *p, uint64_t now_ns);
    /* Takes what @e waits for a step further, each tick. 0; BACKEND_CONFLICT with @err: the capture
     * fails. */
    int (*poll)(struct capture_event *e, uint64_t now_ns, struct error *err);
    /* Reads records of its own for all captures, each tick. */
    void (*drain)(struct captures *captures);
    /* Drops what depended on probes that are gone, after each reconciliation. */
    void (*swept)(struct captures *captures);
    /* Drops what was of process image @id, which an exec has replaced. */
    void (*replaced)(struct captures *captures, const struct proc_id *id);

    /* ---- of a record of its sets ---- */

    /* Takes a record that is no sample. Returns false if it is one. */
    bool (*note)(struct capture_event *e, const struct incoming *in);
    /* Returns whether the time of @rec is one of the capture. NULL: if the capture ran then. */
    bool (*covers)(const struct capture_event *e, const struct sample_record *rec);
    /* Sets what the sample is worth. NULL: source_value() of EVENT_VALUED, else a period, or the
     * events that it stands for. */
    void (*weight)(struct capture_event *e, const struct sample_record *rec, struct seen_run *run,
                   struct profile_sample *sample);
    /* Keeps the sample with its @n @frames, leaf first, until the end. NULL: it is recorded. */
    void (*keep)(struct capture_event *e, const struct incoming *in,
                 const struct profile_sample *sample, const uint32_t *frames, size_t n);
    /* Notes that the BPF program has forgotten what it followed for the set of @e. */
    void (*set_changed)(struct capture_event *e);

    /* ---- at the end ---- */

    /* Looks at the sampled process as sampling ends. */
    void (*ended)(struct capture_event *e);
    /* Has the broker write the samples of what goes on. Returns whether stacks are still pending.
     */
    bool (*flush)(struct capture_event *e);
    /* Has the broker write those whose stack is still pending. */
    void (*lates)(const struct capture_event *e);
    /* Records the samples that were kept, of a profile that ends at @end_ns. */
    void (*settle)(struct capture_event *e, uint64_t end_ns);
    /* Warns of what the profile lacks of @e. */
    void (*warn)(const struct capture_event *e);
    /* Sets the values of the samples of event number @event of the profile. 0 or -ENOMEM. */
    int (*weigh)(struct profile *p, uint32_t event);
    /* Returns how many samples it keeps until the end. */
    size_t (*kept)(const struct capture_event *e);
    /* Gives back what its state holds; the state itself is the caller's to free. */
    void (*release)(struct capture_event *e);
};

#define SOURCE(id, name) extern const struct event_source event_source_##name;
#include "event/events.def"

/* Returns the source of @info; static. */
const struct event_source *event_source_of(const struct event_info *info);
/* Calls what all sources have: as drain, swept and replaced. */
void event_sources_drain(struct captures *captures);
void event_sources_swept(struct captures *captures);
void event_sources_replaced(struct captures *captures, const struct proc_id *id);

/* ---- what several of them do ---- */

/* Returns what @rec says that it is worth, at least a period. */
uint64_t source_value(const struct capture_event *e, const struct sample_record *rec);

/* Returns the share of the samples like @rec that is kept. A wait of d is sampled with a chance of
 * d/I. It is kept so often that this is so with the capture's own interval. */
double source_share(const struct capture_event *e, const struct sample_record *rec);
/* Returns the share of the samples of set @set that @e keeps, on average. */
double source_set_share(const struct capture_event *e, uint32_t set);
/* Sets what @sample, made of @rec, is worth. */
void source_weigh(struct capture_event *e, const struct sample_record *rec, struct seen_run *run,
                  struct profile_sample *sample);

/* Parts of sentences: "@first not in this profile", "@what process 42 @cannot", "@what 42 (Main)
 * @is not in this profile". */
struct source_texts {
    const char *first, *what, *cannot, *is;
};
/* Has @p, a JVM, probed by @t, as prepare. */
int source_prepare_jvm(struct capture_event *e, struct probe_table *t, struct process *p,
                       const struct source_texts *texts, struct error *err);
/* Does the same as want, if @p is a JVM. Returns whether it is probed. */
bool source_want_jvm(struct capture_event *e, struct probe_table *t, struct process *p,
                     const struct source_texts *texts);
