/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of serve/: the HTTP service of the API contract, on libmicrohttpd. Parses requests,
 * checks access, asks the backend, renders on worker threads, answers. Includes no sampling layer.
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
    const int *listen_fds; /* listening sockets, taken over */
    size_t listen_count;
    uint32_t listen_tls; /* of them, those that speak TLS: bits */
    struct tls *tls;     /* taken over by serve_start() where that goes well; NULL: no TLS */
    const char *version;
    const char *host;            /* the name of this machine */
    unsigned connections_max;    /* 128 of one caller; of all: request/caller.h */
    unsigned captures_max;       /* 64 of one caller at once */
    size_t answer_max_bytes;     /* 64 MiB */
    unsigned idle_timeout_s;     /* a client that sends or reads nothing for this long is cut off */
    struct access_rules *access; /* taken over by serve_start() where that goes well; NULL: none */
    struct peers *peers; /* who is at the other end, borrowed until serve_stop(); NULL: nobody */
    bool mcp;            /* POST /mcp answers */
    bool tcp_manages;    /* a user that the kernel names has as much over TCP as elsewhere */
    const char *const *allowed_hosts; /* borrowed until serve_stop(); see serve/origin.h */
    size_t allowed_host_count;
    int audit_fd, journal_fd; /* of audit_new(); taken; 0 or -1: none */
};

/* Starts the threads. 0 or -errno with @err. */
int serve_start(const struct serve_opts *o, const struct api_backend *be, struct serve **ret,
                struct error *err);
/* Takes @fd, a file to append who did what to, in place of the one before. */
void serve_set_audit_file(struct serve *s, int fd);
/* What one caller may have a limited number of. */
enum quota {
    QUOTA_CONNECTIONS,
    QUOTA_WAITING,
    QUOTA_STREAMS,
    QUOTA_CAPTURES,
    QUOTA_ATTACHES,
    QUOTA_BEGUN,
    QUOTA_RENDERING,
    QUOTA_ATTEMPTS,
    QUOTA_COUNT
};

/* What happened so far. Any thread. */
struct serve_stats {
    uint64_t connections, requests, refused_access, clients_left, captures, captures_refused;
    uint64_t quota_refused[QUOTA_COUNT]; /* requests of callers who had as many as one may have */
    uint64_t evicted;                    /* connections cut off to make room for newer ones */
    uint64_t timed_out; /* connections that took too long to send a request or to read its answer */
    size_t connections_now, captures_now, streams_now;
    uint64_t looks, looks_late; /* at whose connections are; those that did not tell it of all */
    uint64_t callers_untold;    /* requests answered with 503 since it was not told in time */
    size_t guests_now;          /* connections of callers who had their share: for health alone */
};
void serve_stats(struct serve *s, struct serve_stats *ret);

/* Takes @rules (resolved; NULL: none) for those before. Thread: one. */
void serve_set_access(struct serve *s, struct access_rules *rules);
/* Takes @tls for connections to come; those that there are keep theirs. Thread: any. */
void serve_set_tls(struct serve *s, struct tls *tls);
/* Those in force; valid until serve_stop(). */
const struct access_rules *serve_access(const struct serve *s);

/* What the configuration has of what an address that is not loopback takes. */
struct listen_rights {
    bool tls, authentication;
};

/* Opens a listening socket for @address: "HOST:PORT", "[HOST6]:PORT", either after "https://", or
 * "unix:PATH". HOST is "localhost" or numeric; port 0 lets the kernel choose. A stale Unix socket
 * is replaced, its file gets mode 0660 and, where there is one and we may, the group `flamed`. Call
 * before privileges are dropped. 0 with a socket that the caller owns, or -errno with @err: -EACCES
 * where the address is not loopback and @rights do not suffice. */
int listen_open(const char *address, const struct listen_rights *rights, int *ret_fd,
                struct error *err);
/* Opens the other one of 127.0.0.1 and [::1], with the same port, for @fds[@of]. A program that
 * listens there gets the requests of clients that say localhost, with what they show. 0 with a
 * socket that the caller owns; -errno with @err: another program listens there. LISTEN_NONE:
 * @fds[@of] is on another address, the machine has no such one, or it is one of the @count @fds. */
#define LISTEN_NONE 1
int listen_open_twin(const int *fds, size_t count, size_t of, int *ret_fd, struct error *err);
/* Returns whether @fd listens on @address, whose port may be 0. */
bool listen_is_at(int fd, const char *address);
/* Checks whether listen_open() takes @address; opens nothing. 0, or -errno with @err. */
int listen_check(const char *address, const struct listen_rights *rights, struct error *err);
/* Returns whether it begins with "https://". */
bool listen_wants_tls(const char *address);
#define LISTEN_PATH_BYTES 109 /* of struct sockaddr_un, and a NUL */
/* Returns whether @fd is a Unix socket. Then *ret is its path, else "". */
bool listen_unix_path(int fd, char ret[LISTEN_PATH_BYTES]);
/* Returns whether others than this machine reach the listening socket @fd. */
bool listen_is_public(int fd);

/* Checks whether @host can be one of allowed_hosts: a host name or an address, without scheme, port
 * and path. 0, or -EINVAL with @err. */
int origin_host_check(const char *host, struct error *err);

/* Makes the OpenAPI document at its first call. Return: JSON text that lives as long as the
 * program; SPAN_NULL: there is no memory for it. */
struct span serve_openapi(void);

/* Stops: no new requests; captures under way are ended and answered; returns when all threads are
 * gone, at most 5 s later. */
struct serve *serve_stop(struct serve *s);
