/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between flamed and flamed-push, over a SOCK_SEQPACKET socket. flamed sends the words
 * of a target and the bodies for it, in pieces. flamed-push answers each body that arrived whole.
 * Both ends are of one build, and still check what they read.
 */
#pragma once

#include "base/span.h"

#define PUSHER_FD 3 /* the socket's number in flamed-push */
#define PUSHER_TARGETS_MAX 24
#define PUSHER_PORTS_MAX 48 /* ports of targets and proxies, passed as arguments */
#define PUSHER_PIECE_BYTES ((size_t)32 << 10)
#define PUSHER_BODY_MAX ((uint32_t)8 << 20)
#define PUSHER_TEXT_BYTES 160

enum pusher_kind {
    PUSHER_READY = 1, /* from flamed-push when it starts or starts again: it knows no target */
    PUSHER_TARGET,    /* the words of a target (PUSHER_WORDS); they replace earlier ones */
    PUSHER_BODY,      /* bytes to send to a target that has no body under way */
    PUSHER_ANSWER,    /* from flamed-push: the outcome, a struct pusher_answer */
};

/* Each word is "key=value" and a NUL. Keys: url, header (repeatable), user, password, proxy,
 * no_proxy, insecure, ca, cert, key (the last three in PEM), plain. "plain=1": the body of a
 * successful answer is ignored. */

struct pusher_head {
    uint32_t kind;   /* enum pusher_kind */
    uint32_t target; /* the target's number, below PUSHER_TARGETS_MAX */
    uint32_t id;     /* of the body, or of the words */
    uint32_t total;  /* bytes of all pieces together; a piece follows its head */
    uint32_t offset; /* offset of the piece in the whole */
    uint32_t zero;
};

/* The reason why the engine has not answered. */
enum pusher_failure {
    PUSHER_ANSWERED,
    PUSHER_UNRESOLVED, /* the host's or the proxy's name has no address */
    PUSHER_UNREACHED,  /* connection refused or lost */
    PUSHER_UNTRUSTED,  /* the check of TLS certificates failed */
    PUSHER_TIMED_OUT,
    PUSHER_UNSENT, /* flamed-push could not begin to send, or was restarted */
};

struct pusher_answer {
    uint32_t failure; /* enum pusher_failure */
    uint32_t status;  /* status code of HTTP */
    uint32_t retry_after_s;
    uint32_t zero;
    uint64_t rejected;            /* profiles refused within an accepted body */
    char text[PUSHER_TEXT_BYTES]; /* printable ASCII: the reason; "": none */
};
