/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the dump of threads: what its files share. Thread: the one of the call. */
#pragma once

#include "hotspot/java_stack.h"
#include "hotspot/thread_dump.h"

#define READER_WORDS_MAX 16384  /* of one StackChunk, from its innermost frame on */
#define READER_CHUNK_BYTES 2048 /* of a StackChunk that are read with its head */
#define READER_LOCKS 64         /* classes of locks that are remembered; a power of two */

struct known_lock {
    uint64_t klass; /* 0: free */
    uint8_t kind;   /* enum hotspot_lock_kind */
    bool owner_known;
};

struct thread_reader {
    struct java_codes codes;
    struct known_lock locks[READER_LOCKS];
    uint64_t words[READER_WORDS_MAX];
    uint8_t chunk[READER_CHUNK_BYTES];
    uint64_t again[JAVA_STACK_WORDS_MAX];
};

/* A batch that is being filled. */
struct dump {
    struct hotspot_vm *vm;
    struct thread_reader *reader;
    struct hotspot_dump_batch *b;
    uint64_t until_ns;
};

/* ---- thread_reader.c ---- */

/* Returns whether the batch can hold another thread; and whether it has the time, too. */
bool dump_has_space(const struct dump *d);
bool dump_has_room(const struct dump *d);
/* Gets the fields that every java.lang.Thread has, of the one at @object, and its name. 0 or
 * -errno. */
int dump_thread_object(struct dump *d, uint64_t object, struct hotspot_dump_thread *t);
/* Notes that @t waits for the object at @blocker by parking; and the owner of that object. */
void dump_blocker(struct dump *d, uint64_t blocker, struct hotspot_dump_thread *t);
/* Begins @w to write behind the words of the batch. */
void dump_begin_walk(struct dump *d, struct java_walk *w);

/* ---- virtual_stack.c ---- */

/* Reads the virtual thread at @object into @t. 0; -errno: it is none, or not any more. */
int dump_virtual_thread(struct dump *d, uint64_t object, struct hotspot_dump_thread *t);

/* ---- virtual_threads.c ---- */

/* Reads those behind b->cursor. 0 or -errno, as hotspot_dump_threads(). */
int dump_virtual_threads(struct dump *d);
