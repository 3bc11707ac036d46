/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of event live, until the end says which of their objects are alive. Bounded: an agent
 * follows STREAM_LIVE_MAX objects, and a sample of any other is let go. What the agent's table says
 * is hostile. Thread: the engine's.
 */
#pragma once

#include "attach/attachment.h"
#include "hotspot/hotspot.h"
#include "profile/profile.h"

struct live;

/* 0 or -ENOMEM. */
int live_new(struct live **ret);
/* Accepts NULL, returns NULL. */
struct live *live_free(struct live *l);

/* A sample whose object is followed. */
struct live_sample {
    uint32_t object, collections; /* as in struct sample_record */
    struct profile_sample sample; /* its stack: as of record_hold() */
};
/* Keeps @s until the end. If there are too many, the samples go whose objects @a (NULL: none)
 * follows no more. False: there is no room. */
bool live_keep(struct live *l, struct attachment *a, const struct live_sample *s);
/* Does the second half of that: lets samples go whose objects @table has no more. Of each object
 * one stays, so at most STREAM_LIVE_MAX. */
void live_let_go(struct live *l, const struct stream_live *table);
/* Returns how many are kept. */
size_t live_count(const struct live *l);

/* Looks which objects that @a follows in @vm are alive, now, once. */
void live_look(struct live *l, struct attachment *a, struct hotspot_vm *vm);
/* What such a look sees. The table of the agent, what its words said then, in the same order, and
 * the table after that. Each has STREAM_LIVE_MAX places. */
struct live_tables {
    const struct stream_live *before, *after;
    const bool *alive;
    uint32_t collections,
        newest_dead; /* that have begun; as in struct stream_header; 0: not known */
    uint64_t missed;
    bool under_way, young_blind; /* as in struct hotspot_live */
};
/* Does that with the tables given: of these all may be false. */
void live_compare(struct live *l, const struct live_tables *t);

/* What the look has found. */
struct live_found {
    bool looked;          /* false: the agent or the JVM was not there */
    bool any_looked_at;   /* the JVM has collected since some of them were allocated */
    uint32_t collections; /* that began since the first sample was taken; 0: none, or not known */
    uint64_t alive, gone, young; /* samples; young: no collection has looked at them */
    uint64_t missed;             /* for which the agent had no place or memory */
    bool thinned;                /* there were more objects than the agent follows */
};
#define LIVE_NO_AGE UINT32_MAX /* the JVM does not count its collections */
/* Hands the samples of objects that are alive to @fn, as they are worth then. @objects: how many
 * objects each stands for; @age: how many collections it has survived, or LIVE_NO_AGE. A second
 * call hands out nothing. */
typedef void (*live_fn)(void *cookie, const struct live_sample *s, uint32_t objects, uint32_t age);
void live_each(struct live *l, live_fn fn, void *cookie, struct live_found *ret);
