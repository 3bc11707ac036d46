/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM with numbers that signals are judged by: its files, its history, the signals that are on.
 * Thread: the engine's. */
#pragma once

#include "hotspot/heap_sample.h"
#include "signal/lock_readings.h"
#include "signal/read.h"
#include "signal/signal.h"

struct signal_state {
    bool on;
    uint64_t strong_ns;          /* CLOCK_MONOTONIC since when it is strong enough; 0: it is not */
    uint64_t weak_ns;            /* the same of too weak, while it is on */
    struct rule_finding finding; /* the newest while it is on */
};

/* A signal while it is on, and for SIGNAL_PAST_NS after that. */
struct signal_past {
    uint64_t since_ns, until_ns; /* CLOCK_MONOTONIC: when it was on first, and last; 0: it is on */
    uint64_t worst_ns;           /* CLOCK_MONOTONIC of `worst` */
    unsigned times;              /* that it was on */
    struct rule_finding worst;   /* the most severe finding within SIGNAL_PAST_NS, and the newest of
                                  * equal ones */
};

/* The last sample of a JVM's heap, for its signals. */
struct heap_said {
    double known;               /* part of the sample in objects of a known class */
    char text[RULE_HEAP_BYTES]; /* its classes; "": there is no sample */
    bool was_full;              /* the heap was full then */
    uint64_t taken_ns;          /* CLOCK_MONOTONIC */
    uint64_t time_ns;           /* CLOCK_REALTIME of the last sample of all, a poor one included */
    uint64_t next_ns;           /* CLOCK_MONOTONIC of the next one */
};

struct watched {
    struct process *p; /* pinned */
    struct numbers numbers;
    struct number_reading fixed; /* what is read once, or seldom */
    struct number_reading taken; /* of the last signals_take_stops(); unknown before a reading */
    bool fixed_read;
    struct broker_cgroup_files files;
    uint64_t files_ns, limits_ns; /* when they were opened, or read; 0: never */
    int pidfd;                    /* -1: none */
    uint64_t next_ns;             /* the next reading is due */
    unsigned readings;
    struct waits_now waits; /* of the last look that is known */
    struct lock_readings locks;
    struct waits_lock lock; /* what `locks` shows most often */
    struct waits_pool pool;
    struct rule_peer peer; /* of that pool, as wait_peers_look() found it last */
    bool wants_peer;       /* wait_peers_look() is to be called */
    struct waits_carriers carriers;
    struct waits_virtual virtual;
    struct rule_release release;
    struct heap_said heap;
    bool ended;        /* it has ended; how is known, or never will be */
    uint64_t ended_ns; /* when that was seen first; 0: it was not */
    uint64_t ask_ns;   /* the broker is not asked before how */
    double
        last_kills; /* processes of its cgroup that the kernel ended at its end; NAN: not known */
    struct signal_state states[RULES];
    struct signal_past *past[RULES]; /* owned; NULL: it was not on */
};

/* Begins to watch @p. NULL: no memory. */
struct watched *watched_new(struct process *p, int proc_fd);
struct watched *watched_free(struct watched *w);

/* Returns how much the count @which rose from reading to reading since the last call, at most
 * WATCHED_RISE_MOST: a JVM may lie. */
uint64_t watched_take_rise(struct watched *w, enum number which);
#define WATCHED_RISE_MOST 1e12

/* Returns how long it was throttled after @since_ns. *ret_from_ns and *ret_to_ns: the time of the
 * readings that show it, from the first one with a rise. All CLOCK_MONOTONIC. */
uint64_t watched_throttled(const struct watched *w, uint64_t since_ns, uint64_t *ret_from_ns,
                           uint64_t *ret_to_ns);

/* Turns signals on and off by the newest numbers. */
void watched_judge(struct watched *w, uint64_t now_ns);
/* Notes what the rule @id found; the same for one rule. */
void signal_state_note(struct signal_state *state, const struct signal_rule *rule,
                       const struct rule_finding *found, uint64_t now_ns);

/* ---- past.c ---- */

/* A signal that was on for a shorter time is not kept, unless the JVM ended. */
#define SIGNAL_FLICKER_S (30.0 + RULE_RELEASE_S)

