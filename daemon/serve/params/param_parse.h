/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of params.def, and how the value of its parameter is read. Each parser writes its members
 * of @p and returns 0, or -EINVAL with a sentence that names the parameter and says what it takes.
 * Private to params.c and to the document of the interface. Pure; thread: any.
 */
#pragma once

#include "serve/params/params.h"
#include "serve/params/values.h"

/* Makes a literal of JSON text. */
#define JSON(...) #__VA_ARGS__

struct param {
    const char *name;
    int (*parse)(const struct param *spec, struct span value, struct params *p, struct error *err);
    const char *expects;  /* after "takes": what a good value is */
    size_t offset;        /* of the member that generic parsers write */
    bool negate;          /* booleans: the member is the opposite */
    bool first_counts;    /* may be repeated: only the first is read */
    bool repeatable;      /* may be repeated: each is read */
    uint64_t least, most; /* of param_number() */
    const struct value_name *names;
    size_t name_count;
    /* The rest is for openapi.json. */
    const char *text;    /* what the parameter does */
    const char *key;     /* the name in the document; NULL: @name */
    const char *example; /* a value; NULL: none */
    const char *schema;  /* JSON; NULL: as its parser takes it */
    unsigned usual;      /* of param_number(): the default; 0: none */
};

/* Returns the row of a parameter, static. */
const struct param *param_row(enum param_id id);

/* Says that @value is not possible and what is. -EINVAL. */
int param_refuse(const struct param *spec, struct span value, struct error *err);

/* Reads a value, of one kind each: sets the member of @p. Return: 0, or -EINVAL with @err. */
int param_pid(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_nspid(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_text(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_operation(const struct param *spec, struct span value, struct params *p,
                    struct error *err);
int param_calls(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_over(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_trace(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_span(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_jvm(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_by(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_pattern(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_seconds(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_event(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_hz(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_interval(const struct param *spec, struct span value, struct params *p,
                   struct error *err);
/* Names the events as source= says: event=nativemem with source=malloc is event malloc. 0, or
 * -EINVAL with @err. */
int param_set_source(struct params *p, struct error *err);
int param_filter(const struct param *spec, struct span value, struct params *p, struct error *err);
/* Puts the filter of @p behind the name of its tracepoint, in braces. 0 or -EINVAL. */
int param_put_filter(struct params *p, struct error *err);
/* Sets the periods of @p's events, once all is known: by hz, interval, or their defaults. 0 or
 * -EINVAL. */
int param_set_periods(struct params *p, struct error *err);
int param_states(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_format(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_named(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_bool(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_depth(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_title(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_minwidth(const struct param *spec, struct span value, struct params *p,
                   struct error *err);
int param_range(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_at(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_number(const struct param *spec, struct span value, struct params *p, struct error *err);
int param_refresh(const struct param *spec, struct span value, struct params *p, struct error *err);
