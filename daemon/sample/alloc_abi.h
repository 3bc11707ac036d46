/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What alloc.bpf.c and its loader share besides the records. */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#define ALLOC_U32 uint32_t
#else
#include <linux/types.h>
#define ALLOC_U32 __u32
#endif

#define ALLOC_PROCESSES_MAX 256 /* JVMs that are probed at a time */
#define ALLOC_PROBES_MAX 24     /* of one */
#define ALLOC_CALLS_MAX 2048    /* probes where calls are counted, of all; a power of two */
#define ALLOC_TARGET_MAX 64     /* probes of all kinds in one process */
#define ALLOC_DEPTH 3 /* samples that one processor takes at once: each may be preempted */

/*
 * Which function a probe stands at, and so where its arguments are. Of HotSpot's AllocTracer (JDK
 * 11 to 28): both run when the object is there. All others run before it is: Java code calls them
 * where it finds no room, and the interpreter for each array. They are the same in JDK 8 to 28, but
 * for arrays of C2, which have one more in 28.
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
                            object or 0), of agent/alloc.c: the object is there */
    ALLOC_CALL = 16,     /* a call that is counted; ALLOC_CALL + n is one of set n */
    /* Bytes that are asked for: ALLOC_MALLOC + n * ALLOC_MALLOC_KINDS + enum alloc_malloc is a call
     * of set n. */
    ALLOC_MALLOC = 64,
};

/* Where the arguments of a function say how many bytes are asked for. */
enum alloc_malloc {
    ALLOC_MALLOC_FIRST,          /* malloc(size) */
    ALLOC_MALLOC_SECOND,         /* realloc(old, size), aligned_alloc(alignment, size) */
    ALLOC_MALLOC_SECOND_OF_OLD,  /* the same of glibc, which calls malloc if the first is
                                    ALLOC_ALIGNED or less: no block, or what malloc gives anyway */
    ALLOC_MALLOC_THIRD,          /* posix_memalign(ret, alignment, size) */
    ALLOC_MALLOC_THIRD_OF_LARGE, /* the same of glibc, as above */
    ALLOC_MALLOC_PRODUCT,        /* calloc(count, size) */
    ALLOC_MALLOC_FREE,           /* free(old): what is given back */
    /* ALLOC_MALLOC_RESULT + n is within a function, where register n has what it will return. */
    ALLOC_MALLOC_RESULT = 16,
    ALLOC_MALLOC_KINDS = 32,
};
#define ALLOC_REGISTERS 16 /* as instructions number them: 0 is rax */
#define ALLOC_ALIGNED 16   /* bytes; glibc's malloc aligns to that */

/* What is known of a process that is asked how it asks for memory. */
struct alloc_mallocs {
    unsigned long long calls;          /* in all its sets */
    ALLOC_U32 cache_word, cache_tries; /* of native_live.bpf.h */
    ALLOC_U32 slot;                    /* where its blocks are counted, below ALLOC_PROCESSES_MAX */
    ALLOC_U32 unused;
};

/* A block of memory that a set follows. */
struct alloc_block {
    unsigned long long address;
    ALLOC_U32 host_pid, set;
};
#define ALLOC_BLOCKS_MAX 32768 /* that are followed, of all processes and sets */
/* Of a probe: a probe of another epoch than its process has is one that is going. So is a call's
 * of another epoch than its slot has. */
#define ALLOC_COOKIE(kind, slot, epoch)                                                            \
    ((unsigned long long)(epoch) << 32 | (unsigned)(slot) << 16 | (unsigned)(kind))
#define ALLOC_COOKIE_KIND(cookie) ((ALLOC_U32)(cookie)&0xffff)
#define ALLOC_COOKIE_SLOT(cookie) ((ALLOC_U32)(cookie) >> 16)
#define ALLOC_COOKIE_EPOCH(cookie) ((ALLOC_U32)((cookie) >> 32))
#define ALLOC_KLASS_ARRAY_OF 1 /* added to a Klass in a record: an array of that */
#define ALLOC_RANK_MAX 5       /* dimensions that are looked at */

/* Of a process. Bytes into its JavaThread: */
struct alloc_vm {
    ALLOC_U32 allocated_bytes; /* what the thread allocated, without its present buffer (TLAB) */
    ALLOC_U32 tlab_start, tlab_top, tlab_end;
    ALLOC_U32 layout_helper, element_klass; /* into a Klass, an ObjArrayKlass */
    ALLOC_U32 resolved_klasses;             /* into a ConstantPool; 0: its slots have the classes */
    ALLOC_U32 pool_bytes;                   /* of it, before its slots */
    ALLOC_U32 reference_bytes;              /* in an array of objects */
};

/* The same in the map: what was counted under another epoch is void. */
struct alloc_process {
    struct alloc_vm vm;
    ALLOC_U32 epoch;
};

/* Of a process whose agent tells what is allocated. */
struct alloc_agent {
    ALLOC_U32 class_klass;          /* bytes into a java.lang.Class, to its Klass* */
    ALLOC_U32 epoch;                /* as in struct alloc_process */
    unsigned long long collections; /* address of the number of its collections; 0: not known */
};

#define ALLOC_INTERVAL_MAX (1ULL << 30) /* bytes between two samples of an agent */

enum alloc_counter {
    ALLOC_SAMPLES,     /* records written */
    ALLOC_TIME_NS,     /* spent on them */
    ALLOC_LOST_RING,   /* the ring buffer was full */
    ALLOC_LOST_BUDGET, /* the processor had spent STACK_BUDGET_NS of its window */
    ALLOC_LOST_OTHER,  /* no memory, or more at once than ALLOC_DEPTH */
    ALLOC_COUNTERS,
};
