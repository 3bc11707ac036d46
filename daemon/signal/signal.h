/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of signal/: the numbers of each JVM, read every ten seconds, and the signals that rules
 * find in them. Thread: the engine's, for everything here.
 */
#pragma once

#include "discover/discover.h"
#include "event/measures.h"
#include "signal/rule.h"

#define SIGNAL_JVMS_MAX 512                  /* whose numbers are read; more are counted */
#define SIGNAL_ENDED_MAX 64                  /* JVMs that ended and are still shown */
#define SIGNAL_ENDED_NS (600 * NSEC_PER_SEC) /* for how long they are */

struct signals;

struct signals_opts {
    int proc_fd;               /* of /proc; borrowed */
    struct discover *discover; /* borrowed */
    struct broker *broker;     /* borrowed; NULL: no cgroup is read */
    /* Fills in what the threads of @p wait for. *ret is as it was last, and stays if they have not
     * moved. False: not known. NULL: it never is. */
    bool (*waits)(void *cookie, const struct process *p, struct waits_now *ret);
    void *cookie;
};

/* 0 and *ret, or -ENOMEM. */
int signals_new(const struct signals_opts *o, struct signals **ret);
/* NULL is fine. To be called before the end of opts->discover. Returns NULL. */
struct signals *signals_free(struct signals *s);
/* Reads what is due, as far as its time goes: call every 10 ms to 1 s. */
void signals_poll(struct signals *s, uint64_t now_ns);

/* A signal that is on. Borrowed for a call. */
struct signal {
    const struct signal_rule *rule;
    struct process *process;   /* `exited` where the JVM ended */
    unsigned severity;         /* 1 to RULE_SEVERITY_MAX */
    uint64_t since_ns, now_ns; /* CLOCK_REALTIME: since when, and its last look */
    double value;
    const char *sentence;
};

typedef void (*signal_fn)(void *cookie, const struct signal *signal);
/* Calls @fn for each that is on, the most severe of a JVM first. @p: of this process alone; NULL:
 * of all. */
void signals_each(const struct signals *s, const struct process *p, signal_fn fn, void *cookie);

/* What expressions of triggers may name, of the last 30 s; NAN: not known. Borrowed for a call. */
typedef void (*signal_measures_fn)(void *cookie, struct process *p, const double v[MEASURES]);
/* Calls @fn for each JVM that runs. */
void signals_measure(const struct signals *s, signal_measures_fn fn, void *cookie);

typedef void (*signal_throttled_fn)(void *cookie, const struct process *p, uint64_t ns);
/* Calls @fn for each JVM that runs with the time that its cgroup was throttled so far. That is of
 * the cgroup with its least limit of CPU time. JVMs without a limit are left out. */
void signals_throttled(const struct signals *s, signal_throttled_fn fn, void *cookie);

/* Pauses and throttling of a JVM. */
struct signal_stops {
    uint64_t pauses, pause_ns; /* of the garbage collector */
    uint64_t throttled_ns;
};
/* Returns the rises of the readings of @p since the last call; 0: unknown. */
struct signal_stops signals_take_stops(struct signals *s, const struct process *p);

struct signals_stats {
    uint64_t jvms, left_out;   /* watched now; that found no room */
    uint64_t threads_left_out; /* of those that run: too many to see what they wait for */
    uint64_t readings, cpu_ns; /* since the start: how many, and what CPU time they took */
    uint64_t bytes;            /* of their numbers */
};
/* Gives its counters and sizes. */
void signals_stats(const struct signals *s, struct signals_stats *ret);

/* Writes the path of @signal's evidence into @out. */
void signal_evidence(const struct signal *signal, char *out, size_t size);
/* Writes its remedy in the same way. */
void signal_remedy(const struct signal *signal, char *out, size_t size);
