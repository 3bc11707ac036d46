/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a BPF program finds the request that a Java thread works on. A path is a list of generic
 * steps through the thread's own objects. The program writes its result behind the frames of a
 * sample. flamed compiles paths from the VM's own layout (hotspot/tracer.c). The broker checks
 * their form, and the program trusts no number in them. Fixed-width, no padding.
 */
#pragma once

#include "unwind/process.h"

#define CONTEXT_STEPS_MAX 48
#define CONTEXT_REGISTERS 8
#define CONTEXT_OFFSET_MAX 65536  /* limit of a step's `offset`: bytes, or the index of a pair */
#define CONTEXT_PROBES_MAX 64     /* entries of a thread's table that one search reads */
#define CONTEXT_PAIRS_MAX 32      /* pairs of an array of keys and values that one search reads */
#define CONTEXT_ATTRIBUTES_MAX 32 /* attributes of a record that one search reads */
#define CONTEXT_DTV_WORDS_MAX 2   /* words in an entry of a thread's table of modules: glibc's */
#define CONTEXT_NODES_MAX 8       /* nodes of a HashMap's bucket that one search reads */
#define CONTEXT_KEY_BYTES 64      /* bytes of the longest key in an array of keys */
#define CONTEXT_TABLE_MAX 65536   /* entries of the largest table */
#define CONTEXT_MOVES_MAX 512     /* reads of ZGC's forwarding data by one path */
#define CONTEXT_NAME_BYTES 128
#define CONTEXT_LINE 256 /* bytes that one read takes */
#define CONTEXT_LINES 8  /* of these that are kept */

/* What a step does. `to` and `from` are registers, which hold addresses of objects. A step that
 * fails skips the next `skip` steps. If its `skip` is 0, it ends the path. */
enum context_op {
    CONTEXT_THREAD_LOCAL, /* to = the thread's value of the ThreadLocal with the hash `key`, in the
                           * table that member `offset` of java.lang.Thread leads to; 0: in
                           * threadLocals */
    CONTEXT_REF,          /* to = the reference at `offset` of from; fails if null */
    CONTEXT_CLASS,        /* fails unless the class word of from is `key` */
    CONTEXT_NTH,          /* from: an array of alternate keys and values. to = number `offset` (from
                           * 0) of the values with class word `key`, or the last of them if they are
                           * fewer */
    CONTEXT_MAP,  /* to = the value in the HashMap at from, for the key with the hash `key` */
    CONTEXT_KEY,  /* to = the value of the String with context_key_of() `key`. from: the array of
                   * keys.  Register `offset`: that of the values, in the same order. If it is the
                   * same  array, keys and values alternate from element 1 on */
    CONTEXT_WORD, /* word `key` of the ids = the 8 bytes at `offset` of from */
    CONTEXT_TEXT, /* text `key` (enum context_text; CONTEXT_NAME_MORE) = the java.lang.String at
                   * from */
    CONTEXT_SKIP, /* always fails */
    CONTEXT_VARIABLE,  /* to = the pointer in a thread-local variable, which is `key` bytes (may be
                          negative) from its base. `from` 0: the base is the thread pointer. Else it
                          is the thread's data of module `offset`; an entry in the thread's table of
                          modules has `from` words */
    CONTEXT_RECORD,    /* the ids = those of the record at from (struct context_record) */
    CONTEXT_ATTRIBUTE, /* text `offset` (as `key` of CONTEXT_TEXT) = attribute `key` of the record
                        * at from. Never fails */
    CONTEXT_OPS,
};

/* Which text of the result a step fills. */
enum context_text { CONTEXT_TRACE, CONTEXT_SPAN, CONTEXT_ROOT, CONTEXT_NAME, CONTEXT_TEXTS };
#define CONTEXT_NAME_MORE CONTEXT_TEXTS /* a further part of the name, appended after a blank */

