/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbered list of requests that flamed may send to flamed-broker, and the messages on their
 * SOCK_SEQPACKET socket. A request names a thing, never a path. Both messages have a fixed size and
 * hold a struct that depends on the request's kind (requests.def). An answer may have read-only fds
 * beside it. Both ends are of one build, so a message of another version is refused, never
 * interpreted. For each request, docs/privilege.md and the function that serves it (req_*.c) say
 * why it is safe. The checks here are pure functions over a message; thread: any.
 */
#pragma once

#include "base/error.h"
#include "broker_client/broker.h"
#include "broker_client/tables.h"

#define BROKER_WIRE_VERSION 13u      /* to be raised with each change of a struct here */
#define BROKER_NAME_MAX 255          /* bytes of a base name, or of an event's text */
#define BROKER_CONTAINER_ID_BYTES 64 /* hex digits */
/* Fds beside one message; more come in further messages. */
#define BROKER_FDS_MAX 64
#define BROKER_ATTACH_FDS 2u /* the pipe of the result, the memory file */
#define BROKER_WAIT_STATUS_MAX 0xffff
#define BROKER_PID_MAX 4194304  /* the kernel's PID_MAX_LIMIT */
#define BROKER_HOLDER_BITS 24   /* bits of a process's number; above them: */
#define BROKER_HOLDER_SOCKET 27 /* of the socket; the bits between: socket_holder_flag */
#define BROKER_HOLDER_FLAGS ((1u << (BROKER_HOLDER_SOCKET - BROKER_HOLDER_BITS)) - 1)
#define BROKER_HOLDERS_ITEMS 156
#define BROKER_ADDRESS_MAX (UINT64_C(1) << 56)
#define BROKER_TABLES_ROWS 262144u /* limit of rows in one request */
#define BROKER_TABLES_BYTES (BROKER_TABLES_ROWS * sizeof(struct unwind_row))

enum broker_request_kind {
#define REQUEST(number, id, name, type, answer, fds) BROKER_##id = (number),
#include "broker_client/requests.def"
#undef REQUEST
    BROKER_KIND_END,
};

/* ---- the fields of requests: structs without padding; each member `zero` is 0 ---- */

struct no_fields {
    uint64_t zero;
};
/* Names a process. client_call() refuses a request that begins with a quarantined process. */
struct target_fields {
    int32_t host_pid;
    uint32_t zero;
    uint64_t start_ticks;
};
/* An executable mapping of a process. */
struct mapping_fields {
    struct target_fields target;
    uint64_t start, end;
};
struct build_id_fields {
    struct target_fields target;
    uint32_t n; /* bytes of the build-id; the remaining ones are zero */
    uint8_t bytes[BROKER_BUILD_ID_MAX];
};
/* Strings end with a zero byte, and all bytes behind it are zero. */
struct debuglink_fields {
    struct mapping_fields at;
    char name[BROKER_NAME_MAX + 1]; /* a base name */
};
struct shared_fields {
    struct target_fields target;
    char name[BROKER_NAME_MAX + 1]; /* base names with a slash between them */
};
struct container_fields {
    char id[BROKER_CONTAINER_ID_BYTES + 8]; /* a string of hex digits */
};
/* An event: enum event_kind, and its text (event/event_form.h) unless it has a row of its own.
 * @yields 1: samples waits of virtual threads, by probes; only for offcpu and lock. */
struct event_fields {
    uint32_t kind, yields;
    char text[BROKER_NAME_MAX + 1];
};
struct sample_fields {
    uint64_t period; /* in the range of event_period_valid() */
    struct event_fields event;
};
/* Names a set, from 0 to BROKER_SETS_MAX-1. */
struct set_fields {
    uint32_t set, zero;
};
struct sets_fields {
    uint32_t sets, zero; /* bit set */
};
struct pid_fields {
    int32_t host_pid;
    uint32_t zero;
};
struct filter_fields {
    int32_t host_pid;
    uint32_t sets; /* bit set */
};
struct rings_fields {
    uint32_t first, zero; /* first: less than BROKER_CPUS_MAX */
};
/* Names rows of the table, at most BROKER_TABLES_ROWS. */
struct rows_fields {
    uint32_t first, end; /* end: index behind the last row */
};
struct attach_fields {
    struct target_fields target;
    uint32_t mode;      /* enum attach_mode */
    uint32_t options;   /* bits of enum stream_option */
    uint32_t mount_tmp; /* 1: mount over the container's /tmp, where allowed */
    uint32_t zero;
};
struct config_fields {
    uint32_t file;      /* enum tls_file */
    uint32_t path_hash; /* TLS_FILE_PUSHED: tls_path_hash(); else 0 */
};
struct frames_fields {
    uint32_t frames, zero; /* BROKER_FRAMES_MIN to BROKER_FRAMES_MAX */
};
struct thread_fields {
    int32_t host_pid, host_tid;
    uint64_t java_thread; /* address */
};
struct sockets_fields {
    uint32_t count, zero;
    uint64_t net_ns;                  /* the parameter of broker_socket_holders() */
    uint64_t keys[SOCKETS_ASKED_MAX]; /* nonzero up to @count, then 0 */
};
struct probe_put_fields {
    struct mapping_fields at; /* for BROKER_PROBED_AGENT it names a process alone: start and end are
                               * 0 */
    struct broker_probes probes;
};
struct probe_drop_fields {
    int32_t host_pid;
    uint32_t program; /* enum broker_probed */
    uint32_t which;   /* the parameter of broker_probe_drop() */
    uint32_t zero;
};
/* Describes one pass over threads. */
struct look_fields {
    struct looks_pass pass;
};
struct look_process_fields {
    int32_t host_pid;
    uint32_t epoch; /* 0: ends the selection */
};

