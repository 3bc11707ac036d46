/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by moments.bpf.c, its loader and flamed: events of a JVM as a whole, by its probes. */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#define MOMENT_U64 uint64_t
#define MOMENT_U32 uint32_t
#define MOMENT_U16 uint16_t
#define MOMENT_U8 uint8_t
#define MOMENT_S32 int32_t
#else
#include <linux/types.h>
#define MOMENT_U64 __u64
#define MOMENT_U32 __u32
#define MOMENT_U16 __u16
#define MOMENT_U8 __u8
#define MOMENT_S32 __s32
#endif

#define MOMENT_PROCESSES_MAX 256 /* JVMs with such probes at a time */
#define MOMENT_PLACES_MAX 32     /* probes of one JVM */
#define MOMENT_RING_BYTES (512u << 10)
#define MOMENT_NAME_BYTES 64
#define MOMENT_CLASS_BYTES 256
#define MOMENT_METHOD_BYTES 128
#define MOMENT_OFTEN 100 /* a second: above it, probes of compilations or classes are removed */
#define MOMENT_OFF_THREADS_MAX 1024 /* stored stacks of threads off the processor */
#define MOMENT_OFF_WORDS 512        /* stored stack words of one of them */

/* The event at a probe. */
enum moment_kind {
    MOMENT_SAFEPOINT_BEGIN, /* the VM asks its threads to stop */
    MOMENT_SAFEPOINT_END,
    MOMENT_OPERATION_BEGIN, /* has a name; if at a safepoint, all threads have stopped */
    MOMENT_OPERATION_END,
    MOMENT_GC_BEGIN,
    MOMENT_GC_END,
    MOMENT_COLLECTOR, /* has the collector's name; comes between GC_BEGIN and GC_END */
    MOMENT_COMPILE_BEGIN,
    MOMENT_COMPILE_END, /* on the thread of its MOMENT_COMPILE_BEGIN */
    MOMENT_CLASS_LOADED,
    MOMENT_CLASS_UNLOADED,
    MOMENT_PROBED, /* number of the kinds above, which are those of probes */
    /* More than MOMENT_OFTEN events of the group occurred in a second; no further ones are
     * reported. */
    MOMENT_OFTEN_COMPILED = MOMENT_PROBED,
    MOMENT_OFTEN_CLASSES,
    MOMENT_KINDS,
};

/* Probes that are put and removed together. */
enum moment_group {
    MOMENT_GROUP_STOPS, /* kinds up to MOMENT_COLLECTOR; the other groups require this group */
    MOMENT_GROUP_COMPILED,
    MOMENT_GROUP_CLASSES,
    MOMENT_GROUPS,
};

/* Returns the group of a probe of @kind. */
static inline MOMENT_U32 moment_group_of(MOMENT_U32 kind)
{
    if (kind < MOMENT_COMPILE_BEGIN)
        return MOMENT_GROUP_STOPS;
    return kind < MOMENT_CLASS_LOADED ? MOMENT_GROUP_COMPILED : MOMENT_GROUP_CLASSES;
}

/* Returns nonzero if records of @kind have a struct moment_names behind them. */
static inline int moment_has_names(MOMENT_U32 kind)
{
    return kind >= MOMENT_COMPILE_END && kind < MOMENT_PROBED;
}

/* Where an operand of a probe is. */
enum moment_where { MOMENT_NOWHERE, MOMENT_IN_REGISTER, MOMENT_IN_MEMORY };

/* Registers, by the order of names in operands of probes. */
enum moment_register {
    MOMENT_RAX,
    MOMENT_RBX,
    MOMENT_RCX,
    MOMENT_RDX,
    MOMENT_RSI,
    MOMENT_RDI,
    MOMENT_RBP,
    MOMENT_RSP,
    MOMENT_R8,
    MOMENT_R9,
    MOMENT_R10,
    MOMENT_R11,
    MOMENT_R12,
    MOMENT_R13,
    MOMENT_R14,
    MOMENT_R15,
    MOMENT_SP = 31, /* aarch64: register xN has the number N */
};

