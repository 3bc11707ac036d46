/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's end of the agent's memory file: reads what the agent wrote into a code map, and holds
 * the lease without which the agent ends. Thread: the owner's.
 */
#pragma once

#include "attach/code_map.h"
#include "base/cleanup.h"
#include "base/error.h"

struct stream;

/* Takes @fd in every case. 0; -EBADMSG: not a file as the broker makes it; -errno. */
int stream_open(int fd, struct stream **ret, struct error *err);
/* Tells the agent to end, and gives the file's memory back. Accepts NULL. */
struct stream *stream_close(struct stream *s);
CLEANUP_FUNCTION(stream_closep, stream, stream_close)

/* Renews the lease and takes what is new. 0; -EBADMSG: what is there was not written by our agent
 * (nothing more is read then); -ENOMEM. Call at least once a second. */
int stream_poll(struct stream *s, uint64_t now_ns);
/* Has the agent sample allocation every @bytes. */
void stream_ask_interval(struct stream *s, uint64_t bytes);
/* Asks the agent to follow the objects of its samples, or no longer to. */
void stream_ask_live(struct stream *s, bool live);
/* Copies its table of those, STREAM_LIVE_MAX of them, as the JVM has written it: hostile. False: it
 * cannot be read, or the agent is not there any more. */
bool stream_read_live(struct stream *s, struct stream_live *ret);
/* Points into @s. */
struct code_map *stream_map(struct stream *s);

struct stream_status {
    enum stream_state state;
    uint32_t step;
    int32_t code;
    uint64_t dropped, events, replayed, replay_ns;
    uint64_t interval; /* of the samples of allocation, as it is now */
    uint32_t live_dead;
    uint64_t live_missed; /* as in struct stream_header */
};
/* Returns how far it is, and its counters. */
struct stream_status stream_status(const struct stream *s);
/* Writes why the agent is not there, as a sentence in @err. Returns a negative errno; 0: it is. */
int stream_problem(const struct stream *s, struct error *err);
