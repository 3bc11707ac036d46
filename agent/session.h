/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session that the files of the agent share. There is one at a time, and its memory is flamed's
 * file. agent.c begins and ends it and handles the JVM's events. ring.c writes records, methods.c
 * names each method, again if it is redefined, and code.c writes compiled code. All functions
 * except those of agent.c are called with the lock held.
 */
#pragma once

#include "agent/jvmti_slots.h"
#include "agent/raw.h"
#include "agent/stream.h"

struct slot {
    uint64_t method; /* jmethodID; 0: free */
    uint32_t id;
    uint16_t lines; /* hash of its line numbers */
    uint16_t load;  /* low bits of the load at which they were compared last */
};
_Static_assert(sizeof(struct slot) * STREAM_TABLE_SLOTS == STREAM_TABLE_BYTES, "the table fits");

#define RECENT_METHODS 64u /* a power of 2 */

/* The state of the agent. Guarded by lock. */
struct session {
    uint32_t lock;   /* 0 free, 1 held, 2 held and waited for */
    jvmti_env *env;  /* NULL: no session */
    jvmti_env *kept; /* the environment of the last session, for the next one */
    struct stream_header *header;
    struct slot *table;
    char *ring;
    uint64_t head; /* head of the ring. The copy in the file is only written, never read, as others
                      may write to it */
    uint32_t method_count;
    uint32_t until_clock; /* further replayed events that use now_ns */
    uint64_t now_ns;      /* the time of the last event */
    uint64_t loads;
    uint32_t asked;                     /* methods that were compared for this load */
    struct slot recent[RECENT_METHODS]; /* cache of the table, by the method's address */
};
extern struct session session;

/* ---- ring.c ---- */

/* Returns room for a record of @bytes, in one piece and with its head filled; NULL: none. commit()
 * publishes it. */
void *reserve(uint32_t bytes, uint16_t kind, uint16_t flags, uint64_t time_ns);
void commit(uint32_t bytes);
uint32_t round_up(uint32_t n, uint32_t to);
/* Returns how many bytes of @s are written; 0 for NULL. */
uint16_t length(const char *s);
/* Appends @n bytes and returns the new end. */
char *put(char *to, const char *s, uint16_t n);

/* ---- methods.c ---- */

/* Names a method if it has no name yet, or again if its line numbers have changed. A redefined
 * class keeps the ids of its methods. */
void introduce(jvmti_env *env, jvmti_id method, uint64_t time_ns);
/* Returns the id of a method that was named; 0: none. */
uint32_t known(jvmti_id method);

/* ---- code.c ---- */

/* Writes the records of compiled code and of the methods in it. @info: as in the event. */
void write_load(jvmti_env *env, jvmti_id method, const char *code, int32_t code_bytes,
                const void *info, uint64_t time_ns);
