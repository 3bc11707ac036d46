/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the dump of threads: what its files share. Thread: the one of the call. */
#pragma once

#include "hotspot/java_stack.h"
#include "hotspot/thread_dump.h"

#define READER_WORDS_MAX 16384 /* of one StackChunk, from its innermost frame on */
#define READER_LOOKS 64        /* threads that are read together */
#define READER_LOCKS 64        /* classes of locks that are remembered; a power of two */

struct known_lock {
    uint64_t klass; /* 0: free */
    uint8_t kind;   /* enum hotspot_lock_kind */
    bool owner_known;
};

/* What one reading of a virtual thread finds. Of another one all must be equal. */
struct virtual_look {
    uint64_t object, java_id, cont, tail;
    uint32_t state; /* VirtualThread.state */
    int32_t sp;     /* of the innermost chunk */
    uint32_t count; /* words of its frames */
    uint8_t stack;  /* enum hotspot_dump_stack */
};

struct thread_reader {
    struct java_codes codes;
    uint64_t codes_ns; /* CLOCK_MONOTONIC, when their turn began */
    struct known_lock locks[READER_LOCKS];
    uint64_t words[READER_WORDS_MAX];
    uint64_t again[JAVA_STACK_WORDS_MAX];
    struct virtual_look looks[READER_LOOKS]; /* first readings, */
    uint32_t look_places[READER_LOOKS];      /* of these threads of the batch */
    uint32_t look_count;
    struct hotspot_dump_batch batch; /* the running call's: an abandoned one keeps the VM */
};

/* A batch that is being filled. */
struct dump {
    struct hotspot_vm *vm;
    struct thread_reader *reader;
    struct hotspot_dump_batch *b;
    uint64_t until_ns; /* CLOCK_MONOTONIC */
    uint64_t age_ns;   /* of what is known of code and classes, at most */
};

/* ---- thread_reader.c ---- */

/* Returns whether the batch can hold another thread; and whether it has the time, too. */
bool dump_has_space(const struct dump *d);
bool dump_has_room(const struct dump *d);
/* Gets the name of the java.lang.Thread at @object, if it has one and there is room. 0 or -errno.
 */
int dump_thread_name(struct dump *d, uint64_t object, struct hotspot_dump_thread *t);
/* Notes that @t waits for the object at @blocker by parking; and the owner of that object. */
void dump_blocker(struct dump *d, uint64_t blocker, struct hotspot_dump_thread *t);
/* Gets the class of the object whose ObjectMonitor lies at @monitor; and, if @t waits to enter it,
 * its owner. */
void dump_monitor(struct dump *d, uint64_t monitor, struct hotspot_dump_thread *t);
/* Begins @w to write behind the words of the batch. */
void dump_begin_walk(struct dump *d, struct java_walk *w);

/* ---- virtual_stack.c ---- */

/* Reads the virtual thread at @object into the next place of the batch. It is right after
 * dump_settle(). 0; -errno: it is none, or not any more. */
int dump_virtual_thread(struct dump *d, uint64_t object);
/* Reads the threads that were read once again. Those that have changed are read afresh, or have no
 * stack. */
void dump_settle(struct dump *d);

/* ---- virtual_monitor.c ---- */

/* Notes the monitor that the virtual thread @t at @object waits for, if that can be found. */
void dump_virtual_monitor(struct dump *d, uint64_t object, struct hotspot_dump_thread *t);

/* ---- virtual_threads.c ---- */

/* Reads those behind b->cursor. 0 or -errno, as hotspot_dump_threads(). */
int dump_virtual_threads(struct dump *d);
