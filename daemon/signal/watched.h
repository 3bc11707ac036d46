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
    uint64_t strong_ns; /* CLOCK_MONOTONIC since when the signal is strong enough; 0: it is not */
    uint64_t weak_ns; /* CLOCK_MONOTONIC since when a signal that is on is too weak; 0: it is not */
    struct rule_finding finding; /* the newest finding while the signal is on */
};

/* A signal while it is on, and for SIGNAL_PAST_NS after that. */
struct signal_past {
    /* CLOCK_MONOTONIC: when the signal first went on; when it last went off, 0: it is on. */
    uint64_t since_ns, until_ns;
    uint64_t worst_ns; /* CLOCK_MONOTONIC of `worst` */
    unsigned times;    /* how often it was on */
    /* The most severe finding within SIGNAL_PAST_NS; of equal findings the newest. */
    struct rule_finding worst;
};

/* The last sample of a JVM's heap, for its signals. */
struct heap_said {
    double known;               /* part of the sample that is in objects of a known class */
    char text[RULE_HEAP_BYTES]; /* classes in the sample; "": there is no sample */
    bool was_full;              /* the heap was full then */
    uint64_t taken_ns;          /* CLOCK_MONOTONIC */
    uint64_t time_ns;           /* CLOCK_REALTIME of the last sample, even if it was poor */
    uint64_t next_ns;           /* CLOCK_MONOTONIC of the next sample */
    uint64_t looked_ns;         /* CLOCK_MONOTONIC of its last turn in heap_text_poll() */
};

struct watched {
    struct process *p; /* pinned */
    struct numbers numbers;
    struct number_reading fixed; /* numbers that are read once, or seldom */
    struct number_reading taken; /* reading at the last signals_take_stops(); unknown before */
    bool fixed_read;
    struct broker_cgroup_files files;
    uint64_t files_ns, limits_ns; /* when `files` were opened; when limits were read; 0: never */
    int pidfd;                    /* -1: none */
    uint64_t next_ns;             /* when the next reading is due */
    unsigned readings;
    struct waits_now waits; /* result of the last look that had one */
    struct lock_readings locks;
    struct waits_lock lock; /* the lock that `locks` shows most often */
    struct waits_pool pool;
    struct rule_peer peer; /* peer of `pool`, as wait_peers_look() last found it */
    bool wants_peer;       /* wait_peers_look() is to be called */
    struct waits_carriers carriers;
    struct waits_virtual virtual;
    struct rule_release release;
    struct heap_said heap;
    bool ended;        /* it has ended, and ended_look() is done with it */
    uint64_t ended_ns; /* when its end was first seen; 0: not yet */
    uint64_t ask_ns;   /* earliest time of the next question to the broker */
    double
        last_kills; /* processes of its cgroup that the kernel ended at its end; NAN: not known */
    struct signal_state states[RULES];
    struct signal_past *past[RULES]; /* owned; NULL: the signal was not on */
};

/* Begins to watch @p. NULL: no memory. */
struct watched *watched_new(struct process *p, int proc_fd);
struct watched *watched_free(struct watched *w);

/* Returns the rise of the count @which between the readings since the last call. It is at most
 * WATCHED_RISE_MOST, as a JVM may lie. */
uint64_t watched_take_rise(struct watched *w, enum number which);
#define WATCHED_RISE_MOST 1e12

/* Returns how long the JVM was throttled after @since_ns. *ret_from_ns and *ret_to_ns: the time of
 * the readings that show it, from the first one with a rise. All CLOCK_MONOTONIC. */
uint64_t watched_throttled(const struct watched *w, uint64_t since_ns, uint64_t *ret_from_ns,
                           uint64_t *ret_to_ns);

/* Turns signals on and off by the newest numbers. */
void watched_judge(struct watched *w, uint64_t now_ns);
/* Turns the signal of one rule on or off by the finding @found, at the time @now_ns. */
void signal_state_note(struct signal_state *state, const struct signal_rule *rule,
                       const struct rule_finding *found, uint64_t now_ns);

/* ---- past.c ---- */

/* A signal that was on for a shorter time is not kept, unless the JVM ended. */
#define SIGNAL_FLICKER_S (30.0 + RULE_RELEASE_S)

