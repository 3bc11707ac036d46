/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller of a request, as far as it is known, and what it may: its role, and what of the node
 * it sees. Values; thread: any.
 */
#pragma once

#include "access/peer.h"
#include "request/backend.h"

/* What a request needs: each includes those before it. A route without one is for nobody. */
enum role {
    ROLE_UNSET,
    ROLE_HEALTH,  /* whether flamed is well */
    ROLE_VIEW,    /* lists, facts, profiles that are there */
    ROLE_PROFILE, /* to take profiles, from outside of the JVM */
    ROLE_ATTACH,  /* whatever enters a JVM: the agent, its own map */
    ROLE_MANAGE,  /* triggers, what others took, all of the store */
};

/* "view". Literal. */
const char *role_name(enum role role);

enum subject_kind {
    SUBJECT_NOBODY,      /* not known */
    SUBJECT_USER,        /* of this machine, by the kernel's word */
    SUBJECT_TOKEN,       /* shows a token of the configuration */
    SUBJECT_CERTIFICATE, /* has a certificate that the configuration names */
    SUBJECT_BASIC,       /* shows the name and the password of one */
};

struct access_rule;

struct subject {
    enum subject_kind kind;
    uint32_t uid;    /* SUBJECT_USER */
    uint64_t groups; /* SUBJECT_USER: as in struct peer */
    enum role role;
    enum role most; /* SUBJECT_USER: the role that the way it is known gives at most */
    bool limited;   /* it would have more, but for that */
    struct viewer viewer;
    const char *problem; /* SUBJECT_NOBODY: why; literal */
    bool untold;         /* SUBJECT_NOBODY: but perhaps known when asked again */
    const char *name; /* of a token, password or certificate: of its rule, as long as serve lives */
    const struct access_rule *shown; /* that rule; NULL: it is a user's */
};

#define SUBJECT_NAME_BYTES 80 /* a kind, and the whole name of a rule */

/* Gets the subject of a connection that is at @place. Over TCP the kernel's word gives ROLE_ATTACH
 * at most, or with @tcp_manages as much as on the Unix socket. */
void subject_of_peer(const struct peer *p, enum peer_place place, bool tcp_manages,
                     struct subject *ret);

/* Applies a rule of the configuration to @s, a user's own, or of a client with its token. The
 * viewer points into @rule. */
void subject_apply(struct subject *s, const struct access_rule *rule);
/* "user 1001", "token prometheus", "nobody". Return: @buf. */
const char *subject_name(const struct subject *s, char buf[SUBJECT_NAME_BYTES]);

/* "kernel", "token", "nothing": how it is known. Literal. */
const char *subject_known_by(const struct subject *s);
/* "all", "own", "match", "nothing": what of the node it sees. Literal. */
const char *subject_sees(const struct subject *s);

/* Returns whether @s has @needed. False: @err says who he is, what it takes and what to do.
 * @socket: the path of the Unix socket that flamed listens on; "": there is none. */
bool subject_may(const struct subject *s, enum role needed, const char *socket, struct error *err);
