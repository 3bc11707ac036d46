/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the unwinder needs to know of one process: its executable mappings, and the rows of each. A
 * JVM adds its code cache and the layout of its objects. flamed fills in these structs. The BPF
 * programs treat every word as untrusted.
 */
#pragma once

#include "unwind/rows.h"

#define UNWIND_MAPPINGS_MAX 256 /* mappings in struct unwind_process itself */
/* Further mappings lie in the table of rows, as words of eight bytes. First come @more_count start
 * addresses. UNWIND_MORE_WORDS words for each mapping follow: its end, its bias, its rows. */
#define UNWIND_MORE_MAX 3840
#define UNWIND_MORE_WORDS 3
#define UNWIND_HEAPS_MAX 4
#define UNWIND_SLOTS_MAX 32768 /* process slots: 15 bits of a cache key */

struct unwind_mapping {
    uint64_t start, end;           /* executable, sorted by start, not overlapping */
    uint64_t bias;                 /* address - bias = the file's own address */
    uint32_t first_row, row_count; /* range in the table of rows; row_count 0: code without rules */
};

struct unwind_heap {
    uint64_t low, high; /* the reserved address range, which never changes */
    uint64_t segmap;
    uint32_t shift, zero; /* log2 of the segment size */
};

/* What a Java thread waits for. */
enum unwind_lock {
    UNWIND_LOCK_NONE,
    UNWIND_LOCK_MONITOR, /* it waits to enter a monitor */
    UNWIND_LOCK_WAIT,    /* Object.wait() */
    UNWIND_LOCK_PARK,    /* LockSupport.park() with a blocker */
    UNWIND_LOCK_UNREAD,  /* unknown: no set sampled locks when the wait began. The owner word is the
                          * JavaThread of the waiting thread itself. */
    UNWIND_LOCK_FUTEX,   /* a futex; the class word is its address. If there is an owner word (the
                          * waiting thread's JavaThread), the wait may be Java's: its stack decides.
                          */
};

/* Marks a class word as the address of a Klass: the lock is the object of that class. No class word
 * of an object has all these bits. With compact headers, a word with both lowest bits set belongs
 * to a moved object. */
#define UNWIND_LOCK_OF_CLASS (1ULL << 63 | 3)

/* glibc: bytes of an entry of a thread's dtv: the address of a module's thread-local storage, and a
 * pointer to free. */
#define UNWIND_DTV_BYTES 16

/* What a VM says of its collections while no thread runs Java: addresses. 0: nothing. */
struct unwind_pauses {
    uint64_t collections;              /* CollectedHeap::_total_collections, of four bytes */
    uint64_t collects;                 /* CollectedHeap::_is_gc_active, of one byte */
    uint64_t compact_from, compact_to; /* when the collector that compacts began and ended the last
                                        * time; 0: not known */
};

/* Bits of a reading of these. Above them is the number of collections. */
#define UNWIND_PAUSE 1   /* a collection is under way, and no thread runs Java */
#define UNWIND_COMPACT 2 /* it compacts */
#define UNWIND_PAUSE_BITS 2

/* Where a HotSpot VM keeps what a thread waits for: offsets in bytes into each object. */
struct unwind_locks {
    struct unwind_pauses pauses; /* all zero: ZGC */
    uint64_t oop_base;           /* of references of four bytes */
    uint64_t class_class; /* class word of a java.lang.Class, shifted by mark_shift; 0: unknown */
    /* The low half of the first word (the vtable pointer) of a JavaThread that runs Java. 0:
     * current_module and current_word are not known. */
    uint32_t thread_vtable;
    /* of JavaThread: */
    uint16_t pending_monitor, waiting_monitor; /* ObjectMonitor pointers */
    uint16_t thread_object; /* its current java.lang.Thread, platform or virtual */
    /* of ObjectMonitor: */
    uint16_t monitor_object, monitor_owner;
    /* of java.lang.Thread: */
    uint16_t park_blocker, eetop;
    uint16_t exclusive_owner; /* of AbstractOwnableSynchronizer, assumed to be its first field */
    uint16_t klass;           /* the class word of any object */
    uint8_t klass_bytes;    /* bytes of the class word: 4 or 8; 0: none of these offsets is known */
    uint8_t oop_bytes;      /* bytes of a reference in an object: 4 or 8 */
    uint8_t oop_shift;      /* of references of four bytes */
    uint8_t coloured;       /* 1: references have the colours of generational ZGC */
    uint8_t compact;        /* 1: the class word is part of the mark word, which may hold a
                             * forwarding address */
    uint8_t thread_handle;  /* 1: thread_object is the address of a reference */
    uint8_t monitor_handle; /* 1: monitor_object is the address of a reference */
    /* A thread finds its own JavaThread at word current_word of its thread-local storage of module
     * current_module. Module 0: at word current_word behind the thread pointer. */
    uint8_t current_module, current_word;
    uint8_t mark_shift;   /* the same as in struct unwind_frozen */
    uint16_t class_klass; /* offset of the Klass* in java.lang.Class */
    uint8_t zero[6];
};

