/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the agent share: one session at a time, whose memory is flamed's file.
 * agent.c begins and ends it and takes the JVM's events; ring.c has the records; methods.c names
 * methods, once each; code.c writes compiled code. All but agent.c is called with the lock held.
 */
#pragma once

#include "agent/jvmti_slots.h"
#include "agent/raw.h"
#include "agent/stream.h"

struct slot {
    uint64_t method; /* jmethodID; 0: free */
    uint32_t id;
    uint32_t zero;
};

#define RECENT_METHODS 64u /* a power of 2 */

/* All that the agent keeps. Guarded by lock. */
struct session {
    uint32_t lock;   /* 0 free, 1 held, 2 held and waited for */
    jvmti_env *env;  /* NULL: no session */
    jvmti_env *kept; /* of the last one, for the next */
    struct stream_header *header;
    struct slot *table;
    char *ring;
    uint64_t head; /* of the ring. The file's is only told: another may have written it */
    uint32_t method_count;
    uint32_t until_clock; /* replayed events that get the last one's time */
    uint64_t now_ns;      /* that time */
    uint64_t loads;
    struct slot recent[RECENT_METHODS]; /* of table, by the method's address */
};
extern struct session session;

/* ---- ring.c ---- */

/* Room for a record of @bytes in one piece, its head filled; NULL when there is none. What is in it
 * becomes visible by commit(). */
void *reserve(uint32_t bytes, uint16_t kind, uint16_t flags, uint64_t time_ns);
void commit(uint32_t bytes);
uint32_t round_up(uint32_t n, uint32_t to);
/* Bytes of @s that are written; 0 for NULL. */
uint16_t length(const char *s);
/* Appends @n bytes. The new end. */
char *put(char *to, const char *s, uint16_t n);

/* ---- methods.c ---- */

/* Names a method unless that was done. */
void introduce(jvmti_env *env, jvmti_id method, uint64_t time_ns);
/* Returns the id of a method that was named; 0: none. */
uint32_t known(jvmti_id method);

/* ---- code.c ---- */

/* Writes the record of compiled code, @info: as in the event, and of the methods in it. */
void write_load(jvmti_env *env, jvmti_id method, const char *code, int32_t code_bytes,
                const void *info, uint64_t time_ns);
