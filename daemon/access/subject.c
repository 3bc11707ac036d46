/* SPDX-License-Identifier: Apache-2.0 */
#include "access/subject.h"

#include "access/access_rules.h"

static const char NOT_OURS[] = "the connection may not come from a user of this machine";

static const char UNTOLD[] =
    "flamed has not looked up yet which process holds the other end of the connection";

const char *role_name(enum role role)
{
    static const char *const NAMES[] = {
        [ROLE_UNSET] = "none",      [ROLE_HEALTH] = "health", [ROLE_VIEW] = "view",
        [ROLE_PROFILE] = "profile", [ROLE_ATTACH] = "attach", [ROLE_MANAGE] = "manage",
    };

    return NAMES[role];
}

static void set_nobody(const char *problem, struct subject *ret)
{
    *ret = (struct subject){
        .kind = SUBJECT_NOBODY, .uid = UINT32_MAX, .role = ROLE_HEALTH, .problem = problem
    };
}

/* Limits @s to the user's own processes and captures. */
static void set_own(struct subject *s)
{
    s->viewer = (struct viewer){ .uid = s->uid };
    snprintf(s->viewer.scope, sizeof(s->viewer.scope), "user %u", s->uid);
}

/* Gives @s the role @role, capped by how its identity is known. */
static void set_role(struct subject *s, enum role role)
{
    s->limited = s->kind == SUBJECT_USER && role > s->most;
    s->role = s->limited ? s->most : role;
}

void subject_of_peer(const struct peer *p, enum peer_place place, bool tcp_manages,
                     struct subject *ret)
{
    if (!p->known) {
        set_nobody(p->problem, ret);
        return;
    }
    if (place != PEER_HOST) {
        set_nobody(p->refusal ? p->refusal : place == PEER_UNTOLD ? UNTOLD : NOT_OURS, ret);
        ret->untold = place == PEER_UNTOLD;
        return;
    }
    *ret = (struct subject){ .kind = SUBJECT_USER,
                             .uid = p->uid,
                             .groups = p->groups,
                             .most = p->tcp && !tcp_manages ? ROLE_ATTACH : ROLE_MANAGE };
    if (p->member) {
        set_role(ret, ROLE_MANAGE);
        ret->viewer.whole = true;
        return;
    }
    ret->role = ROLE_PROFILE;
    set_own(ret);
}

void subject_apply(struct subject *s, const struct access_rule *rule)
{
    static const enum subject_kind KINDS[] = {
        [ACCESS_BY_HOST] = SUBJECT_USER,
        [ACCESS_BY_TOKEN] = SUBJECT_TOKEN,
        [ACCESS_BY_BASIC] = SUBJECT_BASIC,
        [ACCESS_BY_CERTIFICATE] = SUBJECT_CERTIFICATE,
    };

    if (rule->by != ACCESS_BY_HOST)
        *s = (struct subject){
            .kind = KINDS[rule->by], .uid = UINT32_MAX, .name = rule->name, .shown = rule
        };
    set_role(s, rule->role);
    s->viewer = (struct viewer){ .whole = !rule->own && !rule->seen.count };
    if (rule->own)
        set_own(s);
    if (rule->seen.count) {
        s->viewer.seen = &rule->seen;
        memcpy(s->viewer.scope, rule->scope, sizeof(s->viewer.scope));
    }
}

const char *subject_name(const struct subject *s, char buf[SUBJECT_NAME_BYTES])
{
    if (s->kind == SUBJECT_TOKEN)
        snprintf(buf, SUBJECT_NAME_BYTES, "token %s", s->name);
    else if (s->kind == SUBJECT_CERTIFICATE)
        snprintf(buf, SUBJECT_NAME_BYTES, "certificate %s", s->name);
    else if (s->kind == SUBJECT_BASIC)
        snprintf(buf, SUBJECT_NAME_BYTES, "basic %s", s->name);
    else if (s->kind == SUBJECT_USER)
        snprintf(buf, SUBJECT_NAME_BYTES, "user %u", s->uid);
    else
        snprintf(buf, SUBJECT_NAME_BYTES, "nobody");
    return buf;
}

const char *subject_known_by(const struct subject *s)
{
    switch (s->kind) {
    case SUBJECT_TOKEN:
        return "token";
    case SUBJECT_BASIC:
        return "password";
    case SUBJECT_CERTIFICATE:
        return "certificate";
    case SUBJECT_USER:
        return "kernel";
    case SUBJECT_NOBODY:
        break;
    }
    return "nothing";
}

const char *subject_sees(const struct subject *s)
{
    return s->role < ROLE_VIEW ? "nothing"
           : s->viewer.whole   ? "all"
           : s->viewer.seen    ? "match"
                               : "own";
}

/* ---- refusals ---- */

#define NO_SOCKET "flamed has no Unix socket: listen takes unix:PATH"

static void refuse_nobody(const struct subject *s, const char *socket, struct error *err)
{
    error_set(err, -EACCES, "flamed does not know the caller: %s", s->problem);
    if (socket[0])
        error_remedy(err,
                     "ask from this machine: curl --unix-socket %s as root or in group flamed, or "
                     "TCP on localhost as a user of it. /healthz is open to all",
                     socket);
    else
        error_remedy(err, "ask from this machine, by TCP on localhost as a user of it; " NO_SOCKET
                          ". /healthz is open to all");
}

static void refuse_over_tcp(const struct subject *s, enum role needed, const char *socket,
                            struct error *err)
{
    char name[SUBJECT_NAME_BYTES];

    error_set(err, -EACCES,
              "%s may not do this over TCP: it takes the role '%s', and the user of a TCP "
              "connection has the role '%s' at most",
              subject_name(s, name), role_name(needed), role_name(s->role));
    if (socket[0])
        error_remedy(err,
                     "ask on the Unix socket (curl --unix-socket %s), with a token of that role, "
                     "or after flamed --login; or set tcp_manage: yes in flamed.yaml",
                     socket);
    else
        error_remedy(
            err,
            "ask with a token of that role, or set tcp_manage: yes in flamed.yaml. " NO_SOCKET);
}

bool subject_may(const struct subject *s, enum role needed, const char *socket, struct error *err)
{
    char name[SUBJECT_NAME_BYTES];

    if (needed != ROLE_UNSET && s->role >= needed)
        return true;
    if (s->kind == SUBJECT_NOBODY) {
        refuse_nobody(s, socket, err);
        return false;
    }
    if (s->limited && s->most < needed) {
        refuse_over_tcp(s, needed, socket, err);
        return false;
    }
    error_set(err, -EACCES, "%s may not do this: it takes the role '%s', and the role here is '%s'",
              subject_name(s, name), role_name(needed), role_name(s->role));
    error_remedy(err, "ask as root or as a member of group flamed (adduser NAME flamed), or give "
                      "it the role under access: in flamed.yaml");
    return false;
}
