/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve/ on its own TCP port and Unix socket, with a backend without sampling, and requests to it.
 * For test_serve_*.c, which are linked with serve_fixture.c, fake_backend.c and http_client.c.
 */
#pragma once

#include "fake_backend.h"
#include "http_client.h"

#include "serve/serve.h"

#include <check.h>

extern struct fake fake;
extern struct serve *serve;
extern uint16_t port;
extern char socket_path[96];
extern struct peers *peers; /* used by start(); looks for no container */

/* options used by start() */
extern const struct serve_opts USUAL;

void start_with(const struct serve_opts *o);
void start(void);
/* Starts a server with captures as resources, the past and the like. */
void start_full(void);
/* Does the same, but the kernel's word alone gives no ROLE_MANAGE over TCP. With the other
 * functions it does. */
void start_full_by_default(void);
void start_full_with(const struct serve_opts *o);
void stop(void);

/* Sends a request on @fd, and returns @fd. The host is localhost unless @headers name one. */
int ask_on(int fd, const char *method, const char *target, const char *headers);
/* Does the same with a body; NULL: none. */
int ask_body_on(int fd, const char *method, const char *target, const char *headers,
                const char *body);
/* Sends a request on a new connection. */
void ask(const char *method, const char *target, const char *headers, struct reply *ret);
/* Does the same with a body; NULL: none. */
void ask_body(const char *method, const char *target, const char *headers, const char *body,
              struct reply *ret);

/* Connects as user @uid to the Unix socket. Needs root. */
int connect_as(uid_t uid);

/* Waits until no capture and no stream is under way. Fails after @ms. */
void await_no_captures(unsigned ms);

/* Returns the first value of a header, "" without one. Valid until the next call. */
const char *header(const struct reply *r, const char *name);
/* Checks a problem. @parameter, @contains: NULL for any. */
void assert_problem(const struct reply *r, unsigned status, const char *parameter,
                    const char *contains);

/* Runs @s, which it takes. Returns the value for main(). */
int run_suite(Suite *s);
