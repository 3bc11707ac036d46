/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the table of routes (routes.c), and what several of them share. struct route
 * documents when and on which thread each is called.
 */
#pragma once

#include "serve/serve_impl.h"

/* Answer a request. */
route_handler handle_profile, handle_query, handle_timeline, handle_captures, handle_capture_create,
    handle_capture, handle_capture_delete, handle_capture_profile, handle_capture_stop,
    handle_capture_stream, handle_diff, handle_changes, handle_audit, handle_trigger, handle_top,
    handle_pprof_index, handle_pprof_profile, handle_pprof_empty, handle_pprof_event, handle_sd,
    handle_metrics, metrics_at_once, handle_words, handle_threads, handle_perf_map, handle_document,
    handle_events, handle_ready, handle_health, handle_openapi, handle_index, handle_page,
    handle_page_file, handle_login, handle_logout, handle_login_ticket, handle_whoami;

/* Complete the answer of a route after its capture has ended. */
route_finisher finish_profile, finish_top, finish_pprof;

/* ---- answers of several routes ---- */

/* Gets the index in @profile of the event to show: the first that @p names, or event 0. 0, or
 * -EINVAL with a sentence that lists the profile's events. */
int shown_event(const struct params *p, const struct profile *profile, uint8_t *ret,
                struct error *err);
/* Renders @profile as @format with req->params. */
void answer_profile(struct request *req, struct profile *profile,
                    const struct render_format *format);
/* Adds a header for each warning of @v, prefixed with @before. Counts the warnings that exceed the
 * limits of headers. */
void answer_warnings(struct answer *a, const char *before, const struct view *v);
/* Adds a header with a file name. @profile NULL: uses the present time. */
void answer_filename(struct answer *a, const struct params *p, const struct profile *profile,
                     const char *extension);
/* Sets the content type and file name for @profile as @format. @profile NULL: uses the present
 * time. */
void answer_describe(struct request *req, const struct profile *profile,
                     const struct render_format *format);
/* answer_past() answers with the past of the target in req->params.range, written by @answer.
 * @stored: prefer stored captures. */
typedef void (*past_answer_fn)(struct request *req, struct profile *profile);
void answer_past(struct request *req, bool stored, past_answer_fn answer);
/* Refuses parameters that are not valid for the past, such as those of sampling. 0 or -EINVAL. */
int check_past(const struct params *p, struct error *err);
/* Explains why a range has no samples. Returns the outcome of checking the target or the names of
 * the events if that fails, with its @err, else @outcome. */
int explain_nothing(struct request *req, int outcome, struct error *err);
/* Does the same as answer_past(), unless check_past() refuses. */
void answer_recorded(struct request *req, past_answer_fn answer);
void answer_past_profile(struct request *req, struct profile *profile); /* by `format` */
/* Answers with the backend's value, or its problem. Takes @value. Returns true. */
bool answer_backend(struct request *req, int r, json_t *value, const struct error *err);
/* Returns whether @id has the form of a capture id: CAPTURE_ID_BYTES - 1 lower-case hexadecimal
 * digits. */
bool is_capture_id(const char *id);
/* Checks that all events of @p are known. 0 or -EINVAL with the nearest name. */
int check_event_names(const struct params *p, struct error *err);
/* Checks the events of @req. False: the answer says that one cannot be sampled. */
bool check_event(struct request *req);
/* Prepares a stream with events on the progress of req's capture, in place of its profile. */
void progress_plan(struct request *req);
