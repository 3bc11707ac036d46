/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a request for the callbacks of the HTTP library (http.c): checks it (request_check.c) and
 * sends its answer (request_send.c). Thread: the library's.
 */
#pragma once

#include "serve/serve_impl.h"

#include <microhttpd.h>

/* Runs all checks that need no waiting. True: pass the request to the handler. False: the answer
 * says why not. */
bool request_check(struct request *req, const char *method);
/* Continues the checks once the state is VERIFY_DONE (password) or WHOSE_ANSWERED (look-up of the
 * peer). Returns as request_check(). */
bool request_admit(struct request *req);
/* Parses the complete body. Returns false with an answer that names the mistake. */
bool request_body(struct request *req);
/* Counts a refusal and answers with its reason, as a page for a browser. Returns true. */
bool request_refuse(struct request *req, unsigned status, const struct error *err);
/* Passes the answer to the library. */
enum MHD_Result request_send(struct request *req);
