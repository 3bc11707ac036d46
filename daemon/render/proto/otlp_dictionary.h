/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of an otlp answer: tables of strings, attributes, mappings, functions, locations
 * and stacks. No entry occurs twice, and entry 0 means "none". It is packed as it grows. Private to
 * render/proto/.
 */
#pragma once

#include "render/formats.h"
#include "render/proto/stacks.h"

#define OTLP_FACTS 6 /* attributes of a profile, besides warnings */
#define OTLP_THREAD_ATTRIBUTES 4

/* A span of a trace. */
struct otlp_link {
    uint64_t trace_high, trace_low, span;
};

struct otlp_dictionary {
    const struct view *v;
    struct stacks stacks;
    struct intern *strings;    /* the string table so far */
    struct intern *attributes; /* the attribute table so far; each as "key\0type value" */
    struct id_table links;     /* struct otlp_link; in the table, entry 0 precedes these */
    struct buf packed;         /* all tables but the strings */
    int32_t
        facts[OTLP_FACTS + PROFILE_WARNINGS_MAX + VIEW_WARNINGS]; /* attributes of every profile */
    size_t fact_count;
    int32_t origins[STACKS_ORIGINS]; /* attributes, by enum stacks_origin */
    /* [thread_count + 1]: attributes of a thread's samples, up to a 0 */
    int32_t (*threads)[OTLP_THREAD_ATTRIBUTES];
    int error; /* the first error, sticky */
};

/* Makes all tables of @v except the strings, in at most @max_bytes. Indexes of stacks are ids of
 * stacks.texts. 0 or -ENOMEM; otlp_dictionary_deinit() is needed in every case. */
int otlp_dictionary_init(struct otlp_dictionary *d, const struct view *v, size_t max_bytes);
void otlp_dictionary_deinit(struct otlp_dictionary *d);
/* Finds or adds a string. Returns its index. */
int32_t otlp_string(struct otlp_dictionary *d, struct span s);
/* Finds or adds an attribute with a text. Returns its index. */
int32_t otlp_attribute(struct otlp_dictionary *d, const char *key, const char *text);
/* Finds or adds the link to @c's span. Returns its index; 0: @c has no span. */
int32_t otlp_link(struct otlp_dictionary *d, const struct profile_context *c);
/* Adds the table of strings: the last step. Returns the packed dictionary, valid as long as @d. */
struct span otlp_dictionary_finish(struct otlp_dictionary *d);
