/* SPDX-License-Identifier: Apache-2.0 */
/* A client of raw sockets, for tests that want to be rude. Blocks, with deadlines. */
#pragma once

#include "base/buf.h"

#define CLIENT_TIMEOUT_MS 15000

struct reply {
    unsigned status; /* 0: the connection was closed without an answer */
    struct buf head; /* with the status line, up to the empty line */
    struct buf body;
    unsigned interim; /* 1xx answers before it */
};

/* A connected socket. "unix:PATH" or a TCP port of 127.0.0.1. */
int client_connect_tcp(uint16_t port);
int client_connect_unix(const char *path);
void client_send(int fd, const char *text, size_t n);
/* Reads one answer. False: nothing but the end of the connection came. */
bool client_read(int fd, bool head_only, struct reply *ret);
/* Appends to @b what comes, until @text is in it. False: the end of the connection, or @ms, came
 * first. */
bool client_read_until(int fd, struct buf *b, const char *text, unsigned ms);
/* True when the connection is closed by the other side within @ms. */
bool client_closed(int fd, unsigned ms);
void reply_deinit(struct reply *r);
#define _cleanup_reply_ __attribute__((cleanup(reply_deinit)))
/* The value of a header's @index-th occurrence, NUL-terminated in @buf; NULL: there is none. */
const char *reply_header(const struct reply *r, const char *name, size_t index, char *buf,
                         size_t size);
