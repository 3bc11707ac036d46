/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What captures do for an event, as a table of functions. Each event of events.def names a table.
 * The files of this folder define the tables; no other code of capture/ depends on the kind of an
 * event. Thread: the engine's.
 */
#pragma once

#include "capture/captures.h"
#include "capture/empty_text.h"

struct capture_event;
struct seen_run;

/*
 * @e is the event of a capture, e->capture; e->state has state_bytes, which are zero at first. A
 * NULL function is skipped. Order of calls: begin, sets, prepare, run. While the capture runs:
 * want, poll, and the functions for samples. Then ended, flush, lates, settle, warn, weigh_profile.
 * release is called once, in any state, also without begin.
 */
struct event_source {
    size_t state_bytes;
    bool reads_threads; /* its program reads Java threads: their tables are loaded first */
    bool has_moments;   /* its probes report moments of JVMs; those of counters are skipped */
    bool at_end;        /* its samples are known only at the end of the capture */
    struct empty_reason empty; /* why there may be no sample */

    /* ---- before the first sample ---- */

    /* Checks the request, and plans for it. Return: 0; BACKEND_CONFLICT or -errno with @err. */
    int (*begin)(struct capture_event *e, struct error *err);
    /* Writes the events to sample for @e, at most EVENT_SETS_MAX. NULL: only the event of @e. */
    void (*sets)(const struct capture_event *e, struct event_ref *ret);
    /* Probes @p, the one process of the capture (NULL: it has several). Return: 0: the event can be
     * sampled; -EINPROGRESS with @err: call again; BACKEND_CONFLICT with @err. */
    int (*prepare)(struct capture_event *e, struct process *p, struct error *err);
    /* Marks the probes that prepare() has put as wanted, at each reconciliation. @p: the process;
     * NULL: there is none, or want() marks them. */
    void (*hold)(const struct capture_event *e, const struct proc_id *p);

    /* ---- while the capture runs ---- */

    /* Stores the state of the node at the start of the capture. */
    void (*run)(struct capture_event *e);
    /* Probes @p, a process of the capture, at each reconciliation. */
    void (*want)(struct capture_event *e, struct process *p, uint64_t now_ns);
    /* Polls what @e waits for, each tick. Return: 0; BACKEND_CONFLICT with @err: the capture
     * fails. */
    int (*poll)(struct capture_event *e, uint64_t now_ns, struct error *err);
    /* Reads the source's own records, for all captures, each tick. */
    void (*drain)(struct captures *captures);
    /* Drops state that depended on removed probes, after each reconciliation. */
    void (*swept)(struct captures *captures);
    /* Drops state of process image @p, which an exec has replaced. */
    void (*replaced)(struct captures *captures, const struct process *p);

    /* ---- for each record of its sets ---- */

    /* Takes a record that is no sample. Returns false if the record is a sample. */
    bool (*note)(struct capture_event *e, const struct incoming *in);
    /* Returns whether the capture covers the time of @rec. NULL: it does if it ran at that time. */
    bool (*covers)(const struct capture_event *e, const struct sample_record *rec);
    /* Sets the value of the sample. NULL: sets source_value() for EVENT_VALUED, else a period, or
     * the number of events that the sample stands for. */
    void (*weight)(struct capture_event *e, const struct sample_record *rec, struct seen_run *run,
                   struct profile_sample *sample);
    /* Keeps the sample with its @n @frames, leaf first, until the end. NULL: samples are recorded
     * at once. */
    void (*keep)(struct capture_event *e, const struct incoming *in,
                 const struct profile_sample *sample, const uint32_t *frames, size_t n);
    /* Called when the BPF program has lost its state for the set of @e. */
    void (*set_changed)(struct capture_event *e);

    /* ---- at the end ---- */

    /* Reads the sampled process as sampling ends. */
    void (*ended)(struct capture_event *e);
    /* Flushes samples of unfinished waits, through the broker. Returns true if stacks are
     * still pending. */
    bool (*flush)(struct capture_event *e);
    /* Flushes samples with stacks that are still pending, through the broker. */
    void (*lates)(const struct capture_event *e);
    /* Records the kept samples, for a profile that ends at @end_ns. */
    void (*settle)(struct capture_event *e, uint64_t end_ns);
    /* Adds warnings about what the profile lacks for @e. */
    void (*warn)(const struct capture_event *e);
    /* Sets the values of the samples of event number @event of the profile. Returns 0 or
     * -ENOMEM. */
    int (*weigh_profile)(struct profile *p, uint32_t event);
    /* Returns the number of samples that are kept until the end. */
    size_t (*kept)(const struct capture_event *e);
    /* Frees what the state of @e holds; the caller frees the state itself. */
    void (*release)(struct capture_event *e);
};

#define SOURCE(id, name) extern const struct event_source event_source_##name;
#include "event/events.def"

/* Returns the source of @info; static. */
const struct event_source *event_source_of(const struct event_info *info);
/* Call drain, swept and replaced of all sources. */
void event_sources_drain(struct captures *captures);
void event_sources_swept(struct captures *captures);
void event_sources_replaced(struct captures *captures, const struct process *p);

/* ---- shared by several sources ---- */

/* Returns the value of @rec, at least a period. */
uint64_t source_value(const struct capture_event *e, const struct sample_record *rec);

/* Returns the share of samples like @rec to keep. A wait of length d is sampled with a chance of
 * d/I. The share corrects that chance for the capture's own interval I. */
double source_share(const struct capture_event *e, const struct sample_record *rec);
/* Returns the share of samples of set @set that @e keeps, on average. */
double source_set_share(const struct capture_event *e, uint32_t set);
/* Sets the value of @sample, which was made from @rec. */
void source_weigh(struct capture_event *e, const struct sample_record *rec, struct seen_run *run,
                  struct profile_sample *sample);

/* Parts of sentences: "@first not in this profile", "@what process 42 @cannot", "@what 42 (Main)
 * @is not in this profile". */
struct source_texts {
    const char *first, *what, *cannot, *is;
};
/* Probes @p, a JVM, by @t, as event_source.prepare. */
int source_prepare_jvm(struct capture_event *e, struct probe_table *t, struct process *p,
                       const struct source_texts *texts, struct error *err);
/* Probes @p by @t, as event_source.want, if @p is a JVM. Returns whether @p is probed. */
bool source_want_jvm(struct capture_event *e, struct probe_table *t, struct process *p,
                     const struct source_texts *texts);
