/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the dump of threads: declarations that its files share. Thread: that of the call. */
#pragma once

#include "hotspot/java_stack.h"
#include "hotspot/thread_dump.h"

#define READER_WORDS_MAX 16384 /* words of one StackChunk, innermost frames first */
#define READER_LOOKS 64        /* threads that are read together */
#define READER_LOCKS 64        /* cached classes of locks; a power of two */

struct known_lock {
    uint64_t klass; /* 0: the entry is free */
    uint8_t kind;   /* enum hotspot_lock_kind */
    bool owner_known;
};

/* The result of one reading of a virtual thread. A second reading must be equal. */
struct virtual_look {
    uint64_t object, java_id, cont, tail;
    uint32_t state; /* VirtualThread.state */
    int32_t sp;     /* stack pointer in the innermost chunk */
    uint32_t count; /* number of words of its frames */
    uint8_t stack;  /* enum hotspot_dump_stack */
};

struct thread_reader {
    struct java_codes codes;
    uint64_t codes_ns; /* CLOCK_MONOTONIC; begin of the turn of the codes and of the locks */
    struct known_lock locks[READER_LOCKS];
    uint64_t words[READER_WORDS_MAX];
    uint64_t again[JAVA_STACK_WORDS_MAX];
    struct virtual_look looks[READER_LOOKS]; /* first readings, */
    uint32_t look_places[READER_LOOKS];      /* and the places in the batch of their threads */
    uint32_t look_count;
    uint64_t pause;       /* before the first of them: vm_pause(), */
    uint32_t held_before; /* and held_count of the batch */
    struct hotspot_dump_batch
        batch; /* of the running call. An abandoned call keeps the VM, and so this batch */
};

/* A batch that is being filled. */
struct dump {
    struct hotspot_vm *vm;
    struct thread_reader *reader;
    struct hotspot_dump_batch *b;
    uint64_t until_ns; /* end of the call's time, CLOCK_MONOTONIC */
    uint64_t age_ns;   /* greatest age of cached code and classes */
    uint32_t tried;    /* threads that the call has tried to read, broken ones as well */
};

/* ---- thread_reader.c ---- */

/* Return whether the batch has words for another stack, space for another thread, or space and time
 * for another thread. The last one counts the thread as tried. */
bool dump_has_words(const struct dump *d);
bool dump_has_space(const struct dump *d);
bool dump_has_room(struct dump *d);
/* Gets the name of the java.lang.Thread at @object, if it has a name that fits. Returns 0 or
 * -errno. */
int dump_thread_name(struct dump *d, uint64_t object, struct hotspot_dump_thread *t);
/* Stores the object at @blocker, on which @t is parked, as the lock of @t. Also stores the owner of
 * that object. */
void dump_blocker(struct dump *d, uint64_t blocker, struct hotspot_dump_thread *t);
/* Gets the class of the object with the ObjectMonitor at @monitor. If @t waits to enter the
 * monitor, gets the owner, too. */
void dump_monitor(struct dump *d, uint64_t monitor, struct hotspot_dump_thread *t);
/* Begins @w, a walk that writes behind the used words of the batch. */
void dump_begin_walk(struct dump *d, struct java_walk *w);

/* ---- virtual_stack.c ---- */

/* Reads the virtual thread at @object into the next place of the batch; dump_settle() confirms it.
 * Return: 0; -errno: no virtual thread is there, or not any more. */
int dump_virtual_thread(struct dump *d, uint64_t object);
/* Reads again the threads that were read once. A thread that has changed is read once more, or gets
 * no stack. */
void dump_settle(struct dump *d);

/* ---- held_monitors.c ---- */

/* Returns a key that both sides of a monitor know, a waiting thread and the owner: the monitor's
 * address, or a number. The key stays the same if @object moves. 0: the object has no monitor. */
uint64_t dump_held_key(struct dump *d, uint64_t object);
/* Appends the monitors that thread @id holds. The lock stack in its JavaThread at @thread has the
 * objects. */
void dump_held(struct dump *d, uint64_t thread, uint64_t id);
/* Does the same for a virtual thread without a carrier. @chunk: the innermost StackChunk of the
 * thread. */
void dump_held_frozen(struct dump *d, uint64_t chunk, uint64_t id);

/* ---- virtual_monitor.c ---- */

/* Stores the monitor that the virtual thread @t at @object waits for, if it can be found. */
void dump_virtual_monitor(struct dump *d, uint64_t object, struct hotspot_dump_thread *t);

/* ---- virtual_threads.c ---- */

/* Reads the threads behind b->cursor, or draws some. Returns as hotspot_dump_threads(). */
int dump_virtual_threads(struct dump *d);