/* Notes in *past, which may be NULL, that the signal is in @state now. Frees *past if the signal
 * went off after a flicker, or SIGNAL_PAST_NS ago. */
void signal_past_note(struct signal_past **past, const struct signal_state *state, uint64_t now_ns);
/* Notes that the signal went off at @at_ns, if it was on; accepts NULL. */
void signal_past_end(struct signal_past *past, uint64_t at_ns);

/* ---- wait_peers.c ---- */

/* Asks @broker which peer the threads of w->pool wait for, and writes it into w->peer. Returns true
 * if the broker cannot say so yet. *err: why it refused. */
bool wait_peers_look(struct watched *w, struct broker *broker, struct error *err);
/* Writes the address of @p into @out: "10.0.0.7:5432 (postgresql)", "[::1]:80 (http)" or
 * "unix:/run/db.sock", clean; "": it has none. Pure. */
void wait_peers_text(const struct waiting_peer *p, char out[RULE_PEER_BYTES]);
/* Finds the peer that most of @n threads wait for in the same way. Writes all of *ret but
 * `looked`, which is 0 before, if there is one. Pure. */
void wait_peers_choose(const struct waiting_peer *peers, const bool *writes, size_t n,
                       struct rule_peer *ret);
/* Returns the descriptor that the system call of @p waits for; -1: it names none. *ret_poll: the
 * address of its only struct pollfd, which does; 0: there is none. *ret_writes: it waits to write
 * or to connect. Pure. */
int wait_peers_descriptor(const struct waiting_peer *p, uint64_t *ret_poll, bool *ret_writes);

/* ---- heap_text.c ---- */

/* Returns whether a sample of the heap is due: a signal about the heap is on. */
bool heap_text_is_due(const struct watched *w, uint64_t now_ns);
/* Samples the heap of the first of @n JVMs for which that is due. That takes some 4 ms, and up to
 * 20 ms if a JVM's heap is full of words that look like classes. Sets heap_text of it once that is
 * done, and clears heap_text of JVMs without a signal about the heap. */
void heap_text_poll(struct watched *const *all, size_t n, struct discover *d, uint64_t now_ns);
/* Takes @s, sampled at @now_ns, in place of the kept sample. A sample that knows few objects does
 * not replace a better one of the last 10 minutes. So it is while a collection moves objects: their
 * marks are addresses. Returns whether it knows enough. Pure. */
bool heap_text_take(struct watched *w, const struct heap_sample *s, uint64_t now_ns);
/* Writes the largest classes of @s as "93 % byte[], 3 % java.lang.Long", and the part of the heap
 * that is not known, if that is large. "": no class is known. Pure. */
void heap_text_say(const struct heap_sample *s, char out[RULE_HEAP_BYTES]);

/* ---- ended.c ---- */

/* Finds out how the JVM ended, and turns that signal on if it is worth it. @broker is asked of a
 * zombie; NULL: none. Returns false if it is not known yet. */
bool ended_look(struct watched *w, struct broker *broker, uint64_t now_ns);

/* Returns whether the signal of its end is on, or was, and SIGTERM ended it. */
bool ended_by_sigterm(const struct watched *w);
/* Hides the signal of its end, as one without a severity. */
void ended_hide(struct watched *w);
/* Returns whether that is so. */
bool ended_is_hidden(const struct watched *w);
/* Returns whether @a is dropped before @b, which belongs to the same owner: hidden ends first, then
 * earlier ones. */
bool ended_is_less(const struct watched *a, const struct watched *b);
/* Turns the signal of its end off, SIGNAL_ENDED_NS after that. */
void ended_turn_off(struct watched *w, uint64_t now_ns);

/* How a process ended: what is known of it. */
struct end_facts {
    bool known;        /* its status */
    int status;        /* in the form of wait(2) */
    double oom_kills;  /* of its cgroup, in its last seconds; NAN: not known */
    double age_s;      /* that it lived */
    double rss, limit; /* bytes, at last; NAN: not known */
};
/* Writes what to say of it. Returns false if it ended as programs do, soon after it began. Pure. */
bool ended_find(const struct end_facts *e, struct rule_finding *ret);
