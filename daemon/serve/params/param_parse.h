/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of params.def, and the parsers of parameter values. Private to serve/params/, openapi.json
 * and mcp/tools.c. Pure; thread: any.
 */
#pragma once

#include "serve/params/params.h"
#include "serve/params/values.h"

/* Turns JSON text into a string literal. */
#define JSON(...) #__VA_ARGS__

struct param;

/* Parses a value and writes the parser's members of @p. 0, or -EINVAL with a sentence that names
 * the parameter and the values it takes. */
typedef int param_parser(const struct param *spec, struct span value, struct params *p,
                         struct error *err);

struct param {
    const char *name;
    param_parser *parse;
    const char *expects;  /* valid values, as the object of "takes" */
    size_t offset;        /* offset of the member that a generic parser writes */
    bool negate;          /* for param_bool(): stores the opposite */
    bool first_counts;    /* may be repeated; only the first value is read */
    bool repeatable;      /* may be repeated; every value is read */
    uint64_t least, most; /* bounds for param_number() and param_period() */
    const struct value_name *names;
    size_t name_count;
    /* The following members describe the parameter in openapi.json and to tools. */
    const char *text;    /* description of the parameter */
    const char *key;     /* key in openapi.json; NULL: @name */
    const char *example; /* example value; NULL: none */
    const char *schema;  /* JSON Schema; NULL: derived from the parser */
    unsigned usual;      /* default value for param_number(); 0: none */
};

/* Returns the static row of a parameter. */
const struct param *param_row(enum param_id id);

/* Writes to @err that @value is not possible, and what the parameter takes. Returns -EINVAL. */
int param_refuse(const struct param *spec, struct span value, struct error *err);

/* The parsers, by the values that they take. */
param_parser param_pid, param_nspid, param_text, param_trace, param_span, param_jvm, param_by,
    param_pattern, param_seconds, param_event, param_hz, param_interval, param_filter, param_states,
    param_format, param_named, param_bool, param_title, param_minwidth, param_range, param_at,
    param_number, param_period;

/* Renames the events of @p by source=: event=nativemem with source=malloc becomes event malloc. 0,
 * or -EINVAL with @err. */
int param_set_source(struct params *p, struct error *err);
/* Appends the filter of @p, in braces, to the name of its only tracepoint. 0 or -EINVAL. */
int param_put_filter(struct params *p, struct error *err);
/* Sets the periods of @p's events by hz, interval or their defaults, after all parameters were
 * parsed. 0 or -EINVAL. */
int param_set_periods(struct params *p, struct error *err);
