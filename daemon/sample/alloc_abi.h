/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by alloc.bpf.c and its loader, besides the records. */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#define ALLOC_U32 uint32_t
#else
#include <linux/types.h>
#define ALLOC_U32 __u32
#endif

#define ALLOC_PROCESSES_MAX 256     /* JVMs with probes at a time */
#define ALLOC_PROBES_MAX 24         /* probes of one JVM */
#define ALLOC_CALLS_MAX 2048        /* probes that count calls, in all processes; a power of two */
#define ALLOC_TARGET_MAX 64         /* limit of probes of all kinds in one process */
#define SIZE_MAX_BYTES (1ULL << 40) /* no object and no buffer is larger */
#define ALLOC_DEPTH 3 /* samples that one processor takes at once: each may be preempted */

/*
 * The function at a probe, which defines where its arguments are. The first two are functions of
 * HotSpot's AllocTracer (JDK 11 to 28), and run when the object exists. All others run before the
 * object exists: Java code calls them when its buffer has no room, and the interpreter calls them
 * for each array. Their arguments are the same in JDK 8 to 28, except that C2's function for arrays
 * has one more in JDK 28.
 */
enum alloc_kind {
    ALLOC_IN_NEW_TLAB,  /* send_allocation_in_new_tlab(Klass*, HeapWord*, size_t tlab, size_t,
                           Thread*) */
    ALLOC_OUTSIDE_TLAB, /* send_allocation_outside_tlab(Klass*, HeapWord*, size_t, Thread*) */
    ALLOC_C2_INSTANCE,  /* (Klass*, JavaThread*) */
    ALLOC_C2_ARRAY,     /* (Klass*, int length, JavaThread*) */
    ALLOC_C2_MULTI2,    /* (Klass*, int, int, JavaThread*); and so on: */
    ALLOC_C2_MULTI3,
    ALLOC_C2_MULTI4,
    ALLOC_C2_MULTI5,
    ALLOC_C2_FILLED,            /* (Klass*, int length, value of its elements, JavaThread*) */
    ALLOC_C1_INSTANCE,          /* (JavaThread*, Klass*) */
    ALLOC_C1_ARRAY,             /* (JavaThread*, Klass*, int length) */
    ALLOC_C1_MULTI,             /* (JavaThread*, Klass*, int rank, int *lengths) */
    ALLOC_INTERPRETER_INSTANCE, /* (JavaThread*, ConstantPool*, int index) */
    ALLOC_INTERPRETER_ARRAY,    /* (JavaThread*, type, int length) */
    ALLOC_INTERPRETER_OBJECTS,  /* (JavaThread*, ConstantPool*, int index, int length) */
    ALLOC_KINDS,
    ALLOC_BY_AGENT = 15, /* flamed_agent_sampled(handle of the class, bytes, interval, number of the
                          * object or 0), of agent/alloc.c: the object exists */
    ALLOC_CALL = 16,     /* a counted call; ALLOC_CALL + n is one of set n */
    /* Requested bytes: ALLOC_MALLOC + n * ALLOC_MALLOC_KINDS + enum alloc_malloc is a call of set
     * n. */
    ALLOC_MALLOC = 64,
};

/* The arguments of a function that hold the number of requested bytes. */
enum alloc_malloc {
    ALLOC_MALLOC_FIRST,          /* malloc(size) */
    ALLOC_MALLOC_SECOND,         /* realloc(old, size), aligned_alloc(alignment, size) */
    ALLOC_MALLOC_SECOND_OF_OLD,  /* the second argument, unless the first is ALLOC_ALIGNED or less.
                                  * This glibc then calls malloc itself: for a new block, or for an
                                  * alignment that malloc provides. */
    ALLOC_MALLOC_THIRD,          /* posix_memalign(ret, alignment, size) */
    ALLOC_MALLOC_THIRD_OF_LARGE, /* the third argument, with the same exception for the second (the
                                  * alignment) */
    ALLOC_MALLOC_PRODUCT,        /* calloc(count, size) */
    ALLOC_MALLOC_FREE,           /* free(old): the freed block */
    /* ALLOC_MALLOC_RESULT + n: a probe inside a function, at a place where register n holds the
     * block that the function will return. */
    ALLOC_MALLOC_RESULT = 16,
    ALLOC_MALLOC_KINDS = 32,
};
#define ALLOC_REGISTERS 16      /* x86-64: by their numbers in instructions, 0 is rax */
#define ALLOC_REGISTERS_FIRST 6 /* aarch64: x0 to x5, then x19 to x28 */
#define ALLOC_ALIGNED 16        /* bytes: alignment of all blocks of glibc's malloc */

