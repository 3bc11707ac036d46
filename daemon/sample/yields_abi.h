/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by yields.bpf.c and its loader, besides the records. */
#pragma once

#include "sample/sample_abi.h"

#define YIELDS_PROCESSES_MAX 32         /* JVMs with probes at a time; a power of two */
#define YIELDS_WAITS_MAX 262144         /* virtual threads of all these JVMs that wait at a time */
#define YIELDS_WAITS_PREALLOCATED 32768 /* the same where maps cannot grow (before Linux 6.1) */
#define YIELDS_CARRIERS 512             /* notes about carriers in a JVM; a power of two */
#define YIELDS_NOTES (YIELDS_PROCESSES_MAX * YIELDS_CARRIERS)
#define YIELDS_STATE_MASK 0xff /* of VirtualThread.state: bit 8 is "suspended" */
#define YIELDS_DEPTH 4         /* samples that one processor takes at once */

/* The function at a probe: struct hotspot_yields. */
enum yields_kind {
    YIELDS_FREEZE,
    YIELDS_THAW,
    YIELDS_PREEMPT,
    YIELDS_KINDS,
};

/* The attach cookie of a probe. A probe with another epoch than its slot is being removed. */
#define YIELDS_COOKIE(kind, slot, epoch)                                                           \
    ((unsigned long long)(epoch) << 32 | (unsigned)(slot) << 16 | (unsigned)(kind))
#define YIELDS_COOKIE_KIND(cookie) ((SAMPLE_U32)(cookie)&0xffff)
#define YIELDS_COOKIE_SLOT(cookie) ((SAMPLE_U32)((cookie) >> 16) & 0xffff)
#define YIELDS_COOKIE_EPOCH(cookie) ((SAMPLE_U32)((cookie) >> 32))

/* Layout of a JVM: offsets in bytes. */
struct yields_vm {
    SAMPLE_U32 owner_id;   /* in a JavaThread, the id of its thread; 0: none */
    SAMPLE_U32 own;        /* in a JavaThread, the handle of its own thread */
    SAMPLE_U32 tid, state; /* in a java.lang.VirtualThread */
    SAMPLE_U32 yielding;   /* value of `state` of a thread in Thread.yield() */
    SAMPLE_U32 ended;      /* value of `state` of a thread that has ended */
};

/* A process with probes. */
struct yields_process {
    SAMPLE_U64 since_ns; /* CLOCK_MONOTONIC: all later waits are known; 0: not yet */
    SAMPLE_U64 hits;     /* hits of its probes */
    SAMPLE_U64 refused;  /* waits that found no room in the map */
    struct yields_vm vm;
    SAMPLE_U32 epoch;  /* 0: free */
    SAMPLE_U32 missed; /* 1: the begin of a wait could not be stored */
    SAMPLE_U32 share;  /* number of its owner's share, set by the loader */
    SAMPLE_U32 zero;
};

/* The virtual thread that ran last on a carrier, if it has an entry of a wait. */
struct yields_note {
    SAMPLE_U64 object; /* address of its VirtualThread at that time; 0: nothing */
    SAMPLE_U64 tid;
};

struct yields_key {
    SAMPLE_U64 tid; /* Thread.threadId() */
    SAMPLE_U32 slot, epoch;
};

/* An unfinished wait. */
struct yields_wait {
    SAMPLE_U64 since_ns;
    SAMPLE_U64 lock_class; /* of a monitor; as in struct sample_record */
    SAMPLE_U8 lock;        /* enum unwind_lock; UNREAD: the begin of the wait is unknown */
    SAMPLE_U8 preempted;   /* 1: it began at YIELDS_PREEMPT, or its begin is unknown */
    SAMPLE_U8 runnable;    /* 1: Thread.yield() */
    SAMPLE_U8 share;       /* yields_process.share, at its begin */
    SAMPLE_U8 zero[4];
};

/* The counts of a process with probes, as the loader reads them. */
struct yields_counts {
    SAMPLE_U64 hits;
    SAMPLE_U64 refused; /* waits that found no room, since the probes were put */
    SAMPLE_U64 missed;  /* 1: the begin of a wait was lost since the last call */
};

/* An unfinished wait, as the broker passes it to flamed. */
struct yields_start {
    SAMPLE_U64 tid;
    struct yields_wait wait;
};
