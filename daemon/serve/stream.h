/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers without an end: text that is written piece by piece while the client listens. A stream is
 * a request whose handler called stream_begin(). From then on a worker calls its step function when
 * it is due. It does not while the client has not yet read what was written before. So a slow
 * client holds up nobody and costs one piece of memory. While there is nothing to send, its
 * connection is suspended in the HTTP library and watched by the net thread.
 */
#pragma once

#include "base/buf.h"

#define STREAM_EVENTS "text/event-stream"
#define STREAM_PIECE_MAX_BYTES ((size_t)4 << 20) /* written and not read yet */

struct request;
struct serve;

struct stream {
    /* Writes the next piece by stream_write(), or ends by stream_end(). On a worker, without the
     * lock. NULL: the request is not to become a stream. */
    void (*step)(struct request *req);
    const char *content_type; /* literal */
    uint64_t every_ns;        /* between two steps */

    /* Guarded by serve's lock. */
    bool active; /* it has become one */
    struct buf out;
    size_t sent;
    uint64_t next_ns;
    struct request *next, **link; /* in serve's list; link NULL: not in it */
    bool queued;                  /* a step waits for a worker or runs */
    bool suspended;               /* in the HTTP library, for want of data */
    bool ended;                   /* nothing follows what is written */
};

/* Says what the answer to @req will be. It becomes a stream by stream_start(), which completes the
 * answer, or once the capture that request_begin_capture() begins for it samples. If that fails
 * before, the answer is none. */
void stream_plan(struct request *req, const char *content_type, uint64_t every_ns,
                 void (*step)(struct request *req));
void stream_start(struct request *req);
/* For step functions; any thread. */
void stream_write(struct request *req, struct span text);
void stream_end(struct request *req);
/* Server-sent event @name with one line of @data. */
void stream_event(struct request *req, const char *name, struct span data);

/* ---- for the rest of serve/; with the lock held, which may be dropped in between ---- */

/* Begins to send; call with the lock held. */
void stream_start_locked(struct request *req);
/* Pushes the steps that are due; while stopping, ends the captures of streams. */
void streams_tick(struct serve *s, uint64_t now_ns);
/* Asks for a step as soon as possible: something has happened. */
void stream_poke(struct request *req);
/* Tells the HTTP library that the client is gone. */
void stream_left(struct request *req);
/* Notes that the HTTP library is through with the request. */
void stream_closed(struct request *req);
/* Runs a step, in a worker. Without the lock. */
void stream_step(struct request *req);

/* Reads content, for the HTTP library. */
ssize_t stream_read(void *cookie, uint64_t at, char *buf, size_t max);
