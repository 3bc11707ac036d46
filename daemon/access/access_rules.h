/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules under `access` in the configuration: a role for a user, a group, or clients with a
 * token. The first matching rule wins; without one the built-in defaults apply. Immutable once
 * resolved; thread: any.
 */
#pragma once

#include "access/subject.h"
#include "request/matcher.h"

#define ACCESS_RULES_MAX 64
#define ACCESS_NAME_MAX 63
#define ACCESS_TOKEN_BYTES 32 /* random bytes in a token */
#define ACCESS_HASH_BYTES 32
#define ACCESS_TOKEN_PREFIX "flamed_"
#define ACCESS_TOKEN_TEXT 96 /* longest accepted text of a token */

#define ACCESS_SHOWN_MAX 255 /* bytes of a user's or a certificate's name */
#define ACCESS_BCRYPT_TEXT 60

/* How a rule recognises its clients: by the host's user or group, or by a credential. */
enum access_by { ACCESS_BY_HOST, ACCESS_BY_TOKEN, ACCESS_BY_BASIC, ACCESS_BY_CERTIFICATE };

struct access_rule {
    enum access_by by;
    char name[ACCESS_NAME_MAX + 1];      /* [a-z0-9-]; unique among the rules */
    char user[ACCESS_NAME_MAX + 1];      /* name or number; "": not by user */
    char group[ACCESS_NAME_MAX + 1];     /* name or number; "": not by group */
    uint64_t group_bit;                  /* bit of the group in struct peer; set by
                                          * access_rules_resolve() */
    uint32_t uid;                        /* of `user`; set by access_rules_resolve() */
    uint8_t hash[ACCESS_HASH_BYTES];     /* SHA-256 of the token */
    char shown[ACCESS_SHOWN_MAX + 1];    /* ACCESS_BY_BASIC, ACCESS_BY_CERTIFICATE: the name */
    char bcrypt[ACCESS_BCRYPT_TEXT + 1]; /* ACCESS_BY_BASIC: out of basic_auth_users */
    enum role role;
    bool own;                 /* shows the client's own processes only */
    struct matcher_list seen; /* shows only processes that match all of these; empty: any
                               * process */
    char
        scope[VIEWER_SCOPE_BYTES]; /* of captures made under this rule, a hash of `seen`; "": any.
                                    * Clients that see different processes see different captures */
};

/* Returns whether the rule is for clients with a credential, regardless of their user on this
 * machine. */
static inline bool access_rule_is_shown(const struct access_rule *r)
{
    return r->by != ACCESS_BY_HOST;
}

struct access_rules {
    struct access_rules *next; /* the previous rules, owned by serve/: running requests may still
                                * use them */
    struct access_rule rules[ACCESS_RULES_MAX];
    size_t count;
};

/* Reads the key `access` of the YAML document @text and ignores all other keys. @file appears only
 * in error messages. Returns 0 and *ret (owned; NULL: no such key), -EINVAL with a message, or
 * -ENOMEM. */
int access_rules_parse(struct span text, const char *file, struct access_rules **ret,
                       struct error *err);
struct access_rules *access_rules_free(struct access_rules *r);
/* Completes a rule that has matchers: computes its scope. Refuses matchers that let a process be
 * seen before it is identified, or by a name that it chose. Return: 0, or -EINVAL with @err. */
int access_rule_set_seen(struct access_rule *rule, struct error *err);
/* Looks up the names of users and groups. Call it before the sandbox starts. @peers: collects the
 * groups to report later; NULL: the names are only checked. Return: 0, or -EINVAL with @err. */
int access_rules_resolve(struct access_rules *r, struct peers *peers, struct error *err);
/* Resolves the names from an earlier lookup, for use inside the sandbox. Refuses a name without a
 * result in @before or its predecessors. @before may be NULL. */
int access_rules_inherit(struct access_rules *r, const struct access_rules *before,
                         struct error *err);

/* Returns the first rule for a user of the machine or one of its groups; NULL: none. */
const struct access_rule *access_rules_user(const struct access_rules *r, uint32_t uid,
                                            uint64_t groups);
/* Returns the rule of this name; NULL: none, also where @r is NULL. */
const struct access_rule *access_rules_named(const struct access_rules *r, const char *name);
/* Returns the rule for the token @text; NULL: none. The time taken depends on the length of @text
 * alone. */
const struct access_rule *access_rules_token(const struct access_rules *r, struct span text);
/* Returns the rule of @r with the credential of @rule, which belongs to another set. Equal are the
 * same token, name and password, or certificate. NULL: none. */
const struct access_rule *access_rules_same(const struct access_rules *r,
                                            const struct access_rule *rule);
/* Return whether any rule recognises clients by @by, or by any kind of credential. */
bool access_rules_have(const struct access_rules *r, enum access_by by);
bool access_rules_have_shown(const struct access_rules *r);

/* Makes a new token and its SHA-256 as text. 0 or -errno. */
int access_token_new(char ret[ACCESS_TOKEN_TEXT], char ret_hash[2 * ACCESS_HASH_BYTES + 1]);