/* Names threads of a process. Elements from @count on are 0. */
struct peers_fields {
    struct target_fields target;
    uint32_t count, zero;
    struct peers_wanted threads[PEERS_MAX];
};

union broker_fields {
#define REQUEST(number, id, name, type, answer, fds) struct type name;
#include "broker_client/requests.def"
#undef REQUEST
    struct target_fields target; /* for requests that begin with one */
    struct mapping_fields mapping;
    uint8_t bytes[304];
};

struct broker_request {
    uint32_t version; /* BROKER_WIRE_VERSION */
    uint32_t kind;    /* enum broker_request_kind */
    uint32_t seq;     /* returned in the answer */
    uint32_t zero;
    union broker_fields fields; /* bytes behind the struct of the kind are zero */
};
_Static_assert(sizeof(struct broker_request) == 16 + 304, "broker_request must have no padding");

/* ---- answers ---- */

struct no_answer {
    uint64_t unused;
};
struct ring_answer {
    uint64_t bytes;
};
struct set_answer {
    uint32_t set;
};
struct flush_answer {
    uint32_t no, late; /* the results of broker_sample_flush() */
};
struct cgroup_answer {
    uint64_t cpu_limit; /* thousandths of a CPU; 0: none */
    uint64_t frozen;    /* 1: frozen */
};
struct cgroup_files_answer {
    uint64_t cpu_limit, memory_limit, swap_limit; /* as in struct broker_cgroup_files */
    uint32_t files; /* bit set: which of enum broker_cgroup_file are attached, in this order */
    uint32_t zero;
};
struct status_answer {
    uint32_t status; /* as wait(2) returns it */
};
struct user_answer {
    uint32_t uid;
};
struct calls_answer {
    uint64_t calls;
};
struct yields_answer {
    struct yields_counts counts;
};

/* The processes that hold the sockets of a request. A socket's number is its index in the request.
 */
struct broker_holders {
    uint32_t told;  /* bit set of the sockets with all holders in @items, */
    uint32_t many;  /* or, if also set here, with more than SOCKET_HOLDERS_MAX holders */
    uint32_t slow;  /* 1: found by the kernel's iterator over all descriptors */
    uint32_t count; /* of @items */
    /* socket << BROKER_HOLDER_SOCKET | flags << BROKER_HOLDER_BITS | process */
    uint32_t items[BROKER_HOLDERS_ITEMS];
};

/* One element for each thread of the request; the others are 0. */
struct peers_answer {
    struct waiting_peer threads[PEERS_MAX];
};

struct broker_failure {
    char msg[ERROR_MSG_MAX];
    char remedy[ERROR_REMEDY_MAX];
};

union broker_body {
    struct broker_failure failure; /* result < 0 */
#define REQUEST(number, id, name, type, answer, fds) struct answer name;
#include "broker_client/requests.def"
#undef REQUEST
    uint8_t bytes[640];
};

struct broker_answer {
    uint32_t version;
    uint32_t kind, seq; /* of the request */
    int32_t result;     /* 0, an outcome of broker.h, or -errno */
    uint32_t fd_count;  /* number of fds beside this message */
    uint32_t more;      /* 1: another message with further fds will follow */
    union broker_body body;
};
_Static_assert(sizeof(struct broker_answer) == 24 + 640, "broker_answer must have no padding");

struct broker_request_info {
    const char *name;
    uint32_t fields_bytes; /* size of its struct */
    uint32_t fds_max;      /* most fds of a successful answer, over all its messages */
    bool of_target;        /* its fields begin with a struct target_fields */
};

/* Returns the row of request @kind; NULL if there is no such request. Static. */
const struct broker_request_info *broker_request_info(uint32_t kind);

/* Checks the message @p of @n bytes and copies it. Writes @ret for every message of the right size,
 * because the answer needs its seq. Returns 0 or -errno. -EBADMSG: the size or version is wrong.
 * -EOPNOTSUPP: there is no such request. -EINVAL: a field is out of range, or a byte outside the
 * request's struct is set. */
int broker_request_check(const void *p, size_t n, struct broker_request *ret, struct error *err);

/* Checks the message @p of @n bytes with @fd_count fds beside it as an answer to @req. @fds_before:
 * number of fds in earlier messages. Returns 0 or -EBADMSG. */
int broker_answer_check(const void *p, size_t n, size_t fd_count, const struct broker_request *req,
                        size_t fds_before, struct broker_answer *ret);
