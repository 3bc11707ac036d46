/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small Java heap for hotspot_dump_threads(): a waiting virtual thread, its continuation and two
 * StackChunks, the monitor that it may wait for, and a code cache with one method. A test may
 * change every word.
 */
#pragma once

#include "hotspot/thread_reader.h"

#define THREADS_HEAP UINT64_C(0x7f2000000000)
#define THREADS_HEAP_BYTES 0x8000
#define THREADS_CODE UINT64_C(0x7f1000000000)
#define THREADS_CODE_BYTES 0x1000
#define THREADS_FRAME_WORDS 4 /* words in a frame of the method */
#define THREADS_ID 77
#define THREADS_OWNER_ID 99 /* id of the monitor's owner */
#define THREADS_BLOCKED 12  /* a VirtualThread.state; a test may set it in place of parking */

struct threads_image {
    uint8_t heap[THREADS_HEAP_BYTES];
    uint8_t code[THREADS_CODE_BYTES];
    struct hotspot_vm vm;
    struct hotspot_dump_batch batch;
    struct threads_image *changes; /* its heap replaces this one after @reads more reads */
    unsigned reads;
    uint64_t nap_ns; /* time that the next read takes */
    unsigned runs;   /* not 0: each read finds another state of the thread; counts them */
};

/* Offsets of the objects from THREADS_HEAP. */
enum threads_object {
    THREADS_LOADERS = 0x80,
    THREADS_MIRROR = 0x100,
    THREADS_HANDLE = 0x180,
    THREADS_SET = 0x200,
    THREADS_MAP = 0x280,
    THREADS_TABLE = 0x300,
    THREADS_NODE = 0x400,
    THREADS_THREAD = 0x500,
    THREADS_CONT = 0x600,
    THREADS_WAITER = 0x700,  /* an ObjectWaiter of the thread */
    THREADS_HANDLES = 0x780, /* handles of the thread and of the locked object */
    THREADS_MONITOR = 0x800,
    THREADS_LOCKED = 0x880,
    THREADS_COLLECTIONS = 0x900, /* what the VM says of them: number, under way, */
    THREADS_COLLECTS = 0x908,
    THREADS_COMPACT_FROM = 0x910, /* begin and end of the last one that compacted */
    THREADS_COMPACT_TO = 0x918,
    THREADS_CHUNK = 0x1000,
    THREADS_PARENT = 0x2000,
    THREADS_FAR = 0x3000,     /* room for a locked object, not in the page of its handle, */
    THREADS_MOVED = 0x3400,   /* and where that is after a collection */
    THREADS_KLASSES = 0x4000, /* 0x100 bytes each, by enum virtual_class */
};

/* Returns an intact heap, to free by threads_image_free(). NULL: out of memory. */
struct threads_image *threads_image_new(void);
struct threads_image *threads_image_free(struct threads_image *t);
/* Puts a word at offset @at of the heap. */
void threads_image_put(struct threads_image *t, size_t at, uint64_t word);
/* Makes the object at offset @at one of class @of. */
void threads_image_put_object(struct threads_image *t, size_t at, enum virtual_class of);
/* Makes the VM say when it collects. */
void threads_image_tell_pauses(struct threads_image *t);
/* Returns the pc of a call in the method. */
uint64_t threads_image_pc(void);
