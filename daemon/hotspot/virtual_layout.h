/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout of threads in the class library of this VM: the fields of java.lang.Thread, VirtualThread,
 * continuations and StackChunks, and the sets of virtual threads. All offsets are found by the
 * names of the fields. They differ between releases, collectors and kinds of object headers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hotspot_vm;

enum virtual_class {
    CLASS_VIRTUAL_THREAD,
    CLASS_CONTINUATION, /* of a virtual thread */
    CLASS_CHUNK,
    CLASS_CONTAINERS,
    CLASS_TRACKING, /* container that no other container contains */
    CLASS_SHARED,   /* container that an executor made */
    CLASS_EXECUTOR, /* container that is an executor: one thread for each task */
    CLASS_SET,      /* key set of a ConcurrentHashMap */
    CLASS_MAP,
    CLASS_NODE,
    CLASS_TREE_BIN,
    CLASS_TREE_NODE,
    CLASS_FORWARDING, /* entry of a table that a larger table is replacing */
    CLASS_WEAK,
    VIRTUAL_CLASSES
};

/* X(member, class, name of the field, whether the release must have the field). */
#define VIRTUAL_FIELDS(X)                                                                          \
    X(state, CLASS_VIRTUAL_THREAD, "state", true)                                                  \
    X(cont, CLASS_VIRTUAL_THREAD, "cont", true)                                                    \
    X(carrier, CLASS_VIRTUAL_THREAD, "carrierThread", true)                                        \
    X(tail, CLASS_CONTINUATION, "tail", true)                                                      \
    X(mounted, CLASS_CONTINUATION, "mounted", true)                                                \
    X(chunk_size, CLASS_CHUNK, "size", true)                                                       \
    X(chunk_sp, CLASS_CHUNK, "sp", true)                                                           \
    X(chunk_bottom, CLASS_CHUNK, "bottom", false)                                                  \
    X(chunk_argsize, CLASS_CHUNK, "argsize", false)                                                \
    X(chunk_parent, CLASS_CHUNK, "parent", true)                                                   \
    X(chunk_cont, CLASS_CHUNK, "cont", false)                                                      \
    X(set_map, CLASS_SET, "map", true)                                                             \
    X(map_table, CLASS_MAP, "table", true)                                                         \
    X(node_key, CLASS_NODE, "key", true)                                                           \
    X(node_next, CLASS_NODE, "next", true)                                                         \
    X(bin_first, CLASS_TREE_BIN, "first", false)                                                   \
    X(forwarding_table, CLASS_FORWARDING, "nextTable", false)                                      \
    X(referent, CLASS_WEAK, "referent", true)                                                      \
    X(shared_threads, CLASS_SHARED, "virtualThreads", false)                                       \
    X(executor_threads, CLASS_EXECUTOR, "threads", false)

/* States by the names of their constants in VirtualThread. Their numbers are read from the VM: the
 * earliest releases of JDK 21 have other numbers. */
#define VIRTUAL_STATES(X)                                                                          \
    X(NEW, THREAD_STATE_NEW)                                                                       \
    X(STARTED, THREAD_STATE_RUNNABLE)                                                              \
    X(RUNNABLE, THREAD_STATE_RUNNABLE)                                                             \
    X(RUNNING, THREAD_STATE_RUNNABLE)                                                              \
    X(PARKING, THREAD_STATE_RUNNABLE)                                                              \
    X(PARKED, THREAD_STATE_WAITING)                                                                \
    X(PINNED, THREAD_STATE_WAITING)                                                                \
    X(TIMED_PARKING, THREAD_STATE_RUNNABLE)                                                        \
    X(TIMED_PARKED, THREAD_STATE_TIMED_WAITING)                                                    \
    X(TIMED_PINNED, THREAD_STATE_TIMED_WAITING)                                                    \
    X(UNPARKED, THREAD_STATE_RUNNABLE)                                                             \
    X(YIELDING, THREAD_STATE_RUNNABLE)                                                             \
    X(YIELDED, THREAD_STATE_RUNNABLE)                                                              \
    X(BLOCKING, THREAD_STATE_RUNNABLE)                                                             \
    X(BLOCKED, THREAD_STATE_BLOCKED)                                                               \
    X(UNBLOCKED, THREAD_STATE_RUNNABLE)                                                            \
    X(WAITING, THREAD_STATE_RUNNABLE)                                                              \
    X(WAIT, THREAD_STATE_WAITING)                                                                  \
    X(TIMED_WAITING, THREAD_STATE_RUNNABLE)                                                        \
    X(TIMED_WAIT, THREAD_STATE_TIMED_WAITING)                                                      \
    X(TERMINATED, THREAD_STATE_TERMINATED)

