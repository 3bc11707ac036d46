/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's end of the agent's memory file: reads the agent's records into a code map, and renews
 * the lease, without which the agent ends. Thread: the owner's.
 */
#pragma once

#include "attach/code_map.h"
#include "base/cleanup.h"
#include "base/error.h"

struct stream;

/* Opens the agent's memory file @fd, and takes @fd in every case. @memory and @owner: as in
 * code_map_new(). Return: 0; -EBADMSG: the broker did not make it; -errno. */
int stream_open(int fd, struct shares *memory, uint64_t owner, struct stream **ret,
                struct error *err);
/* Orders the agent to end, and gives the file's memory back. Accepts NULL. */
struct stream *stream_close(struct stream *s);
CLEANUP_FUNCTION(stream_closep, stream, stream_close)

/* Renews the lease and takes new records. Return: 0; -EBADMSG: our agent did not write them, and
 * flamed reads no more; -ENOMEM. Call it at least once a second. */
int stream_poll(struct stream *s, uint64_t now_ns);
/* Asks the agent to sample allocation every @bytes. */
void stream_ask_interval(struct stream *s, uint64_t bytes);
/* Asks the agent to follow the objects of its samples, or to stop that. */
void stream_ask_live(struct stream *s, bool live);
/* Copies the agent's table of followed objects, STREAM_LIVE_MAX entries of hostile bytes. Returns
 * false if it cannot be read, or if the agent is gone. */
bool stream_read_live(struct stream *s, struct stream_live *ret);
/* Points into @s. */
struct code_map *stream_map(struct stream *s);

struct stream_status {
    enum stream_state state;
    uint32_t step;
    int32_t code;
    uint64_t dropped, events, replayed, replay_ns;
    uint64_t interval; /* current interval of samples of allocation */
    uint32_t live_dead;
    uint64_t live_missed; /* as in struct stream_header */
};
/* Returns the agent's state and counters. */
struct stream_status stream_status(const struct stream *s);
/* Writes to @err why the agent does not work. Returns a negative errno; 0: the agent works. */
int stream_problem(const struct stream *s, struct error *err);
