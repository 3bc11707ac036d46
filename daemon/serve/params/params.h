/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of all requests, in one table: the name, parser and valid values of each. A route
 * lists the parameters that it takes. Pure; thread: any.
 */
#pragma once

#include "profile/match.h"
#include "render/render.h"
#include "request/backend.h"
#include "serve/params/query.h"

enum param_id {
#define PARAM(id, ...) PARAM_##id,
#include "serve/params/params.def"
#undef PARAM
    PARAM_COUNT
};

/* A set of parameters: PARAM_BIT()s. */
__extension__ typedef unsigned __int128 param_set;

#define PARAM_BIT(id) ((param_set)1 << (id))
#define PARAMS_NONE ((param_set)0)
#define PARAMS_TARGET                                                                              \
    (PARAM_BIT(PARAM_PID) | PARAM_BIT(PARAM_CONTAINER) | PARAM_BIT(PARAM_NSPID) |                  \
     PARAM_BIT(PARAM_POD) | PARAM_BIT(PARAM_NAMESPACE) | PARAM_BIT(PARAM_JVM) |                    \
     PARAM_BIT(PARAM_SERVICE))
#define PARAMS_RANGE (PARAM_BIT(PARAM_FROM) | PARAM_BIT(PARAM_TO) | PARAM_BIT(PARAM_AT))
#define PARAMS_SAMPLING                                                                            \
    (PARAM_BIT(PARAM_SECONDS) | PARAM_BIT(PARAM_SYMBOLS) | PARAM_BIT(PARAM_SOURCE) |               \
     PARAM_BIT(PARAM_FORCE) | PARAM_BIT(PARAM_HZ) | PARAM_BIT(PARAM_INTERVAL) |                    \
     PARAM_BIT(PARAM_FILTER)) /* not valid for the past */
#define PARAMS_CAPTURE (PARAMS_TARGET | PARAMS_SAMPLING | PARAM_BIT(PARAM_EVENT))
/* Select the shown samples and the spelling of frames. */
#define PARAMS_VIEW                                                                                \
    (PARAM_BIT(PARAM_OPERATION) | PARAM_BIT(PARAM_TRACE) | PARAM_BIT(PARAM_SPAN) |                 \
     PARAM_BIT(PARAM_USER) | PARAM_BIT(PARAM_KERNEL) | PARAM_BIT(PARAM_INCLUDE) |                  \
     PARAM_BIT(PARAM_EXCLUDE) | PARAM_BIT(PARAM_NAMES) | PARAM_BIT(PARAM_LINES) |                  \
     PARAM_BIT(PARAM_ANNOTATE) | PARAM_BIT(PARAM_TOTAL) | PARAM_BIT(PARAM_VIEW_STATE) |            \
     PARAM_BIT(PARAM_IDLE))
#define PARAMS_RENDER                                                                              \
    (PARAMS_VIEW | PARAM_BIT(PARAM_FORMAT) | PARAM_BIT(PARAM_CALLS) | PARAM_BIT(PARAM_OVER) |      \
     PARAM_BIT(PARAM_VIEW_BY) | PARAM_BIT(PARAM_SPANS) | PARAM_BIT(PARAM_THREADS) |                \
     PARAM_BIT(PARAM_DEPTH) | PARAM_BIT(PARAM_TITLE) | PARAM_BIT(PARAM_REVERSE) |                  \
     PARAM_BIT(PARAM_INVERTED) | PARAM_BIT(PARAM_MINWIDTH) | PARAM_BIT(PARAM_WIDTH) |              \
     PARAM_BIT(PARAM_TOP_ROWS))
#define PARAMS_PROFILE (PARAMS_CAPTURE | PARAMS_RANGE | PARAMS_RENDER)
#define PARAMS_TOP                                                                                 \
    (PARAMS_TARGET | PARAMS_RANGE | PARAMS_VIEW | PARAM_BIT(PARAM_VIEW_BY) |                       \
     PARAM_BIT(PARAM_THREADS) | PARAM_BIT(PARAM_EVENT) | PARAM_BIT(PARAM_SYMBOLS) |                \
     PARAM_BIT(PARAM_HZ) | PARAM_BIT(PARAM_WIDTH) | PARAM_BIT(PARAM_TOP_ROWS) |                    \
     PARAM_BIT(PARAM_ONCE) | PARAM_BIT(PARAM_REFRESH))
#define PARAMS_DIFF                                                                                \
    (PARAMS_TARGET | PARAMS_VIEW | PARAM_BIT(PARAM_EVENT) | PARAM_BIT(PARAM_VIEW_BY) |             \
     PARAM_BIT(PARAM_THREADS) | PARAM_BIT(PARAM_DEPTH) | PARAM_BIT(PARAM_TITLE) |                  \
     PARAM_BIT(PARAM_REVERSE) | PARAM_BIT(PARAM_INVERTED) | PARAM_BIT(PARAM_MINWIDTH) |            \
     PARAM_BIT(PARAM_WIDTH) | PARAM_BIT(PARAM_TOP_ROWS) | PARAM_BIT(PARAM_A) |                     \
     PARAM_BIT(PARAM_B) | PARAM_BIT(PARAM_NORMALIZE) | PARAM_BIT(PARAM_DIFF_FORMAT))