#define UNWIND_FORWARDINGS 2         /* generations of ZGC */
#define UNWIND_FORWARDING_PROBES 256 /* entries of a forwarding table that one search reads */

/* Where ZGC keeps the new addresses of moved objects. A reference with a bit of the bad mask may be
 * older than the move of its object. */
struct unwind_zgc {
    uint64_t bad_mask; /* address of the bad mask; 0: no ZGC, or its layout is not known */
    uint64_t offset_mask, granules;
    uint64_t maps[UNWIND_FORWARDINGS]; /* 0: no such map */
    uint32_t forwarding_bytes;
    uint32_t zero;
};

/* The first members of a ZForwarding. */
struct unwind_forwarding {
    uint64_t start, bytes; /* the memory that objects were moved out of, as offsets */
    uint32_t alignment_shift, zero;
    uint64_t length; /* entries, a power of two */
};

/* Where a mounted virtual thread has its frozen frames: offsets in bytes into each object. Classes
 * are given as the class word of their objects. */
struct unwind_frozen {
    uint64_t thread_class, cont_class;
    uint64_t chunk_class; /* 0: none of these offsets is known */
    uint16_t cont;        /* offset of the continuation in a VirtualThread */
    uint16_t tail;        /* offset of the first chunk in a Continuation */
    /* of StackChunk: */
    uint16_t size, sp, bottom, parent;
    uint16_t chunk_cont; /* 0: not known */
    uint16_t words;      /* where the words of its stack begin */
    uint8_t argsize;     /* 1: the field at @bottom holds size - bottom */
    uint8_t mark_shift;  /* compact headers: the shift from the mark word to the class word */
    uint8_t zero[6];
};

/* A HotSpot VM. Offsets are in bytes; all zero: not a JVM. */
struct unwind_vm {
    uint64_t code_low, code_high; /* the range around all code heaps */
    uint64_t interpreter_low, interpreter_high;
    uint64_t call_stub_return;
    struct unwind_heap heaps[UNWIND_HEAPS_MAX];
    uint32_t heap_count;
    uint16_t block_header_bytes, block_used;
    uint16_t blob_name, blob_code, blob_frame_size, blob_frame_complete;
    uint16_t nmethod_deopt, nmethod_deopt_mh, nmethod_orig_pc, nmethod_compile_id;
    uint16_t method_const;
    uint16_t thread_anchor_sp, thread_anchor_pc, thread_anchor_fp;
    uint16_t thread_cont_entry; /* 0: not known */
    uint16_t cont_entry_bytes;
    uint8_t blob_code_pointer; /* 1: the field at blob_code is a pointer; 0: an int, relative to
                                * the blob */
    uint8_t deopt_pointer;     /* 1: the field at nmethod_deopt is a pointer; 0: an int, relative to
                                * the blob */
    uint8_t frame_complete_bytes; /* 2 or 4 */
    uint8_t bcp_slot;             /* words below fp: 8, or 7 in JDK 8 */
    uint8_t virtual_threads;      /* 1: JDK 21 on */
    uint8_t jvmci;                /* 1: a JVMCI compiler, such as Graal, may have made code */
    uint8_t zero[2];
    struct unwind_locks locks;
    struct unwind_frozen frozen;
    struct unwind_zgc zgc;
};

/* Addresses at which a VM counts the classes that it has unloaded (two counters), and has the flag
 * that classes may be redefined. All zero: not known. */
struct unwind_unloads {
    uint64_t at[2], can_redefine;
};

struct unwind_process {
    uint64_t start_boottime_ns; /* 0: any */
    uint32_t exec_id;           /* 0: any */
    uint32_t slot;              /* below UNWIND_SLOTS_MAX; changes whenever mappings change */
    uint32_t mapping_count;
    uint32_t more_count, first_more; /* further mappings, sorted, in the table of rows from row
                                      * first_more on */
    uint32_t zero;
    struct unwind_vm vm;
    struct unwind_unloads unloads;
    struct unwind_mapping mappings[UNWIND_MAPPINGS_MAX];
};
UNWIND_ASSERT(sizeof(struct unwind_mapping) == 32);
UNWIND_ASSERT(sizeof(struct unwind_heap) == 32);
UNWIND_ASSERT(sizeof(struct unwind_locks) == 32 + 56);
UNWIND_ASSERT(sizeof(struct unwind_frozen) == 3 * 8 + 8 * 2 + 8);
UNWIND_ASSERT(sizeof(struct unwind_zgc) == 48);
UNWIND_ASSERT(sizeof(struct unwind_vm) == 5 * 8 + 4 * 32 + 4 + 16 * 2 + 4 + 4 + 4 + 88 + 48 + 48);
UNWIND_ASSERT(sizeof(struct unwind_process) == 32 + 272 + 96 + 32 + 24 + 32 * UNWIND_MAPPINGS_MAX);