/* Operands of a probe. Kinds with one name have the address of a NUL-terminated text, or none.
 * Kinds with a struct moment_names have class, length of class, method, length of method, and the
 * compiler as a NUL-terminated text. */
enum moment_operand_no {
    MOMENT_OPERAND_NAME = 0,
    MOMENT_OPERAND_CLASS = 0,
    MOMENT_OPERAND_CLASS_BYTES,
    MOMENT_OPERAND_METHOD,
    MOMENT_OPERAND_METHOD_BYTES,
    MOMENT_OPERAND_COMPILER,
    MOMENT_OPERANDS,
};

struct moment_operand {
    MOMENT_U8 where; /* enum moment_where */
    MOMENT_U8 bytes; /* 4 or 8 */
    MOMENT_U16 reg;  /* enum moment_register */
    MOMENT_S32 disp; /* with MOMENT_IN_MEMORY: offset from the register's value */
};

struct moment_place {
    struct moment_operand operands[MOMENT_OPERANDS];
};

/* The attach cookie of a probe: its kind, the index of its place in the process, and the epoch of
 * the process's probes. */
#define MOMENT_COOKIE(kind, place, epoch)                                                          \
    ((MOMENT_U64)(kind) | (MOMENT_U64)(place) << 8 | (MOMENT_U64)((epoch)&0xff) << 16)
#define MOMENT_COOKIE_KIND(cookie) ((MOMENT_U32)((cookie)&0xff))
#define MOMENT_COOKIE_PLACE(cookie) ((MOMENT_U32)((cookie) >> 8 & 0xff))
#define MOMENT_COOKIE_EPOCH(cookie) ((MOMENT_U32)((cookie) >> 16 & 0xff))

struct moment_record {
    MOMENT_U64 time_ns;            /* CLOCK_MONOTONIC */
    MOMENT_U64 start_boottime_ns;  /* of the process */
    MOMENT_U32 host_pid, host_tid; /* as in samples */
    MOMENT_U32 exec_id;
    MOMENT_U32 kind;              /* enum moment_kind */
    char name[MOMENT_NAME_BYTES]; /* ends with NUL; "": none, or unreadable */
};

/* Texts of the VM, not NUL-terminated. Of a text longer than its room, the beginning is stored. */
struct moment_names {
    MOMENT_U32 class_n, method_n; /* full length in bytes, even if larger than the room; 0: none, or
                                   * unreadable */
    char class_name[MOMENT_CLASS_BYTES];
    char method[MOMENT_METHOD_BYTES];
};

/* A record of a kind with a struct moment_names; its member `name` is the compiler's. */
struct moment_named {
    struct moment_record rec;
    struct moment_names names;
};

/* The rate of a group's probes within a second. */
struct moment_pace {
    MOMENT_U64 since_ns;
    MOMENT_U32 hits;
    MOMENT_U32 off; /* 1: the rate was too high, and the group is off */
};

/* Layout of a JavaThread, and its states. A safepoint waits for threads in all states except those
 * in the members below. */
struct moment_thread {
    MOMENT_U32 state;     /* offset of its state */
    MOMENT_U32 safepoint; /* offset of the address of its safepoint data; 0: unknown */
    MOMENT_U8 begun;      /* in states below this one, the thread does not run yet */
    MOMENT_U8 native, blocked;
    MOMENT_U8 end; /* states from here on are invalid */
};
#define MOMENT_SAFEPOINT_ID 24 /* in that data: offset of the safepoint's id; id 0: none */

/* State of a process with probes. */
struct moment_process {
    MOMENT_U64 since_ns; /* since when the VM waits for its threads to stop; 0: it does not wait */
    struct moment_thread thread;
    MOMENT_U32 epoch; /* epoch of its probes, 0 to 255; probes of another epoch are being removed */
    struct moment_pace paces[MOMENT_GROUPS];
    struct moment_place places[MOMENT_PLACES_MAX];
};

#ifndef __bpf__
_Static_assert(sizeof(struct moment_record) == 96, "moment_record must have no padding");
_Static_assert(sizeof(struct moment_named) == 96 + 392, "moment_named must have no padding");
_Static_assert(sizeof(struct moment_operand) == 8, "moment_operand must have no padding");
#endif