/* The ids are 16 words: 8 of the trace, 4 of the current span, 4 of the root span. An id that is a
 * text fills its words with hexadecimal digits of one byte each (JDK 8: two bytes). An id that is a
 * number uses only the first of its words. */
#define CONTEXT_TRACE_WORD 0
#define CONTEXT_SPAN_WORD 8
#define CONTEXT_ROOT_WORD 12
#define CONTEXT_ID_WORDS 16

/* The form in which a tracer keeps its ids. */
enum context_ids {
    CONTEXT_IDS_HEX,    /* texts */
    CONTEXT_IDS_WORDS,  /* numbers: the trace's high half and low half, and each span */
    CONTEXT_IDS_NONE,   /* no hexadecimal ids: only the name counts */
    CONTEXT_IDS_LOG,    /* texts in the log's context; a program may put none there */
    CONTEXT_IDS_KEYS,   /* as CONTEXT_IDS_LOG, under configured keys: a trace or a name suffices */
    CONTEXT_IDS_RECORD, /* bytes, the highest first; the root as text. A name suffices, too. The
                         * texts are UTF-8 */
    CONTEXT_IDS_KINDS,
};

/* How an object shows that a collector has copied it while threads run. */
enum context_forwards {
    CONTEXT_FORWARDS_NONE, /* not at all, or other references lead to the copy (ZGC) */
    CONTEXT_FORWARDS_MARK, /* the lowest two bits of the mark word are 1 */
    CONTEXT_FORWARDS_WORD, /* the word before the object is not its own address */
    CONTEXT_FORWARDS_KINDS,
};

struct context_step {
    uint8_t op, to, from, skip;
    uint32_t offset;
    uint64_t key;
};

/* A path, and where java.base keeps the members that its steps pass; offsets in bytes. */
struct context_path {
    uint32_t exec_id;       /* exec id of the process image, as in struct sample_record; 0: any */
    uint16_t step_count;    /* 1 to CONTEXT_STEPS_MAX; 0: no path */
    uint8_t ids;            /* enum context_ids */
    uint8_t mark_shift;     /* compact headers: the shift from the mark word to the class word; else
                             * 0 */
    uint16_t thread_locals; /* of java.lang.Thread */
    uint16_t table;         /* offset of the table in ThreadLocal.ThreadLocalMap */
    uint16_t entry_value;   /* offset of the value in the map's Entry */
    uint16_t referent;      /* offset in java.lang.ref.Reference */
    uint16_t hash;          /* offset of threadLocalHashCode in ThreadLocal */
    uint16_t array_length, array_base, bytes_base;
    uint16_t string_value, string_coder; /* string_coder 0 (JDK 8): two bytes a character */
    uint16_t map_table;                  /* offset in java.util.HashMap; 0: no step needs it */
    uint16_t node_hash, node_value, node_next; /* offsets in HashMap.Node */
    uint16_t moves;    /* 1: the VM runs ZGC, which moves objects while threads run */
    uint16_t forwards; /* enum context_forwards */
    struct unwind_pauses pauses;
    uint16_t thread_state; /* offset in JavaThread; 0: not known */
    uint16_t in_java;      /* its value while the thread runs Java */
    uint32_t zero;
    uint64_t stack_start; /* proc_stat's stack_start, by which the broker identifies the program */
    struct context_step steps[CONTEXT_STEPS_MAX];
};

enum context_state {
    CONTEXT_UNREADABLE, /* memory was unreadable or had no valid content */
    CONTEXT_NO_REQUEST, /* the thread works on no request, as far as its tracer knows */
    CONTEXT_IDS_ONLY,
    CONTEXT_NAMED, /* ids and a name */
    CONTEXT_STATES,
};

/* The result that the program writes behind the frames of a sample. */
struct sample_context {
    uint8_t state;                /* enum context_state */
    uint8_t ids;                  /* enum context_ids */
    uint8_t wide;                 /* bit n: text n has two bytes a character */
    uint8_t step;                 /* the last step that was made */
    uint8_t bytes[CONTEXT_TEXTS]; /* length of each text */
    uint64_t id[CONTEXT_ID_WORDS];
    char name[CONTEXT_NAME_BYTES];
};

