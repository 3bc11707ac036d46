/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of /api/v1/changes share. */
#pragma once

#include "api/json.h"
#include "api/past_impl.h"

#define CHANGES_FEW_SAMPLES 300 /* samples of one side; fewer are not enough evidence */
#define CHANGES_LEAST_S 45      /* seconds of one side */
#define CHANGES_SENTENCE_BYTES 512
#define CHANGES_MINUTE_S 60.0

/* How the times were chosen. */
enum changes_times {
    CHANGES_ASKED,        /* by the request */
    CHANGES_SINCE_DEPLOY, /* the time since the last deploy, and an equal time before it */
    CHANGES_AFTER_DEPLOY, /* the last minutes, and the hour before the deploy */
    CHANGES_YESTERDAY,    /* the last minutes, and the same yesterday */
    CHANGES_BEFORE,       /* the last minutes, and those before */
};

struct comparing {
    struct api *api;
    const struct target_selector *t;
    struct time_range sides[2];
    unsigned sources; /* PAST_* bits for past_profile() */
    enum changes_times times;
    char why[CHANGES_WHY_BYTES]; /* why these times were chosen; "": the request names them */
    struct change_set set;
    double asked[2];           /* minutes of each side as requested, before they are reduced to
                                * those with samples */
    uint64_t oldest_ns;        /* CLOCK_REALTIME of the oldest minute kept; 0: none */
    struct view *functions[2]; /* owned: the functions of each side */
    bool waits[2];             /* by side: there are samples of waits or locks */
    bool pauses[2];            /* by side: there are pauses, and all of them are known */
    uint64_t longest_ns[2];    /* by side: length of the history's longest part; 0: none */
    bool allocations[2];       /* by side: there are samples of allocations, nearly all the time */
};

/* changes_sides.c: chooses the times of @t to compare if the request names none, before and after,
 * and writes a sentence about them. 0 or -errno with @err. Blocks for the disk. */
int changes_sides(struct api *api, const struct target_selector *t, struct time_range ret[2],
                  enum changes_times *ret_times, char why[CHANGES_WHY_BYTES], struct error *err);

/* ---- changes_words.c ---- */

/* Returns the length of @steps steps, in minutes. */
double changes_minutes(const struct change_steps *s, size_t steps);
/* Returns whether the history has samples of side @side in parts of several minutes. The samples of
 * such a part have the time of its first minute, and pauses the time of each. */
static inline bool changes_coarse(const struct comparing *c, size_t side)
{
    return c->longest_ns[side] > HISTORY_MINUTE_NS;
}
/* Returns true if both sides have enough samples to find a change of some percent. */
bool changes_enough(const struct comparing *c);
/* Writes a sentence on what takes more or less, and how much. */
void changes_sentence(const struct change_set *s, const struct change *ch,
                      char text[CHANGES_SENTENCE_BYTES]);
/* Returns the sentences of an answer: those of the first of @n changes, and what was not compared.
 * NULL: no memory. */
json_t *changes_sentences(const struct comparing *c, const struct change *changes, size_t n);
