/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a JVM wait for at one moment, in a few words. Values. */
#pragma once

#include "base/macros.h"

#define WAITS_NAME_BYTES 41 /* of a thread or a pool */
#define WAITS_CODE_BYTES 73 /* of a class or a method */

/* Those that wait for locks of one class: of the class for which most do. */
struct waits_lock {
    double waiters;
    char name[WAITS_CODE_BYTES];  /* the class; "": there is none */
    char owner[WAITS_NAME_BYTES]; /* the thread that holds the lock; "": not known */
    char code[WAITS_CODE_BYTES];  /* the method that it is in; "": not known */
    const char *wait; /* what it waits for itself; "": it runs; static; NULL: not known */
};

/* The pool whose threads wait the most in one place within their tasks. */
struct waits_pool {
    double threads, waiting;
    char name[WAITS_NAME_BYTES]; /* "": there is none */
    char code[WAITS_CODE_BYTES]; /* the method that waits */
    const char *wait;            /* for what; static */
};

struct waits_now {
    uint64_t made_of; /* hash of the threads and their places; 0: of none */
    double busy;      /* threads that run, or wait within their work */
    size_t left_out;  /* further threads, beyond the most that are looked at */
    struct waits_lock lock;
    struct waits_pool pool;
};
