/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the table of routes (routes.c). struct route documents when and on which thread
 * each is called.
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
