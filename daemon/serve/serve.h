/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface of serve/: the HTTP service of the API contract, on libmicrohttpd. Parses requests,
 * checks access, calls the backend, renders on worker threads, answers. Includes no sampling layer.
 */
#pragma once

#include "access/peer.h"
#include "base/error.h"
#include "base/span.h"
#include "request/backend.h"

struct access_rules;
struct serve;
struct tls;

struct serve_opts {
    const int *listen_fds; /* listening sockets, which serve_start() takes */
    size_t listen_count;
    uint32_t listen_tls; /* bits of the listening sockets that speak TLS */
    struct tls *tls;     /* taken if serve_start() succeeds; NULL: no TLS */
    const char *version;
    const char *host;            /* name of this machine */
    unsigned connections_max;    /* limit of one caller, 128 by default; limit of all callers:
                                    request/caller.h */
    unsigned captures_max;       /* limit of one caller at once, 64 by default */
    size_t answer_max_bytes;     /* 64 MiB by default */
    unsigned idle_timeout_s;     /* a client that neither sends nor reads for this long is
                                  * disconnected */
    struct access_rules *access; /* taken if serve_start() succeeds; NULL: none */
    struct peers *peers; /* identifies clients; borrowed until serve_stop(); NULL: no client is
                          * identified */
    bool mcp;            /* enables POST /mcp */
    bool tcp_manages;    /* over TCP, identified users keep their full role */
    const char *const *allowed_hosts; /* borrowed until serve_stop(); see serve/origin.h */
    size_t allowed_host_count;
    int audit_fd, journal_fd; /* for audit_new(); taken; 0 or -1: none */
};

/* Starts the service and its threads. 0 or -errno with @err. */
int serve_start(const struct serve_opts *o, const struct api_backend *be, struct serve **ret,
                struct error *err);
/* Replaces the file of the audit by @fd, which it takes. */
void serve_set_audit_file(struct serve *s, int fd);
/* Resources that are limited per caller. */
enum quota {
    QUOTA_CONNECTIONS,
    QUOTA_WAITING,
    QUOTA_STREAMS,
    QUOTA_CAPTURES,
    QUOTA_ATTACHES,
    QUOTA_BEGUN,
    QUOTA_RENDERING,
    QUOTA_ANSWERS,
    QUOTA_ATTEMPTS,
    QUOTA_COUNT
};

/* Counters since the start. Any thread. */
struct serve_stats {
    uint64_t connections, requests, refused_access, clients_left, captures, captures_refused;
    uint64_t quota_refused[QUOTA_COUNT]; /* requests of callers that had reached the limit */
    uint64_t evicted;                    /* connections closed to make room for newer ones */
    uint64_t timed_out; /* connections too slow to send a request or read its answer */
    size_t connections_now, captures_now, streams_now;
    uint64_t looks, looks_late; /* searches for socket holders; incomplete ones */
    uint64_t looks_slow;        /* those by the kernel's iterator over all descriptors */
    uint64_t looks_fast;        /* those that found all without it */
    uint64_t callers_untold;    /* requests answered with 503 because their caller was not
                                 * identified in time */
    size_t guests_now; /* connections of callers beyond their share, for health routes only */
};
void serve_stats(struct serve *s, struct serve_stats *ret);

/* Replaces the rules in force by @rules (resolved; NULL: none), which it takes. Thread: one. */
void serve_set_access(struct serve *s, struct access_rules *rules);
/* Uses @tls, which it takes, for new connections; open ones keep theirs. Thread: any. */
void serve_set_tls(struct serve *s, struct tls *tls);
/* Returns the rules in force, valid until serve_stop(). */
const struct access_rules *serve_access(const struct serve *s);

/* Parts of the configuration that listening beyond loopback requires. */
struct listen_rights {
    bool tls, authentication;
};

/* Opens a listening socket for @address: "HOST:PORT", "[HOST6]:PORT", either after "https://", or
 * "unix:PATH". HOST is "localhost" or numeric; with port 0 the kernel chooses one. Replaces a stale
 * Unix socket. Its file gets mode 0660 and, if it exists and we may, the group `flamed`. Call
 * before privileges are dropped. Return: 0 with a socket that the caller owns, or -errno with @err;
 * -EACCES: the address is not loopback and @rights do not suffice. */
int listen_open(const char *address, const struct listen_rights *rights, int *ret_fd,
                struct error *err);
/* Opens the other loopback address, 127.0.0.1 or [::1], with the same port, for @fds[@of]. A
 * program that listens there would get requests to localhost, with their credentials. Return: 0
 * with a socket that the caller owns; -errno with @err: another program listens there. LISTEN_NONE:
 * @fds[@of] is on another address, the machine lacks the other one, or it is among the @count
 * @fds. */
#define LISTEN_NONE 1
int listen_open_twin(const int *fds, size_t count, size_t of, int *ret_fd, struct error *err);
/* Returns whether @fd listens on @address; port 0 matches any. */
bool listen_is_at(int fd, const char *address);
/* Checks whether listen_open() accepts @address; opens nothing. 0, or -errno with @err. */
int listen_check(const char *address, const struct listen_rights *rights, struct error *err);
/* Returns whether @address begins with "https://". */
bool listen_wants_tls(const char *address);
#define LISTEN_PATH_BYTES 109 /* path of struct sockaddr_un and NUL */
/* Returns whether @fd is a Unix socket. *ret: its path, or "". */
bool listen_unix_path(int fd, char ret[LISTEN_PATH_BYTES]);
/* Returns whether other machines can reach the listening socket @fd. */
bool listen_is_public(int fd);

/* Checks whether @host is valid in allowed_hosts: a host name or an address, without scheme, port
 * and path. 0, or -EINVAL with @err. */
int origin_host_check(const char *host, struct error *err);

/* Returns the OpenAPI document, made at the first call: JSON text that lives as long as the
 * program. SPAN_NULL: out of memory. */
struct span serve_openapi(void);

/* Stops the service: refuses new requests, ends and answers running captures. Returns when all
 * threads have ended, after at most 5 s. */
struct serve *serve_stop(struct serve *s);
