/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences about a profile, each with the API path of its evidence. The rules here need only the
 * samples. Pure; thread: any.
 */
#pragma once

#include "base/buf.h"
#include "profile/view.h"

#define WORDS_MAX 5
#define WORDS_SENTENCE_BYTES 512
#define WORDS_LINK_BYTES 16384 /* enough for 256 pids and a service */
#define WORDS_FEW 300          /* view.looks: with fewer, shares are too uncertain */

enum words_kind { WORDS_FEW_SAMPLES, WORDS_TIME, WORDS_SIGNAL, WORDS_CHANGE, WORDS_SURE };

/* Returns the name of @kind in the API. Static. */
const char *words_kind_name(enum words_kind kind);

struct words_sentence {
    enum words_kind kind;
    char text[WORDS_SENTENCE_BYTES];
    char *link; /* owned; a path of the API */
};

struct words {
    struct words_sentence list[WORDS_MAX];
    size_t count;
    uint64_t from_ns, to_ns; /* CLOCK_REALTIME: time range of the sentences */
    uint64_t samples;        /* number of samples in that time */
};

void words_deinit(struct words *w);
/* Adds a sentence; without room or memory, it is dropped. */
void words_add(struct words *w, enum words_kind kind, const char *link, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Appends @w as text. */
void words_text(const struct words *w, struct buf *out);
/* Adds what most of the time of @v was spent on: kinds of work or waits, and code. */
void words_add_time(struct words *w, const struct view *v, const char *link);
/* Adds the uncertainty of the shares of @v. */
void words_add_sure(struct words *w, const struct view *v, const char *link);
