/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Basic authentication: the Authorization header, the bcrypt hashes of the configuration, and a
 * cache of correct passwords. With the cache, a client that asks every second costs one bcrypt, not
 * one per request. Thread: any.
 */
#pragma once

#include "access/access_rules.h"

#define BASIC_PASSWORD_MAX 256
#define BASIC_COST_MAX 14 /* of bcrypt; 2^14 rounds take about a second */

struct basic {
    char name[ACCESS_NAME_MAX + 1];
    char password[BASIC_PASSWORD_MAX + 1];
};

/* Returns whether @header has the scheme @name, "basic" or "bearer", in any case. If so, *ret_rest
 * is the text after the scheme. Empty: a client that has no credential, though it meant to. */
bool authorization_is(struct span header, const char *name, struct span *ret_rest);
/* Decodes the text after "Basic": base64 of NAME:PASSWORD. Returns false if the text is malformed
 * or too long; then *ret is untouched. */
bool basic_parse(struct span rest, struct basic *ret);

/* Returns whether @hash is a supported bcrypt hash: $2a$, $2b$ or $2y$, with a cost of at most
 * BASIC_COST_MAX. */
bool basic_hash_valid(struct span hash);
/* Reads `basic_auth_users` of the YAML document @text, and gives each hash to the rule of that
 * name. Refuses a user without a rule and a rule without a user. Return: 0, or -errno with @err. */
int basic_users_parse(struct span text, const char *file, struct access_rules *rules,
                      struct error *err);

struct passwords;

/* Returns a new cache; NULL: no memory or no random bytes. */
struct passwords *passwords_new(void);
struct passwords *passwords_free(struct passwords *p);
/* Returns the rule for @b if the cache has its password; NULL: passwords_check() must decide. Takes
 * a few microseconds. */
const struct access_rule *passwords_known(struct passwords *p, const struct access_rules *rules,
                                          const struct basic *b);
/* Returns the rule for @b; NULL: wrong name or password. Takes as long as one bcrypt, also for an
 * unknown name. */
const struct access_rule *passwords_check(struct passwords *p, const struct access_rules *rules,
                                          const struct basic *b);
