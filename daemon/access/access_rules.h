/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the configuration says under `access`: a role for a user or a group of the machine, or for
 * clients with a token. The first rule that fits counts, before what holds without any. Immutable
 * once resolved; thread: any.
 */
#pragma once

#include "access/subject.h"
#include "request/matcher.h"

#define ACCESS_RULES_MAX 64
#define ACCESS_NAME_MAX 63
#define ACCESS_TOKEN_BYTES 32 /* random ones of a token */
#define ACCESS_HASH_BYTES 32
#define ACCESS_TOKEN_PREFIX "flamed_"
#define ACCESS_TOKEN_TEXT 96 /* the longest text that is taken for one */

#define ACCESS_SHOWN_MAX 255 /* a name that is shown, of a user or a certificate */
#define ACCESS_BCRYPT_TEXT 60

/* Whom a rule is for: a user or a group of the machine, or who shows something. */
enum access_by { ACCESS_BY_HOST, ACCESS_BY_TOKEN, ACCESS_BY_BASIC, ACCESS_BY_CERTIFICATE };

struct access_rule {
    enum access_by by;
    char name[ACCESS_NAME_MAX + 1];      /* [a-z0-9-]; no two rules have the same */
    char user[ACCESS_NAME_MAX + 1];      /* name or number; "": it is a group's or a token's */
    char group[ACCESS_NAME_MAX + 1];     /* the same; "": it is a user's or a token's */
    uint64_t group_bit;                  /* of struct peer, once resolved */
    uint32_t uid;                        /* of the user, once resolved */
    uint8_t hash[ACCESS_HASH_BYTES];     /* SHA-256 of the token */
    char shown[ACCESS_SHOWN_MAX + 1];    /* ACCESS_BY_BASIC, ACCESS_BY_CERTIFICATE: the name */
    char bcrypt[ACCESS_BCRYPT_TEXT + 1]; /* ACCESS_BY_BASIC: out of basic_auth_users */
    enum role role;
    bool own;                       /* its own processes alone */
    struct matcher_list seen;       /* what matches all of these alone; empty: any */
    char scope[VIEWER_SCOPE_BYTES]; /* of captures by it; "": any. It names the matchers, so that
                                     * who sees other processes sees other captures */
};

/* Returns whether it is for clients that show something, whatever user of this machine they are. */
static inline bool access_rule_is_shown(const struct access_rule *r)
{
    return r->by != ACCESS_BY_HOST;
}

struct access_rules {
    struct access_rules *next; /* of serve's: those before it, which requests may still use */
    struct access_rule rules[ACCESS_RULES_MAX];
    size_t count;
};

/* Reads `access` out of the YAML document @text and passes by every other key. @file is only named
 * in sentences. 0 and *ret (owned; NULL: there is none); -EINVAL with a sentence; -ENOMEM.
 */
int access_rules_parse(struct span text, const char *file, struct access_rules **ret,
                       struct error *err);
struct access_rules *access_rules_free(struct access_rules *r);
/* Completes a rule with matchers: refuses those that would let something be seen that is not known
 * yet, and names what is seen. 0, or -EINVAL with @err. */
int access_rule_set_seen(struct access_rule *rule, struct error *err);
/* Looks the names of users and groups up: before the sandbox alone. @peers: shall tell of the
 * groups; NULL: it is only checked. 0, or -EINVAL with @err. */
int access_rules_resolve(struct access_rules *r, struct peers *peers, struct error *err);
/* Does the same from what was looked up before: names that @before (NULL: none) and those before it
 * do not have are refused. */
int access_rules_inherit(struct access_rules *r, const struct access_rules *before,
                         struct error *err);

/* Returns the first rule for a user of the machine or one of its groups; NULL: none. */
const struct access_rule *access_rules_user(const struct access_rules *r, uint32_t uid,
                                            uint64_t groups);
/* Returns the rule of this name; NULL: none, also where @r is NULL. */
const struct access_rule *access_rules_named(const struct access_rules *r, const char *name);
/* Returns the rule for the token @text; NULL: none. Takes the same time for all that are of one
 * length. */
const struct access_rule *access_rules_token(const struct access_rules *r, struct span text);
/* Returns the rule for what @rule, of other rules, is shown for: the same token, name with
 * password, or certificate; NULL: none. */
const struct access_rule *access_rules_same(const struct access_rules *r,
                                            const struct access_rule *rule);
/* Returns whether there is a rule of this kind; one for who shows something. */
bool access_rules_have(const struct access_rules *r, enum access_by by);
bool access_rules_have_shown(const struct access_rules *r);

/* Makes a new token and its SHA-256 as text. 0 or -errno. */
int access_token_new(char ret[ACCESS_TOKEN_TEXT], char ret_hash[2 * ACCESS_HASH_BYTES + 1]);
