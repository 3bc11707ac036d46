/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory file that libflamed-agent.so writes and flamed reads. flamed-broker makes it with a
 * fixed size and seals that. The JVM can write all of it, so flamed copies it before use and treats
 * it as hostile (daemon/attach/code_map.c).
 *
 *   0                 struct stream_header, one page
 *   STREAM_TABLE_AT   the agent's table of methods that it has named; flamed never reads it.
 *                     If the agent samples allocation: a table of struct stream_live
 *   STREAM_RING_AT    a ring of records, read and written at counters modulo its size
 *
 * A record begins at a multiple of 8, lies in one piece and has a struct stream_record in front.
 * If the rest of the ring is too short for a record, a STREAM_PAD fills it. When there is no room,
 * records are dropped and counted; the JVM never waits. Native byte order: both ends are one
 * machine. Times are nanoseconds of the host's CLOCK_MONOTONIC.
 */
#pragma once

#include <stdint.h>

#define STREAM_MAGIC UINT32_C(0x31414c46) /* "FLA1" */
#define STREAM_VERSION UINT32_C(1)

#define STREAM_TABLE_AT UINT64_C(4096)
#define STREAM_TABLE_SLOTS UINT32_C(131072) /* a power of 2 */
#define STREAM_TABLE_BYTES (STREAM_TABLE_SLOTS * UINT64_C(16))
#define STREAM_METHODS_MAX (STREAM_TABLE_SLOTS / 4 * 3)
#define STREAM_RING_AT (STREAM_TABLE_AT + STREAM_TABLE_BYTES)
#define STREAM_RING_BYTES (UINT64_C(16) << 20) /* a power of 2 */
#define STREAM_BYTES (STREAM_RING_AT + STREAM_RING_BYTES)
#define STREAM_RECORD_MAX (UINT32_C(512) << 10)

#define STREAM_LEASE_NS UINT64_C(5000000000)
/* The longest lease that the agent accepts. The first one also covers the attach (35 s). */
#define STREAM_LEASE_MAX_NS UINT64_C(60000000000)

#define STREAM_LIVE_MAX UINT32_C(4096) /* objects that are followed at a time */

enum stream_state {
    STREAM_IDLE = 0,      /* the agent has not opened the file */
    STREAM_REPLAYING = 1, /* code compiled so far is being written */
    STREAM_STREAMING = 2, /* all earlier code is written; new events follow */
    STREAM_ENDED = 3,     /* events are off, capabilities given back */
    STREAM_FAILED = 4,    /* members `step` and `code` have the reason */
};

/* The step at which the agent failed. */
enum stream_step {
    STREAM_STEP_NONE = 0,
    STREAM_STEP_ENVIRONMENT = 1,  /* code: result of JavaVM.GetEnv */
    STREAM_STEP_CAPABILITIES = 2, /* code, from this step on: a jvmtiError */
    STREAM_STEP_CALLBACKS = 3,
    STREAM_STEP_EVENTS = 4,
    STREAM_STEP_REPLAY = 5,
    STREAM_STEP_BUSY = 6, /* no code: a suspended thread has not ended the session before */
};

enum stream_option {
    STREAM_OPTION_STUBS = 1, /* also replay DynamicCodeGenerated: only on JDKs where that is safe */
    STREAM_OPTION_ONCE = 2,  /* end after the replay */
    STREAM_OPTION_SAMPLES =
        4, /* sample allocation at a probe and report no code: only the header is used */
};

