/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend without sampling, for tests of serve/. Its behavior follows from the first requested
 * pid. It counts its calls. Each capture has a thread in place of the engine's.
 */
#pragma once

#include "request/backend.h"

#include <pthread.h>

enum fake_pid {
    FAKE_PID_GOOD = 1000,
    FAKE_PID_HUGE = 1001,        /* a profile of many frames */
    FAKE_PID_WARNINGS = 1002,    /* a profile with more warnings than headers can carry */
    FAKE_PID_LONG = 1003,        /* like FAKE_PID_HUGE, with long names */
    FAKE_PID_TWO = 1004,         /* a profile of the events cpu and lock */
    FAKE_PID_FAILS = 5,          /* the capture starts, then fails with EIO */
    FAKE_PID_STUCK = 6,          /* the capture does not end before fake_release() */
    FAKE_PID_SLOW_START = 7,     /* capture_start() itself does not return before fake_release() */
    FAKE_PID_SLOW_FAIL = 8,      /* does so, too, and then fails */
    FAKE_PID_LATE = 9,           /* the capture begins to sample after fake_release() */
    FAKE_PID_LATE_FAIL = 10,     /* the capture fails after fake_release(), before it samples */
    FAKE_PID_LATE_CONFLICT = 11, /* the capture starts, then fails with BACKEND_CONFLICT */
    FAKE_PID_NONE = 404,
    FAKE_PID_CONFLICT = 409,
    FAKE_PID_TOO_MANY = 429,
    FAKE_PID_UNAVAILABLE = 503,
};

#define FAKE_CAPTURES_MAX 64
#define FAKE_ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"        /* the existing capture */
#define FAKE_ID_FAILED "ffffffffffffffffffffffffffffffff" /* a failed capture */
#define FAKE_ID_NONE "00000000000000000000000000000000"

/* Returns the profile of a capture of @pid (enum fake_pid). */
struct profile *fake_profile(int32_t pid);

#define FAKE_NO_MORE 99u

struct fake {
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct api_backend backend;
    unsigned started, done, ended_keep, ended_drop, checks; /* guarded by lock */
    struct capture_request last;                            /* guarded by lock */
    struct capture *live[FAKE_CAPTURES_MAX];                /* guarded by lock */
    bool release;
    unsigned snapshots, created, stopped, deleted, pasts; /* guarded by lock */
    int32_t snapshot_pid;         /* guarded by lock: of live views; 0: a small profile */
    const unsigned *severities;   /* of JVMs 1000 on, then FAKE_NO_MORE; NULL: 0, 0 */
    unsigned services;            /* number of services, signals and sentences; 0: one */
    unsigned ended;               /* ended JVMs of each service, and running ones */
    unsigned scrapes;             /* guarded by lock: scrapes of metrics */
    struct time_range last_range; /* guarded by lock */
    enum past_from last_from;
    unsigned stalls;      /* guarded by lock: so many calls of capture_stop() fail */
    int past_fails;       /* error of past() */
    bool takes_memory;    /* past() and snapshots ask for too much, and go on without it */
    bool locks;           /* event=lock can be sampled */
    bool seen;            /* true: the last call named its viewer */
    struct viewer viewer; /* the viewer of the last call */
};

/* Makes a backend without the past. */
void fake_init(struct fake *f);
/* Makes a backend with the past. */
void fake_init_full(struct fake *f);
/* Waits until all captures are over. */
void fake_deinit(struct fake *f);
/* Lets stuck captures end. */
void fake_release(struct fake *f);
/* Waits until @counter (a member) is @value. Returns false after @ms. */
bool fake_wait(struct fake *f, const unsigned *counter, unsigned value, unsigned ms);
unsigned fake_get(struct fake *f, const unsigned *counter);
