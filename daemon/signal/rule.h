/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal: a sentence that says what is wrong with a JVM, by a rule over its numbers. Each signal
 * has its own file, rule_NAME.c, and a row in rules.def. Pure; thread: any.
 *
 * A rule computes the strength of its signal. The signal fires after its strength was 1 or more for
 * `hold_s`. It ends after its strength was below RULE_RELEASE for RULE_RELEASE_S. The severity is
 * the cost of the problem: the share of time that threads lost, or how soon a limit is reached.
 */
#pragma once

#include "profile/waits_now.h"
#include "signal/numbers.h"

#define RULE_RELEASE 0.7
#define RULE_RELEASE_S 30.0
#define RULE_WINDOW_S 30.0 /* the window of most rules */
#define RULE_SENTENCE_BYTES 480
#define RULE_HEAP_BYTES 256
#define RULE_SEVERITY_MAX 3
#define RULE_PEER_BYTES 81

/* The peer of the sockets that a pool's threads wait for. */
struct rule_peer {
    size_t looked, waiting;     /* numbers of threads: examined; waiting for this peer */
    bool writes;                /* the threads write to the peer, or connect; else they read */
    char text[RULE_PEER_BYTES]; /* "10.0.0.7:5432 (postgresql)"; "": not known */
};

/* What the last release of a JVM's service changed. */
struct rule_release {
    double percent; /* rise of CPU time or of waits; 0: no change is known */
    char text[RULE_SENTENCE_BYTES];
    bool replaced; /* for a JVM that ended: the release took its place */
};

struct rule_view {
    const struct numbers *numbers;
    double age_s; /* age of the JVM */
    /* From the last look that found a wait. */
    const struct waits_lock *lock;
    const struct waits_pool *pool;
    const struct rule_peer *peer; /* peer of that pool */
    const struct waits_carriers *carriers;
    const struct waits_virtual *virtual;
    const struct rule_release *release;
    const char *heap;   /* last sample: "93 % byte[], 3 % java.lang.Long"; NULL or "": none */
    bool heap_was_full; /* the heap was full at that sample */
};

struct rule_finding {
    double strength;    /* 1 or more: the signal fires; NAN: not known */
    double value;       /* value in the rule's unit */
    unsigned severity;  /* 1 to RULE_SEVERITY_MAX */
    size_t cause;       /* bytes of the sentence's first part, on how a JVM ended; 0: it runs */
    const char *remedy; /* static; NULL: the rule's */
    double ago_s;       /* {from} and {to} are this long before now */
    char sentence[RULE_SENTENCE_BYTES];
};

struct signal_rule {
    const char *name;
    const char *unit;     /* unit of the value */
    const char *evidence; /* path of this API; {pid}, {service}, {from} and {to} are replaced */
    const char *remedy;
    double hold_s;
    /* Judges @v and writes *ret, which is zero before. */
    void (*look)(const struct rule_view *v, struct rule_finding *ret);
};

enum rule_id {
#define RULE(id, name) RULE_##id,
#include "signal/rules.def"
#undef RULE
    RULES
};

/* Returns a rule. Static. */
const struct signal_rule *rule_of(enum rule_id id);

/* ---- rule_text.c: texts and severities ---- */

/* Writes the sentence of @f. Call it once the strength is known: a finding below RULE_RELEASE has
 * no sentence. */
void rule_say(struct rule_finding *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Appends to the sentence of @f; cuts what has no room. */
void rule_add(struct rule_finding *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define RULE_BYTES_TEXT 24
/* Writes @bytes as "8.1 MiB" into @text. Returns @text. */
const char *rule_bytes(double bytes, char text[RULE_BYTES_TEXT]);
/* Writes @seconds as "14 min" or "3 h" into @text. Returns @text. */
const char *rule_duration(double seconds, char text[RULE_BYTES_TEXT]);

/* Writes @count and its noun as "1 class was" or "4 classes were" into @text, from @one and @more.
 * Returns @text. */
const char *rule_count(double count, const char *one, const char *more, char text[RULE_BYTES_TEXT]);

/* Returns what a thread in the wait @name waits for: "the network". Static. */
const char *rule_wait(const char *name);

/* Returns the severity of losing @share of the time. */
unsigned rule_cost(double share);

/* ---- rule_swapping.c ---- */

/* A part of RSS, or of the memory limit. Less than this may be pages of a program's start, which
 * the kernel swaps out although the process does not swap. */
#define RULE_SWAP_LEAST 0.05

/* Returns whether RULE_SWAP_LEAST of RSS was swapped out within RULE_WINDOW_S. */
bool rule_swapped(const struct numbers *n);
/* Returns whether pages keep being read back from swap. */
bool rule_swaps(const struct numbers *n);

/* ---- rule_heap_full.c ---- */

#define RULE_FULL_PART 0.98 /* part of a heap; above it, heap-full reports it */

/* How full a heap is. */
struct rule_heap {
    double part; /* part that stays in use after collections, of the heap or of its old generation,
                    whichever is greater; NAN: not known */
    bool old;    /* `part` is of the old generation, after its last collection */
};
struct rule_heap rule_heap_of(const struct numbers *n);
/* Appends "41 MiB of the heap's 64 MiB stay in use after collections" or the like to the sentence
 * of @f. */
void rule_heap_say(const struct numbers *n, struct rule_finding *f);
/* Appends @begin and the classes that fill the heap, if these are known. */
void rule_heap_classes(const struct rule_view *v, const char *begin, struct rule_finding *f);

/* ---- rule_growth.c: values that rise to a limit ---- */

struct rule_growth {
    struct trend trend;
    double window_s;
    double left_s;   /* seconds until the limit is reached; INFINITY: the limit is not known */
    double strength; /* 1 or more: the rise is steady and fast enough to fire */
};
/* Finds the longest of three windows in which @which rises, by numbers_trend(). Nearly all pairs of
 * points have to rise, and the last value has to be the highest ever. @room: what is left up to the
 * limit; NAN: not known, so that a rise of @per_second fires. Returns false if it does not rise. */
bool rule_growth_find(const struct numbers *n, enum number which, enum number only, double room,
                      double per_second, struct rule_growth *ret);
/* Returns the severity of a limit that is reached in @left_s. */
unsigned rule_urgency(double left_s);