struct stream_header {
    /* Written by the broker before the agent is loaded. */
    uint32_t magic, version;
    uint32_t options; /* bits of enum stream_option */
    uint32_t zero;
    int64_t clock_offset_ns; /* the JVM's CLOCK_MONOTONIC minus the host's (time namespaces) */
    uint8_t pad1[40];
    /* Written by flamed. */
    uint64_t tail;     /* bytes read so far */
    uint64_t lease_ns; /* host time; the agent ends at the first event after it */
    uint32_t stop;     /* 1: the agent ends at the next event */
    uint32_t live;     /* 1: the agent follows the objects of its samples */
    uint64_t interval; /* bytes between two samples of allocation, on average; 0: 512 KiB */
    uint8_t pad2[32];
    /* Written by the agent. */
    uint64_t head; /* bytes written so far */
    uint32_t state;
    uint32_t step;
    int32_t code;
    uint32_t zero2;
    uint64_t dropped;      /* records dropped for want of room */
    uint64_t events;       /* callbacks so far */
    uint64_t replayed;     /* loads when the state became STREAM_STREAMING */
    uint64_t replay_ns;    /* time that the replay took */
    uint64_t interval_now; /* `interval`, or more to limit the rate of samples */
    /* Followed objects. */
    uint32_t live_dead;   /* id of the newest object that was found dead; 0: none */
    uint32_t live_held;   /* number of current weak references */
    uint64_t live_missed; /* samples that found no place or no memory */
    uint8_t pad3[48];
};
_Static_assert(sizeof(struct stream_header) == 256, "four cache lines, no padding");

/*
 * An object followed by a weak reference. The agent has its own list and reads nothing here. The
 * object was kept with the chance max(bytes, interval) / threshold; if that is over 1, with
 * certainty. The id is written last, and removed before the reference is deleted.
 */
struct stream_live {
    uint64_t ref; /* address of the word that the collector clears, with some low bits */
    uint64_t bytes;
    uint64_t threshold; /* bytes */
    uint32_t id;        /* 1, 2, ..., and again from 1; 0: no object */
    uint32_t interval;  /* bytes between two samples at the time of this sample */
};
_Static_assert(sizeof(struct stream_live) == 32 &&
                   STREAM_LIVE_MAX * sizeof(struct stream_live) <= STREAM_TABLE_BYTES,
               "it fits into the table");
/* The low bits of a reference are its kind. The rest is the address of a word, which holds the
 * object's address, or at most low bits if the object is gone. */
#define STREAM_LIVE_KIND_BITS UINT64_C(7)
#define STREAM_LIVE_ADDRESS_SHIFT 16

enum stream_kind {
    STREAM_PAD = 0,
    STREAM_METHOD = 1,
    STREAM_LOAD = 2,
    STREAM_UNLOAD = 3,
    STREAM_STUB = 4,
};

enum stream_flag {
    STREAM_FLAG_REPLAYED = 1, /* the event happened before the time in the record */
    STREAM_FLAG_CUT = 2,      /* debug information was left out: the record would be too long */
};

struct stream_record {
    uint32_t bytes; /* size with this struct; a multiple of 8 */
    uint16_t kind, flags;
    uint64_t time_ns;
};

/* A method's names; comes before the first record with its id. The strings follow the struct, in
 * this order and without NUL, then at the next multiple of 4 the lines. Modified UTF-8 as JVMTI
 * gives it: class as a signature ("Ljava/lang/Thread;"). */
struct stream_method {
    struct stream_record r;
    uint32_t id; /* 1, 2, ... */
    uint16_t class_n, name_n, signature_n, file_n;
    uint32_t line_count;
};
struct stream_line {
    uint32_t bci, line;
};

/* Code of a method. pc_count times struct stream_pc follow, each followed by its frames. */
struct stream_load {
    struct stream_record r;
    uint64_t address;
    uint32_t code_bytes;
    uint32_t method; /* id; 0: it could not be named */
    uint32_t pc_count;
    uint32_t zero;
};
/* A range of code, by the offset of its end, as in HotSpot. An interrupted pc belongs to the first
 * range that ends after it. */
struct stream_pc {
    uint32_t offset; /* offset from the address of the code */
    uint32_t frame_count;
};
struct stream_frame { /* innermost first */
    uint32_t method;
    int32_t bci;
};

struct stream_unload {
    struct stream_record r;
    uint64_t address;
};

/* A piece of code that belongs to no method; name_n bytes follow. */
struct stream_stub {
    struct stream_record r;
    uint64_t address;
    uint32_t code_bytes;
    uint32_t name_n;
};

_Static_assert(sizeof(struct stream_record) == 16 && sizeof(struct stream_method) == 32 &&
                   sizeof(struct stream_load) == 40 && sizeof(struct stream_unload) == 24 &&
                   sizeof(struct stream_stub) == 32,
               "no padding");
