/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbered list of what flamed may ask flamed-broker for, and the messages on their
 * SOCK_SEQPACKET socket. A request is one fixed-size struct and names a thing, never a path; an
 * answer is one fixed-size struct with read-only fds beside it. Both ends are built together, so a
 * message of another version is refused, never interpreted. Why each request is safe stands above
 * the function that serves it (req_*.c) and in docs/privilege.md. The checks here are pure
 * functions over a message; thread: any.
 */
#pragma once

#include "base/error.h"
#include "broker_client/broker.h"
#include "broker_client/tables.h"

#define BROKER_WIRE_VERSION 1u
#define BROKER_NAME_MAX 255          /* bytes of a base name */
#define BROKER_CONTAINER_ID_BYTES 64 /* hex digits */
#define BROKER_FDS_MAX 64            /* fds beside one answer; more come in further answers */
#define BROKER_ATTACH_FDS 2u         /* the result's pipe, the memory file */
#define BROKER_ATTACH_TMP 8u         /* mount over the container's /tmp, where that may be done */
#define BROKER_WAIT_STATUS_MAX 0xffff
#define BROKER_PID_MAX 4194304  /* the kernel's PID_MAX_LIMIT */
#define BROKER_HOLDER_BITS 24   /* of a process's number, and above it: */
#define BROKER_HOLDER_SOCKET 27 /* of the socket; between them: enum socket_holder_flag */
#define BROKER_HOLDER_FLAGS ((1u << (BROKER_HOLDER_SOCKET - BROKER_HOLDER_BITS)) - 1)
#define BROKER_HOLDERS_ITEMS 157
#define BROKER_ADDRESS_MAX (UINT64_C(1) << 56)
#define BROKER_CGROUP_FROZEN (UINT64_C(1) << 63) /* in the answer of cgroup, beside the limit */
#define BROKER_TABLES_ROWS 262144u               /* that go over at once */
#define BROKER_TABLES_BYTES (BROKER_TABLES_ROWS * sizeof(struct unwind_row))

enum broker_request_kind {
#define REQUEST(number, id, name, fields, fds) BROKER_##id = (number),
#include "broker_client/requests.def"
#undef REQUEST
    BROKER_KIND_END,
};

struct broker_request {
    uint32_t version; /* BROKER_WIRE_VERSION */
    uint32_t kind;    /* enum broker_request_kind */
    uint32_t seq;     /* comes back in the answer */
    int32_t host_pid;
    uint64_t start_ticks;
    /* Addresses of a mapping. put_rows: the first row and the one behind the last. put_thread: the
     * address of the JavaThread, and 0. agent_probe: that of a word, and 0. */
    uint64_t start, end;
    uint64_t period; /* as event_period_valid() takes it */
    /* A set, from 0 to BROKER_SETS_MAX-1. Of attach: enum attach_mode; unwind_limit: frames;
     * put_thread: thread id; config: enum tls_file;
     * sample_start and sample_check: enum event_kind. */
    uint32_t set;
    /* Bit set; attach: bits of enum stream_option, and BROKER_ATTACH_TMP; unmoments: bits of enum
     * moment_group. */
    uint32_t sets;
    uint32_t name_n; /* bytes used of name; the rest is zero */
    uint32_t zero;
    /* A base name, a build-id (bytes), a container id (hex digits), or an event's text. Or numbers
     * of sockets (of 8 bytes each), an offset (of 8 bytes), a struct broker_probes, a
     * struct broker_malloc, or a struct broker_java_thread. */
    uint8_t name[BROKER_NAME_MAX + 1];
};
_Static_assert(sizeof(struct broker_request) == 64 + 256, "broker_request must have no padding");

/* The processes that hold the sockets of a request, which count from 0. */
struct broker_holders {
    uint32_t told;  /* bit set of the sockets: all that hold it are in @items, */
    uint32_t many;  /* but of these: more than SOCKET_HOLDERS_MAX hold it */
    uint32_t count; /* of @items */
    /* socket << BROKER_HOLDER_SOCKET | flags << BROKER_HOLDER_BITS | process */
    uint32_t items[BROKER_HOLDERS_ITEMS];
};