/* State of a process with probes of BROKER_PROBED_MALLOC. */
struct alloc_mallocs {
    unsigned long long calls;          /* calls of the probed functions, in all sets */
    ALLOC_U32 cache_word, cache_tries; /* for native_live.bpf.h */
    ALLOC_U32 slot; /* index in blocks_of of native_live.bpf.h, below ALLOC_PROCESSES_MAX */
    ALLOC_U32 unused;
};

/* A block of memory that a set tracks. */
struct alloc_block {
    unsigned long long address;
    ALLOC_U32 host_pid, set;
};
#define ALLOC_BLOCKS_MAX 32768 /* tracked blocks of all processes and sets */
/* The attach cookie of a probe. The probe is being removed if its epoch differs from that of its
 * process, or, for a counted call, of its slot. */
#define ALLOC_COOKIE(kind, slot, epoch)                                                            \
    ((unsigned long long)(epoch) << 32 | (unsigned)(slot) << 16 | (unsigned)(kind))
#define ALLOC_COOKIE_KIND(cookie) ((ALLOC_U32)(cookie)&0xffff)
#define ALLOC_COOKIE_SLOT(cookie) ((ALLOC_U32)(cookie) >> 16)
#define ALLOC_COOKIE_EPOCH(cookie) ((ALLOC_U32)((cookie) >> 32))
#define ALLOC_KLASS_ARRAY_OF 1 /* added to a Klass in a record: an array of that class */
#define ALLOC_RANK_MAX 5       /* limit of an array's dimensions that are read */

/* Layout of a process's JVM. The first four members are offsets in a JavaThread. */
struct alloc_vm {
    ALLOC_U32
    allocated_bytes; /* bytes that the thread allocated, without its present buffer (TLAB) */
    ALLOC_U32 tlab_start, tlab_top, tlab_end;
    ALLOC_U32 layout_helper, element_klass; /* offsets in a Klass, in an ObjArrayKlass */
    ALLOC_U32 resolved_klasses;             /* offset in a ConstantPool; 0: its slots hold the
                                             * classes */
    ALLOC_U32 pool_bytes;                   /* size of a ConstantPool before its slots */
    ALLOC_U32 reference_bytes;              /* size of an element in an array of objects */
};

/* The value of the map `vms`. Numbers that a task counted in another epoch are void. */
struct alloc_process {
    struct alloc_vm vm;
    ALLOC_U32 epoch;
    /* Written by the program: */
    unsigned long long hits;     /* calls at its probes */
    unsigned long long interval; /* bytes between two samples at a pace; 0: none yet */
    unsigned long long begun_ns; /* when that interval began, CLOCK_MONOTONIC */
    unsigned long long taken;    /* samples since begun_ns */
};

/* For sets with a pace. The interval of each process follows the rate of that process. */
#define ALLOC_PACED_FIRST (16ULL << 20)  /* bytes: the first interval of a process */
#define ALLOC_PACED_LEAST (512ULL << 10) /* bytes: the shortest interval */
#define ALLOC_PACED_ALL 256              /* samples per second of all processes together */

/* State of a process with an agent that reports allocations. */
struct alloc_agent {
    ALLOC_U32 class_klass;          /* offset in a java.lang.Class of its Klass* */
    ALLOC_U32 epoch;                /* as in struct alloc_process */
    unsigned long long collections; /* address of the JVM's count of collections; 0: unknown */
};

#define ALLOC_INTERVAL_MAX (1ULL << 30) /* bytes between two samples of an agent */
