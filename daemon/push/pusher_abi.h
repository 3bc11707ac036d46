/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flamed and flamed-push send each other, over a SOCK_SEQPACKET socket. flamed sends what a
 * target is and what it gets, in pieces; flamed-push answers each body that came whole. Both ends
 * are of one build, and check what they read all the same.
 */
#pragma once

#include "base/span.h"

#define PUSHER_FD 3 /* of flamed-push: its socket */
#define PUSHER_TARGETS_MAX 24
#define PUSHER_PORTS_MAX 48 /* of targets and of their proxies, in its arguments */
#define PUSHER_PIECE_BYTES ((size_t)32 << 10)
#define PUSHER_BODY_MAX ((uint32_t)8 << 20)
#define PUSHER_TEXT_BYTES 160

enum pusher_kind {
    PUSHER_READY = 1, /* from flamed-push, when it starts or starts again: it knows no target */
    PUSHER_TARGET,    /* words of a target, as PUSHER_WORDS says; replaces the one before */
    PUSHER_BODY,      /* bytes to send to a target, which has nothing under way */
    PUSHER_ANSWER,    /* from flamed-push: how that went; struct pusher_answer follows */
};

/* Words are "key=value" with a NUL behind each: url, header (repeatable), user,
 * password, proxy, no_proxy, insecure, ca, cert, key (the last three in PEM). "plain=1": what it
 * answers with success says nothing. */

struct pusher_head {
    uint32_t kind;   /* enum pusher_kind */
    uint32_t target; /* its number, below PUSHER_TARGETS_MAX */
    uint32_t id;     /* of the body, or of the words */
    uint32_t total;  /* bytes of all pieces; those of one piece follow this head */
    uint32_t offset; /* of the piece */
    uint32_t zero;
};

/* Why there was no answer of the engine. */
enum pusher_failure {
    PUSHER_ANSWERED,
    PUSHER_UNRESOLVED, /* the name of the host or of the proxy */
    PUSHER_UNREACHED,  /* connection refused or lost */
    PUSHER_UNTRUSTED,  /* TLS */
    PUSHER_TIMED_OUT,
    PUSHER_UNSENT, /* flamed-push could not begin, or was started again */
};

struct pusher_answer {
    uint32_t failure; /* enum pusher_failure */
    uint32_t status;  /* of HTTP */
    uint32_t retry_after_s;
    uint32_t zero;
    uint64_t rejected;            /* what the engine refused of a body that it took */
    char text[PUSHER_TEXT_BYTES]; /* printable ASCII; "" or why */
};
