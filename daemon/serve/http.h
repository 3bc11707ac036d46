/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the callbacks of the HTTP library (http.c) do with a request: check it (request_check.c) and
 * send its answer (request_send.c). Thread: the library's.
 */
#pragma once

#include "serve/serve_impl.h"

#include <microhttpd.h>

/* Checks everything that can be checked without waiting. True: it goes to the handler. False: the
 * answer says why not. */
bool request_check(struct request *req, const char *method);
/* Goes on with one whose verify was VERIFY_WANTED, once it is VERIFY_DONE, or its whose was
 * WHOSE_WANTED, once it is WHOSE_ANSWERED. As request_check(). */
bool request_admit(struct request *req);
/* Reads the body, which is there by now. False: the answer says what is wrong with it. */
bool request_body(struct request *req);
/* Refuses it: counts it and says why, to a browser by a page. true. */
bool request_refuse(struct request *req, unsigned status, const struct error *err);
/* Gives the answer to the library. */
enum MHD_Result request_send(struct request *req);
