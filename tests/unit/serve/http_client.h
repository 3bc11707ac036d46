/* SPDX-License-Identifier: Apache-2.0 */
/* A client on raw sockets, for tests that break rules of HTTP. Blocks, with deadlines. */
#pragma once

#include "base/buf.h"

#define CLIENT_TIMEOUT_MS 15000

struct reply {
    unsigned status; /* 0: the connection was closed without an answer */
    struct buf head; /* with the status line, up to the empty line */
    struct buf body;
    unsigned interim; /* 1xx answers before the last one */
};

/* Connect to "unix:PATH" or to a TCP port of 127.0.0.1. Return the socket. */
int client_connect_tcp(uint16_t port);
int client_connect_unix(const char *path);
void client_send(int fd, const char *text, size_t n);
/* Reads one answer. Returns false if the connection ended without one. */
bool client_read(int fd, bool head_only, struct reply *ret);
/* Reads the rest of an answer of which client_read() read the head only. */
void client_read_body(int fd, struct reply *ret);
/* Appends received bytes to @b until it contains @text. Returns false if the connection ends or @ms
 * pass before. */
bool client_read_until(int fd, struct buf *b, const char *text, unsigned ms);
/* Returns true if the other side closes the connection within @ms. */
bool client_closed(int fd, unsigned ms);
void reply_deinit(struct reply *r);
#define _cleanup_reply_ __attribute__((cleanup(reply_deinit)))
/* Returns the value of a header's @index-th occurrence, with a NUL in @buf; NULL: none. */
const char *reply_header(const struct reply *r, const char *name, size_t index, char *buf,
                         size_t size);
