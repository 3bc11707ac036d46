/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve/ on a TCP port and a Unix socket of its own, against a backend without sampling, and how to
 * ask it. For test_serve_*.c, which are linked with serve_fixture.c, fake_backend.c and
 * http_client.c.
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
extern struct peers *peers; /* that start() starts it with; no container is looked for */

/* What start() starts it with. */
extern const struct serve_opts USUAL;

void start_with(const struct serve_opts *o);
void start(void);
/* With captures as resources, the past and the like. */
void start_full(void);
/* The same, without ROLE_MANAGE over TCP by the kernel's word alone, which the others give. */
void start_full_by_default(void);
void start_full_with(const struct serve_opts *o);
void stop(void);

/* Sends a request on @fd; returns it. The host is localhost where @headers name none. */
int ask_on(int fd, const char *method, const char *target, const char *headers);
/* The same with a body; NULL: none. */
int ask_body_on(int fd, const char *method, const char *target, const char *headers,
                const char *body);
/* One request on a connection of its own. */
void ask(const char *method, const char *target, const char *headers, struct reply *ret);
/* The same with a body; NULL: none. */
void ask_body(const char *method, const char *target, const char *headers, const char *body,
              struct reply *ret);

/* A connection of user @uid to the Unix socket; takes root. */
int connect_as(uid_t uid);

/* Waits until no capture and no stream is under way, and fails after @ms. */
void await_no_captures(unsigned ms);

/* The first value of a header, "" where there is none; until the next call. */
const char *header(const struct reply *r, const char *name);
/* @parameter, @contains: NULL for whatever it is. */
void assert_problem(const struct reply *r, unsigned status, const char *parameter,
                    const char *contains);

/* Runs it; what main() returns. Takes @s. */
int run_suite(Suite *s);