struct broker_failure {
    char msg[ERROR_MSG_MAX];
    char remedy[ERROR_REMEDY_MAX];
};

struct broker_answer {
    uint32_t version;
    uint32_t kind, seq; /* of the request */
    int32_t result;     /* 0, an outcome of broker.h, or -errno */
    uint32_t fd_count;  /* beside this message */
    uint32_t more;      /* 1: another message with further fds follows */
    uint64_t value;     /* ring: bytes; start: the set; attach_ended: as wait(2) says;
                         * cgroup: thousandths of a CPU; namespace_user: the user;
                         * mallocs: calls */
    union {
        struct broker_failure failure; /* result < 0 */
        struct broker_facts facts;
        struct broker_sample_stats stats;
        struct broker_holders holders;
        uint8_t bytes[640];
    };
};
_Static_assert(sizeof(struct broker_answer) == 32 + 640, "broker_answer must have no padding");

/* What a request takes, and what its answer may carry. */
enum broker_field {
    BROKER_FIELD_TARGET = 1,     /* host_pid, start_ticks */
    BROKER_FIELD_RANGE = 2,      /* start, end */
    BROKER_FIELD_BUILD_ID = 4,   /* name */
    BROKER_FIELD_BASENAME = 8,   /* name */
    BROKER_FIELD_CONTAINER = 16, /* name */
    BROKER_FIELD_PERIOD = 32,
    BROKER_FIELD_SET = 64,
    BROKER_FIELD_SETS = 128,
    BROKER_FIELD_PID = 256,       /* host_pid alone */
    BROKER_FIELD_ATTACH = 1024,   /* set: enum attach_mode; sets: as above */
    BROKER_FIELD_ROWS = 512,      /* start, end: at most BROKER_TABLES_ROWS in the table of rows */
    BROKER_FIELD_FRAMES = 2048,   /* set: BROKER_FRAMES_MIN to BROKER_FRAMES_MAX */
    BROKER_FIELD_THREAD = 4096,   /* set: thread id; start: an address */
    BROKER_FIELD_SOCKETS = 8192,  /* name: 1 to SOCKETS_ASKED_MAX numbers */
    BROKER_FIELD_FILE = 16384,    /* set: enum tls_file */
    BROKER_FIELD_SHARED = 65536,  /* name: base names with a slash between them */
    BROKER_FIELD_PROBES = 131072, /* name: struct broker_probes */
    BROKER_FIELD_OFFSET = 262144, /* set: bytes into an object of the VM */
    BROKER_FIELD_JAVA_THREAD = 4194304, /* name: struct broker_java_thread */
    BROKER_FIELD_PLACE = 524288,        /* name: an offset into a file, of 8 bytes */
    BROKER_FIELD_MALLOC = 1048576,      /* name: struct broker_malloc */
    BROKER_FIELD_WORD = 2097152,        /* start: address of a word of the process; 0: none */
    BROKER_FIELD_EVENT = 32768, /* set: enum event_kind; name: its text (event/event_form.h) */
};

struct broker_request_info {
    const char *name;
    unsigned fields;  /* bits of enum broker_field; every other field must be zero */
    uint32_t fds_max; /* of a successful answer, over all its messages */
};

/* NULL for a number that is not on the list. Static. */
const struct broker_request_info *broker_request_info(uint32_t kind);

/* Checks the message @p of @n bytes and copies it. @ret is written for every message of the right
 * size, so that its seq can be answered.
 * Return: 0. -EBADMSG: not a request of this version (size, version). -EOPNOTSUPP: not on the list.
 * -EINVAL: a field is out of range, or set although the request does not take it. */
int broker_request_check(const void *p, size_t n, struct broker_request *ret, struct error *err);

/* Checks the message @p of @n bytes with @fd_count fds beside it as an answer to @req. @fds_before
 * fds came in earlier messages. 0, or -EBADMSG. */
int broker_answer_check(const void *p, size_t n, size_t fd_count, const struct broker_request *req,
                        size_t fds_before, struct broker_answer *ret);
