/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry of signal/: the numbers of each JVM, read every ten seconds, and the signals that rules
 * find in them. Thread: the engine's, for everything here.
 */
#pragma once

#include "discover/discover.h"
#include "event/measures.h"
#include "signal/rule.h"

#define SIGNAL_JVMS_MAX 512                  /* watched JVMs; further ones are counted */
#define SIGNAL_ENDED_MAX 64                  /* JVMs that ended and are still shown */
#define SIGNAL_ENDED_NS (600 * NSEC_PER_SEC) /* how long they are shown */
#define SIGNAL_PAST_NS (3600 * NSEC_PER_SEC) /* a signal that went off is kept for this long */

struct signals;

struct signals_opts {
    int proc_fd;               /* fd of /proc; borrowed */
    struct discover *discover; /* borrowed */
    struct broker *broker;     /* borrowed; NULL: no cgroup is read */
    /* Gets what the threads of @p wait for. *ret has the last result, and stays as it is if no
     * thread has moved. Returns false if the waits are unknown. NULL: they always are. */
    bool (*waits)(void *cookie, const struct process *p, struct waits_now *ret);
    void *cookie;
};

/* Makes *ret. Returns 0 or -ENOMEM. */
int signals_new(const struct signals_opts *o, struct signals **ret);
/* Frees @s; accepts NULL. Call it before opts->discover is freed. Returns NULL. */
struct signals *signals_free(struct signals *s);
/* Reads the JVMs that are due, within the time of one poll. Call it every 10 ms to 1 s. */
void signals_poll(struct signals *s, uint64_t now_ns);

/* A signal that is on, or was on lately. Borrowed for a call. */
struct signal {
    const struct signal_rule *rule;
    struct process *process;   /* `exited` is set if the JVM has ended */
    unsigned severity;         /* 1 to RULE_SEVERITY_MAX */
    uint64_t since_ns, now_ns; /* CLOCK_REALTIME: since when the signal is on; the last reading. For
                                  a signal that was on: the reading at which it was most severe */
    uint64_t until_ns;         /* CLOCK_REALTIME: when it went off; 0: it is on */
    unsigned times;            /* how often it was on between since_ns and until_ns; 0: it is on */
    double value;
    struct span cause; /* the part of the sentence that says how the JVM ended; empty: it runs */
    const char *sentence, *remedy;
    uint64_t ago_ns; /* {from} and {to} of the texts are this long before now_ns */
};

typedef void (*signal_fn)(void *cookie, const struct signal *signal);
/* Calls @fn for each signal that is on, for each JVM the most severe one first. @p: only signals of
 * this process; NULL: of all processes. */
void signals_each(const struct signals *s, const struct process *p, signal_fn fn, void *cookie);
/* Calls @fn for each signal that went off within SIGNAL_PAST_NS and is not on again, in no order.
 * It has its highest severity, and the sentence of that moment. */
void signals_each_past(const struct signals *s, signal_fn fn, void *cookie);

/* Writes what the last release of @p's service changed into *ret, which is zero before. @ended_ns:
 * CLOCK_REALTIME of the end of @p; 0: @p runs. */
typedef void (*signal_release_fn)(void *cookie, const struct process *p, uint64_t ended_ns,
                                  struct rule_release *ret);
/* Calls @fn for each JVM that runs, or that SIGTERM ended. The next readings judge the running JVMs
 * by the results. The end of a JVM is no longer shown if a release took its place. */
void signals_set_releases(struct signals *s, signal_release_fn fn, void *cookie);

/* Takes the measures @v of the last 30 s; NAN: not known. They are borrowed for the call. */
typedef void (*signal_measures_fn)(void *cookie, struct process *p, const double v[MEASURES]);
/* Calls @fn for each JVM that runs. */
void signals_measure(const struct signals *s, signal_measures_fn fn, void *cookie);

/* How long a JVM was throttled by the cgroup with its lowest CPU limit. */
struct signal_throttled {
    uint64_t ns;             /* so far */
    uint64_t from_ns, to_ns; /* CLOCK_REALTIME: time span of the readings that show `lately_ns` */
    uint64_t lately_ns;
};
typedef void (*signal_throttled_fn)(void *cookie, const struct process *p,
                                    const struct signal_throttled *t);
/* Calls @fn for each running JVM with a CPU limit. `lately_ns` counts from @since_ns
 * (CLOCK_REALTIME) on. */
void signals_throttled(const struct signals *s, uint64_t since_ns, signal_throttled_fn fn,
                       void *cookie);

/* Pauses and throttling of a JVM. */
struct signal_stops {
    uint64_t pauses, pause_ns; /* number and time of the garbage collector's pauses */
    uint64_t throttled_ns;
};
/* Returns the rises of the readings of @p since the last call; 0: unknown. */
struct signal_stops signals_take_stops(struct signals *s, const struct process *p);

struct signals_stats {
    uint64_t jvms, left_out;   /* jvms: watched now; left_out: JVMs beyond the limit */
    uint64_t ends_dropped;     /* ended JVMs since the start, above SIGNAL_ENDED_MAX */
    uint64_t threads_left_out; /* threads of running JVMs without a look at their waits */
    uint64_t readings, cpu_ns; /* number, and CPU time of this thread and the readers, since the
                                  start */
    uint64_t bytes;            /* memory of the JVMs' numbers */
};
/* Gets the counters and sizes of @s. */
void signals_stats(const struct signals *s, struct signals_stats *ret);

/* Writes the path of @signal's evidence into @out. */
void signal_evidence(const struct signal *signal, char *out, size_t size);
/* Writes @signal's remedy into @out. */
void signal_remedy(const struct signal *signal, char *out, size_t size);
