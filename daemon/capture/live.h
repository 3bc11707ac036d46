/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of event live. They are kept until the end of the capture shows which of their
 * objects are alive. Bounded: an agent follows STREAM_LIVE_MAX objects, and samples of other
 * objects are dropped. The agent's table is hostile. Thread: the engine's.
 */
#pragma once

#include "attach/attachment.h"
#include "hotspot/hotspot.h"
#include "profile/profile.h"

struct live;

/* Creates an empty *ret. Its samples count with @r, which outlives it. Returns 0 or -ENOMEM. */
int live_new(struct record *r, struct live **ret);
/* Frees @l. Accepts NULL. Returns NULL. */
struct live *live_free(struct live *l);

/* A sample with an object that the agent follows. */
struct live_sample {
    uint32_t object, collections; /* as in struct sample_record */
    struct profile_sample sample; /* the sample's stack is an id of record_hold() */
};
/* Keeps @s until the end. If there are too many, drops samples of objects that @a (NULL: none) no
 * longer follows. Returns false if there is no room. */
bool live_keep(struct live *l, struct attachment *a, const struct live_sample *s);
/* Drops samples of objects that @table does not have. Keeps one sample of each object, so at most
 * STREAM_LIVE_MAX. */
void live_let_go(struct live *l, const struct stream_live *table);
/* Returns how many samples are kept. */
size_t live_count(const struct live *l);

/* Reads, once, which objects that @a follows in @vm are alive now. */
void live_look(struct live *l, struct attachment *a, struct hotspot_vm *vm);
/* Input of live_compare(): the agent's table before the look, whether each of its objects was alive
 * then, and the agent's table after the look. Each has STREAM_LIVE_MAX places. */
struct live_tables {
    const struct stream_live *before, *after;
    const bool *alive;
    uint32_t collections,
        newest_dead; /* number of begun collections; as in struct stream_header; 0: unknown */
    uint64_t missed;
    bool under_way, young_blind; /* as in struct hotspot_live */
};
/* Does the work of live_look() with the tables in @t. The tables may have any content. */
void live_compare(struct live *l, const struct live_tables *t);

/* The result of the look. */
struct live_found {
    bool looked;                 /* false: the agent or the JVM was gone */
    bool any_looked_at;          /* the JVM has collected since an object was allocated */
    uint32_t collections;        /* begun since the first sample was taken; 0: none, or unknown */
    uint64_t alive, gone, young; /* samples; young: no collection has checked them */
    uint64_t missed;             /* samples for which the agent had no room or memory */
    bool thinned;                /* there were more objects than the agent follows */
};
#define LIVE_NO_AGE UINT32_MAX /* the JVM does not count its collections */
/* Calls @fn with each sample of a live object, with its final value. @objects: the number of
 * objects that the sample stands for. @age: the number of collections that its object survived, or
 * LIVE_NO_AGE. A second call gives no samples. */
typedef void (*live_fn)(void *cookie, const struct live_sample *s, uint32_t objects, uint32_t age);
void live_each(struct live *l, live_fn fn, void *cookie, struct live_found *ret);