/* Updates *past, which may be NULL, from the current @state of the signal. Frees *past if the
 * signal went off after a flicker, or SIGNAL_PAST_NS ago. */
void signal_past_note(struct signal_past **past, const struct signal_state *state, uint64_t now_ns);
/* Stores that the signal went off at @at_ns, if it was on; accepts NULL. */
void signal_past_end(struct signal_past *past, uint64_t at_ns);

/* ---- wait_peers.c ---- */

/* Requests from @broker which peer the threads of w->pool wait for, and writes it into w->peer.
 * Returns true if the broker does not know it yet. *err: why the broker refused. */
bool wait_peers_look(struct watched *w, struct broker *broker, struct error *err);
/* Writes the address of @p into @out: "10.0.0.7:5432 (postgresql)", "[::1]:80 (http)" or
 * "unix:/run/db.sock", clean; "": @p has no address. Pure. */
void wait_peers_text(const struct waiting_peer *p, char out[RULE_PEER_BYTES]);
/* Finds the peer for which most of the @n threads wait in the same way. If there is such a peer,
 * sets *ret except `looked`; *ret must be zero before. Pure. */
void wait_peers_choose(const struct waiting_peer *peers, const bool *writes, size_t n,
                       struct rule_peer *ret);
/* Returns the descriptor that the system call of @p waits for; -1: the call names none. *ret_poll:
 * the address of the call's only struct pollfd, which names the descriptor; 0: there is none.
 * *ret_writes: it waits to write or to connect. Pure. */
int wait_peers_descriptor(const struct waiting_peer *p, uint64_t *ret_poll, bool *ret_writes);

/* ---- heap_text.c ---- */

/* Returns when the next sample of the heap is due; UINT64_MAX: no signal about the heap is on. */
uint64_t heap_text_due_ns(const struct watched *w);
/* Samples the heap of one of @n JVMs for which a sample is due; they take turns. This takes some 4
 * ms, and up to 20 ms if the heap is full of words that look like classes. Then sets heap_text of
 * that JVM. Clears heap_text of JVMs without a signal about the heap. */
void heap_text_poll(struct watched *const *all, size_t n, struct discover *d, uint64_t now_ns);
/* Takes @s, sampled at @now_ns, in place of the kept sample. A sample that knows few objects does
 * not replace a better one of the last 10 minutes. A sample is poor while a collection moves
 * objects: their marks are then addresses. Returns whether @s knows enough. Pure. */
bool heap_text_take(struct watched *w, const struct heap_sample *s, uint64_t now_ns);
/* Writes the largest classes of @s as "93 % byte[], 3 % java.lang.Long", and the part of the heap
 * that is not known, if it is large. "": no class is known. Pure. */
void heap_text_say(const struct heap_sample *s, char out[RULE_HEAP_BYTES]);

/* ---- ended.c ---- */

/* Finds out how the JVM ended, and turns the signal of its end on, unless it ended normally soon
 * after its start. @broker reports how a zombie ended; NULL: unknown. Returns false if the end is
 * not known yet. */
bool ended_look(struct watched *w, struct broker *broker, uint64_t now_ns);

/* Returns whether the signal of its end is on, or was, and SIGTERM ended it. */
bool ended_by_sigterm(const struct watched *w);
/* Hides the signal of its end, by severity 0. */
void ended_hide(struct watched *w);
/* Returns whether the signal of its end is hidden. */
bool ended_is_hidden(const struct watched *w);
/* Returns whether @a is dropped before @b, which belongs to the same owner: hidden ends first, then
 * earlier ones. */
bool ended_is_less(const struct watched *a, const struct watched *b);
/* Turns the signal of its end off once SIGNAL_ENDED_NS have passed since the end. */
void ended_turn_off(struct watched *w, uint64_t now_ns);

/* What is known of the end of a process. */
struct end_facts {
    bool known;        /* `status` is known */
    int status;        /* status in the form of wait(2) */
    double oom_kills;  /* kills in its cgroup in its last seconds; NAN: not known */
    double age_s;      /* its age at the end */
    double rss, limit; /* bytes, last known values; NAN: not known */
};
/* Writes the sentence about the end into *ret. Returns false for a normal end soon after the start.
 * Pure. */
bool ended_find(const struct end_facts *e, struct rule_finding *ret);
