/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every parameter that a request may carry, in one table: its name, how its value is read, and what
 * a good value looks like. Routes name the ones they take. Pure; thread: any.
 */
#pragma once

#include "profile/match.h"
#include "render/render.h"
#include "serve/backend.h"
#include "serve/query.h"

enum param_id {
    PARAM_PID,
    PARAM_CONTAINER,
    PARAM_NSPID,
    PARAM_POD,
    PARAM_NAMESPACE,
    PARAM_JVM,
    PARAM_SECONDS,
    PARAM_EVENT,
    PARAM_SYMBOLS,
    PARAM_HZ,
    PARAM_INTERVAL,
    PARAM_FORMAT,
    PARAM_THREADS,
    PARAM_USER,
    PARAM_KERNEL,
    PARAM_INCLUDE,
    PARAM_EXCLUDE,
    PARAM_DEPTH,
    PARAM_NAMES,
    PARAM_LINES,
    PARAM_ANNOTATE,
    PARAM_TOTAL,
    PARAM_TITLE,
    PARAM_REVERSE,
    PARAM_INVERTED,
    PARAM_MINWIDTH,
    PARAM_COUNT
};

#define PARAM_BIT(id) (UINT64_C(1) << (id))
#define PARAMS_NONE UINT64_C(0)
#define PARAMS_TARGET                                                                              \
    (PARAM_BIT(PARAM_PID) | PARAM_BIT(PARAM_CONTAINER) | PARAM_BIT(PARAM_NSPID) |                  \
     PARAM_BIT(PARAM_POD) | PARAM_BIT(PARAM_NAMESPACE) | PARAM_BIT(PARAM_JVM))
#define PARAMS_PROFILE (PARAM_BIT(PARAM_COUNT) - 1)

#define PARAMS_SECONDS_DEFAULT 10
#define PARAMS_HZ_DEFAULT 99
#define PARAMS_HZ_MAX 10000
#define PARAMS_TITLE_MAX 200
#define PARAMS_DEPTH_MAX 100000

struct params {
    struct target_selector target; /* strings point into the query */
    uint64_t duration_ns, period_ns;
    char event[64];
    enum symbols_source symbols;
    const struct render_format *format; /* NULL: not said */
    struct view_opts view;              /* include and exclude are owned */
    bool reverse, inverted;
    const char *include[MATCH_PATTERNS_MAX],
        *exclude[MATCH_PATTERNS_MAX]; /* point into the query */
    size_t include_count, exclude_count;
    char title[PARAMS_TITLE_MAX + 4]; /* clean; "" not given */
    double minwidth;                  /* percent */
    uint64_t given;                   /* PARAM_BIT()s of the parameters that were there */
};

/* The name of a parameter. */
const char *param_name(enum param_id id);
/* Reads @q into *ret, with defaults for what is not there. @allowed: PARAM_BIT()s. 0; -EINVAL or
 * BACKEND_CONFLICT with a sentence in @err, whose parameter is a literal or NULL for an unknown
 * one, which is then in @unknown (points into @q). *ret is written in every case, and needs
 * params_deinit(). */
int params_parse(const struct query *q, uint64_t allowed, struct params *ret, struct span *unknown,
                 struct error *err);
void params_deinit(struct params *p);
/* A process id as it stands in a path or a list: 1 to INT32_MAX. */
bool params_parse_pid(struct span text, int32_t *ret);