#define VIRTUAL_STATES_MAX 128      /* upper bound of the numbers of states */
#define VIRTUAL_CHUNK_BYTES_MAX 128 /* of a StackChunk before its words */

/* Offsets, in bytes, that lead from a virtual thread to the ObjectWaiter by which it waits for a
 * monitor. */
struct waiter_layout {
    bool known;
    uint32_t at, thread, monitor; /* at: in the thread; thread, monitor: in the ObjectWaiter */
    uint32_t tries;               /* failed searches */
};

struct virtual_layout {
    bool known, unusable;
    uint64_t looked_ns;              /* CLOCK_MONOTONIC of the last read of the list of classes */
    uint64_t newest;                 /* newest class of the boot loader in that read; 0: none */
    uint64_t klass[VIRTUAL_CLASSES]; /* 0: not loaded yet */
    uint32_t chunk_words;            /* bytes: offset of the words in a StackChunk */
    uint32_t thread_bytes;           /* bytes of a VirtualThread */
    struct waiter_layout waiter;
    uint32_t roots;       /* offset of static TrackingRootContainer.VTHREADS */
    uint32_t registry;    /* offset of static ThreadContainers.CONTAINER_REGISTRY */
    uint32_t chunk_locks; /* offset in a StackChunk of its number of locked objects; 0: none */
    uint32_t yielding;    /* state in Thread.yield(); 0: the release has no such state */
    uint32_t ended;       /* the state TERMINATED */
#define X(member, ...) uint32_t member; /* 0: the release has no such field */
    VIRTUAL_FIELDS(X)
#undef X
    uint8_t states[VIRTUAL_STATES_MAX];  /* enum hotspot_thread_state */
    bool of_monitor[VIRTUAL_STATES_MAX]; /* true: the state of a wait for a monitor, without carrier
                                          */
};

/* Fields that the java.lang.Thread of every thread has. */
struct thread_layout {
    bool known, unusable;
    uint32_t tid, name, blocker, eetop;
    uint32_t holder;         /* 0: the thread itself has status and daemon */
    uint64_t holder_klass;   /* 0: not seen yet */
    uint32_t status, daemon; /* offset in the holder, or in the thread */
};

/* Fills in vm->thread_layout. Return: 0; -ENOENT: never possible; another -errno: not now. */
int thread_layout_ready(struct hotspot_vm *vm);
/* Gets the addresses of the status and of the daemon flag of the java.lang.Thread at @thread.
 * Returns 0 or -errno. */
int thread_status_at(struct hotspot_vm *vm, uint64_t thread, uint64_t *ret_status,
                     uint64_t *ret_daemon);
/* Fills in vm->virtual_layout. Classes that were loaded in the last @age_ns may be missing. Return:
 * 0. 1: no virtual thread was ever made. -ENOENT: this VM has none, or keeps them in an unknown
 * way. Another -errno: not now. */
int virtual_layout_ready(struct hotspot_vm *vm, uint64_t age_ns);
/* Returns whether the fields of a StackChunk lie before its words, and can all be read. The offsets
 * are the JVM's word. */
bool virtual_chunk_fits(const struct hotspot_vm *vm, const struct virtual_layout *v);
/* Loads the reference in the static field at @offset of class @klass. Returns as heap_load(). */
int virtual_static(struct hotspot_vm *vm, uint64_t klass, uint32_t offset, uint64_t *ret);
