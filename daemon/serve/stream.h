/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers without an end: text that is written in pieces while the client listens. A stream is a
 * request with a handler that called stream_plan(). A worker calls its step function when it is
 * due, unless the client has not yet read the previous piece. So a slow client blocks no other and
 * costs one piece of memory. While there is nothing to send, the connection is suspended in the
 * HTTP library and watched by the net thread.
 */
#pragma once

#include "base/buf.h"

#define STREAM_EVENTS "text/event-stream"
#define STREAM_PIECE_MAX_BYTES ((size_t)4 << 20) /* written but not read yet */

struct request;
struct serve;

struct stream {
    /* Writes the next piece by stream_write(), or ends by stream_end(). Runs on a worker, without
     * the lock. NULL: the request does not become a stream. */
    void (*step)(struct request *req);
    const char *content_type; /* literal */
    uint64_t every_ns;        /* interval between two steps */

    /* Guarded by serve's lock. */
    bool active; /* the request has become a stream */
    struct buf out;
    size_t sent;
    uint64_t next_ns;
    struct request *next, **link; /* list of serve; link NULL: not in it */
    bool queued;                  /* a step waits for a worker or runs */
    bool suspended;               /* in the HTTP library, until there is data */
    bool ended;                   /* the text written so far is the last */
};

/* Prepares @req to become a stream. It becomes one by stream_start(), which completes the answer,
 * or when the capture of request_begin_capture() begins to sample. If that capture fails first, the
 * answer is no stream. */
void stream_plan(struct request *req, const char *content_type, uint64_t every_ns,
                 void (*step)(struct request *req));
void stream_start(struct request *req);
/* Sets the interval to @every_ns, or longer after a costly step: to @apart_ns times the number of
 * all streams, 60 s at most. For step functions. */
void stream_pace(struct request *req, uint64_t every_ns, uint64_t apart_ns);
/* Write text; end the stream. For step functions; any thread. */
void stream_write(struct request *req, struct span text);
void stream_end(struct request *req);
/* Writes the server-sent event @name with one line of @data. */
void stream_event(struct request *req, const char *name, struct span data);

/* ---- for the rest of serve/; with the lock held, which may be dropped in between ---- */

/* Starts the stream. */
void stream_start_locked(struct request *req);
/* Queues due steps; while stopping, ends the captures of streams. */
void streams_tick(struct serve *s, uint64_t now_ns);
/* Queues a step now, because there is news. */
void stream_poke(struct request *req);
/* Ends the stream in the HTTP library because the client has left. */
void stream_left(struct request *req);
/* Removes the stream when the HTTP library has completed its request. */
void stream_closed(struct request *req);
/* Runs a step, on a worker. Without the lock. */
void stream_step(struct request *req);

/* Reads content for the HTTP library. */
ssize_t stream_read(void *cookie, uint64_t at, char *buf, size_t max);