#define CONTEXT_WORDS 33

/* A thread's record by OpenTelemetry's OTEP 4947, which its own code writes. Behind it lie
 * attributes: index of the name, length, and as many bytes. */
struct context_record {
    uint64_t trace[2], span; /* bytes, the highest first */
    uint8_t valid; /* 1: the record is valid; else the thread has no request, or is changing the
                      record */
    uint8_t flags;
    uint16_t attributes_bytes;
};
#define CONTEXT_RECORD_BYTES 28
#define CONTEXT_RECORD_VALID 1

/* The state of a path being walked. The verifier assumes that a copy of a text is up to
 * twice as long as its room, and may begin anywhere in the name. So `out` has room behind it. */
struct context_work {
    struct sample_context out;
    uint64_t at[CONTEXT_REGISTERS];
    uint64_t thread;             /* the JavaThread */
    uint64_t pointer;            /* the thread pointer */
    uint64_t table, want, found; /* table, wanted value and result of the current search */
    uint64_t begun_ns;           /* when the walk began */
    uint64_t bad;  /* ZGC's bad mask: bits of references that may be older than a move */
    uint64_t view; /* the lowest color, with which the heap's first view begins; 0: no views */
    uint64_t object;
    uint64_t root;  /* address of the reference to the java.lang.Thread; 0: not read yet */
    uint64_t pause; /* context_pause() at the start of a walk that heeds it */
    struct context_record record;
    uint32_t count; /* entries of the table */
    uint32_t next;  /* index of the next step */
    uint32_t nth;
    uint32_t moves;    /* reads of ZGC's forwarding data so far */
    uint32_t fault;    /* 1: memory was unreadable or had no valid content */
    uint16_t forwards; /* enum context_forwards of the path */
    uint16_t copied;   /* 1: an object of the path has a copy */
    uint16_t torn;     /* 1: ZGC has begun another phase during the walk, or may have */
    uint16_t fresh;    /* 1: objects may move during the walk, so no line is older than the last
                        * reference */
    uint16_t zero[2];
    uint64_t line[CONTEXT_LINES]; /* address of each line that is kept, + 1; 0: none */
    /* context_begin() leaves the following as it is. */
    uint64_t kept[CONTEXT_LINES * CONTEXT_LINE / 8]; /* what the lines contain */
    struct unwind_forwarding forwarding;
    uint8_t key[CONTEXT_KEY_BYTES];
    uint64_t spare[8];
};

/* Returns @hash of the first characters of a key, extended by a further one. */
static inline uint64_t context_key_add(uint64_t hash, uint32_t character)
{
    return (hash ^ character) * 0x100000001b3ULL;
}

/* Returns the identity of a key of @n characters: their @hash, with their number as last byte. */
static inline uint64_t context_key_of(uint64_t hash, uint32_t n)
{
    return (hash & ~0xffULL) | (n & 0xff);
}

/* Clears @w before a walk of @path. */
static inline void context_begin(struct context_work *w, const struct context_path *path)
{
    __builtin_memset(w, 0, __builtin_offsetof(struct context_work, kept));
    w->out.ids = path->ids;
    w->forwards = path->forwards;
    w->out.state = CONTEXT_UNREADABLE;
}

#ifndef __bpf__
#include <stddef.h>

_Static_assert(sizeof(struct context_step) == 16, "context_step must have no padding");
_Static_assert(sizeof(struct context_path) == 88 + 16 * CONTEXT_STEPS_MAX, "nor context_path");
_Static_assert(offsetof(struct context_record, attributes_bytes) == CONTEXT_RECORD_BYTES - 2,
               "context_record");
_Static_assert(sizeof(struct sample_context) == CONTEXT_WORDS * 8, "nor sample_context");
#endif
