/* SPDX-License-Identifier: Apache-2.0 */
/* A summary of the waits of a JVM's threads at one moment. Plain values. */
#pragma once

#include "base/macros.h"

#define WAITS_NAME_BYTES 41 /* bytes of the name of a thread or a pool */
#define WAITS_CODE_BYTES 73 /* bytes of the name of a class or a method */

/* The lock class with the most waiting threads. */
struct waits_lock {
    double waiters;
    char name[WAITS_CODE_BYTES];  /* the class; "": none */
    char owner[WAITS_NAME_BYTES]; /* the thread that holds the lock; "": not known, or several */
    char code[WAITS_CODE_BYTES];  /* the owner's current method; "": not known */
    const char *wait;             /* the owner's own wait; "": it runs; static; NULL: not known */
    double part;                  /* share of the last looks that showed this, 0 to 1; 0: not
                                   * known */
};

#define WAITS_POOL_TIDS 4

/* The pool with the most threads that wait in one place within their tasks. */
struct waits_pool {
    double threads, waiting;
    double late;                         /* number of threads of a pool that all wait for results,
                                          * maybe for those of this pool; 0: none */
    char late_name[WAITS_NAME_BYTES];    /* name of that other pool */
    uint32_t host_tids[WAITS_POOL_TIDS]; /* ids of threads that wait; 0 ends the list */
    char name[WAITS_NAME_BYTES];         /* "": there is none */
    char code[WAITS_CODE_BYTES];         /* the method that waits */
    const char *wait;                    /* wait of that method; static */
};

/* The carriers of virtual threads. A pinned one has a virtual thread that waits. */
struct waits_carriers {
    double carriers, pinned;      /* carriers 0: none is known */
    char code[WAITS_CODE_BYTES];  /* the method in which most pinned carriers wait */
    char place[WAITS_CODE_BYTES]; /* the native method, or the like, that pins; "": not known */
    const char *wait;             /* wait of that method; static */
};

/* Virtual threads that wait for an object of a pool such as of connections, or for a permit of a
 * semaphore that others have. */
struct waits_virtual {
    double waiting; /* number that wait in the most frequent method; 0: none is known */
    double busy;    /* all that wait within their work, including these */
    double having;  /* others that called that method and wait at the most frequent place */
    bool pooled;    /* true: they wait for an object of a pool; false: for a permit */
    char code[WAITS_CODE_BYTES]; /* the most frequent method */
    char having_code[WAITS_CODE_BYTES];
    const char *having_wait; /* static */
};

struct waits_now {
    uint64_t made_of; /* hash of the threads and their places; 0: no threads */
    double busy;      /* threads that run, or wait within a task */
    size_t left_out;  /* further threads, beyond the limit */
    struct waits_lock lock;
    struct waits_pool pool;
    struct waits_carriers carriers;
    struct waits_virtual virtual;
    double runnable, mounted; /* virtual threads that could run, without and with a carrier; NAN:
                               * not known */
};
