/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the table of routes (routes.c). struct route documents when and on which thread
 * each is called.
 */
#pragma once

#include "serve/serve_impl.h"

/* Answer a request. Return: true once req->answer is complete. */
bool handle_profile(struct request *req);
bool handle_query(struct request *req);
bool handle_timeline(struct request *req);
bool handle_captures(struct request *req);
bool handle_capture_create(struct request *req);
bool handle_capture(struct request *req);
bool handle_capture_delete(struct request *req);
bool handle_capture_profile(struct request *req);
bool handle_capture_stop(struct request *req);
bool handle_capture_stream(struct request *req);
bool handle_diff(struct request *req);
bool handle_changes(struct request *req);
bool handle_audit(struct request *req);
bool handle_trigger(struct request *req);
bool handle_top(struct request *req);
bool handle_pprof_index(struct request *req);
bool handle_pprof_profile(struct request *req);
bool handle_pprof_empty(struct request *req);
bool handle_pprof_event(struct request *req);
bool handle_sd(struct request *req);
bool handle_metrics(struct request *req);
bool metrics_at_once(struct request *req);
bool handle_words(struct request *req);
bool handle_threads(struct request *req);
bool handle_perf_map(struct request *req);
bool handle_document(struct request *req); /* of the backend, by req->route */
bool handle_events(struct request *req);
bool handle_ready(struct request *req);
bool handle_health(struct request *req);
bool handle_openapi(struct request *req);
bool handle_index(struct request *req);
bool handle_page(struct request *req);
bool handle_page_file(struct request *req);
bool handle_login(struct request *req);
bool handle_logout(struct request *req);
bool handle_login_ticket(struct request *req);
bool handle_whoami(struct request *req);

/* Complete the answer of a route after its capture has ended. */
void finish_profile(struct request *req);
void finish_top(struct request *req);
void finish_pprof(struct request *req);