/* For clients that add parameters of their own: unknown parameters are ignored. */
#define PARAMS_LENIENT ((param_set)1 << 127)
_Static_assert(PARAM_COUNT < 127, "PARAM_BIT()s and PARAMS_LENIENT in 128 bits");

#define PARAMS_SECONDS_DEFAULT 10
#define PARAMS_REFRESH_DEFAULT 2 /* seconds */
#define PARAMS_HZ_DEFAULT 99
#define PARAMS_HZ_MAX 10000
#define PARAMS_TEXT_MAX 256 /* bytes of a free text */
#define PARAMS_TITLE_MAX 200
#define PARAMS_DEPTH_MAX 100000
#define PARAMS_TOP_MAX 100000
#define PARAMS_WIDTH_MIN 40
#define PARAMS_WIDTH_MAX 10000

#define CALLS_EVENT "wall" /* event with the samples that the parameter calls needs */

enum captures_state { CAPTURES_ANY, CAPTURES_RUNNING, CAPTURES_DONE, CAPTURES_FAILED };
enum timeline_by { TIMELINE_BY_JVM, TIMELINE_BY_CATEGORY, TIMELINE_BY_JVM_CATEGORY };
enum diff_format { DIFF_HTML, DIFF_SVG, DIFF_COLLAPSED, DIFF_JSON, DIFF_TEXT };
enum list_format { LIST_UNSAID, LIST_JSON, LIST_TEXT };

/* Options of events, before they are part of params.capture.events. */
struct event_params {
    char names[EVENTS_AT_ONCE_MAX * EVENT_NAME_BYTES]; /* as given, with commas */
    uint64_t timed_period; /* nanoseconds, from hz; for events that count time */
    struct span interval;  /* as given; points into the query */
    struct span filter;    /* as given; points into the query; also appended to the tracepoint's
                            * name */
};

/* Regular expressions of one parameter; they point into the query. */
struct pattern_params {
    const char *text[MATCH_PATTERNS_MAX];
    size_t count;
};

/* How a profile is drawn. */
struct picture_params {
    const struct render_format *format; /* NULL: not given, and the route has none by default */
    char title[PARAMS_TITLE_MAX + 4];   /* cleaned; "": not given */
    double minwidth;                    /* percent */
    size_t width, top;                  /* 0: not given */
    bool reverse, inverted, spans;
};

/* What a list or a timeline holds. Strings point into the query; NULL: not given. */
struct list_params {
    size_t limit, buckets; /* 0: not given */
    const char *cursor, *schedule, *match;
    enum captures_state state;
    enum timeline_by by;
    enum list_format format;
    bool unfold, grouped;
};

/* The two sides of a comparison, and how it is drawn. */
struct diff_params {
    const char *a, *b; /* point into the query; NULL: not given */
    enum diff_format format;
    bool absolute;
};

struct params {
    struct capture_request capture; /* what is sampled; its strings point into the query */
    struct event_params events;
    enum symbols_source map_symbols;
    struct view_opts view; /* owns include, exclude, operation and calls */
    struct pattern_params include, exclude, operation, calls;
    struct picture_params picture;
    struct list_params list;
    struct diff_params diff;
    uint64_t now_ns;         /* CLOCK_REALTIME that relative times count from */
    struct time_range range; /* 0 and UINT64_MAX if not given */
    const char *ticket;      /* points into the query; NULL: not given */
    bool once;
    uint64_t refresh_ns;
    param_set given; /* PARAM_BIT()s of the given parameters */
};

/* Returns whether @p needs the request context of samples (operation, trace or span). */
bool params_want_context(const struct params *p);
/* Returns whether the capture loads an agent into the JVM or makes the JVM write a file. */
bool params_enter_jvm(const struct params *p);

/* Returns the name of a parameter. */
const char *param_name(enum param_id id);
/* Returns whether the value of parameter @name is a list, separated by commas. */
bool param_takes_list(const char *name);
/* Parses @q into *ret; parameters that are not given get their defaults. @allowed: PARAM_BIT()s.
 * Return: 0; -EINVAL or BACKEND_CONFLICT with @err. err->parameter is a literal, or NULL for an
 * unknown parameter; then its name is in @unknown (points into @q). *ret is written in every case
 * and needs params_deinit(). */
int params_parse(const struct query *q, param_set allowed, struct params *ret, struct span *unknown,
                 struct error *err);
/* Makes @name the only event of @p, at its default interval. 0 or -EINVAL. */
int params_set_event(struct params *p, const char *name);
void params_deinit(struct params *p);
/* Parses a process id of a path or a list: 1 to INT32_MAX. */
bool params_parse_pid(struct span text, int32_t *ret);
