/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller of a request and its rights: its role, and the part of the node that it sees. Values;
 * thread: any.
 */
#pragma once

#include "access/peer.h"
#include "request/backend.h"

/* Role that a route requires; each includes the earlier ones. ROLE_UNSET admits no caller. */
enum role {
    ROLE_UNSET,
    ROLE_HEALTH,  /* health of flamed */
    ROLE_VIEW,    /* lists, facts and existing profiles */
    ROLE_PROFILE, /* taking profiles from outside of the JVM */
    ROLE_ATTACH,  /* actions that enter a JVM: the agent, the JVM's own map */
    ROLE_MANAGE,  /* triggers, captures of other users, the whole store */
};

/* Returns the name of @role, such as "view". Literal. */
const char *role_name(enum role role);

enum subject_kind {
    SUBJECT_NOBODY,      /* unknown */
    SUBJECT_USER,        /* a user of this machine; the kernel reports the user */
    SUBJECT_TOKEN,       /* has a token of the configuration */
    SUBJECT_CERTIFICATE, /* has a certificate that the configuration names */
    SUBJECT_BASIC,       /* has a name and password of the configuration */
};

struct access_rule;

struct subject {
    enum subject_kind kind;
    uint32_t uid;    /* SUBJECT_USER */
    uint64_t groups; /* SUBJECT_USER: as in struct peer */
    enum role role;
    enum role most; /* SUBJECT_USER: the highest role that its connection allows */
    bool limited;   /* `most` lowered its role */
    struct viewer viewer;
    const char *problem; /* SUBJECT_NOBODY: the reason; literal */
    bool untold;         /* SUBJECT_NOBODY: a later request may identify it */
    const char
        *name; /* of the rule behind a token, password or certificate; valid as long as serve */
    const struct access_rule *shown; /* that rule; NULL: the subject is a user */
};

#define SUBJECT_NAME_BYTES 80 /* a kind, and the longest name of a rule */

/* Makes the subject of a connection judged as @place. A user on TCP gets at most ROLE_ATTACH, or
 * with @tcp_manages as much as on the Unix socket. */
void subject_of_peer(const struct peer *p, enum peer_place place, bool tcp_manages,
                     struct subject *ret);

/* Applies a rule of the configuration to @s, a user's or a token's subject. The viewer points into
 * @rule. */
void subject_apply(struct subject *s, const struct access_rule *rule);
/* Formats "user 1001", "token prometheus" or "nobody". Returns @buf. */
const char *subject_name(const struct subject *s, char buf[SUBJECT_NAME_BYTES]);

/* Returns how the identity is known: "kernel", "token", "nothing". Literal. */
const char *subject_known_by(const struct subject *s);
/* Returns which processes @s sees: "all", "own", "match", "nothing". Literal. */
const char *subject_sees(const struct subject *s);

/* Returns whether @s has the role @needed. If not, @err names the caller, the missing role and a
 * remedy. @socket: path of flamed's Unix socket; "": none. */
bool subject_may(const struct subject *s, enum role needed, const char *socket, struct error *err);
