/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names with passwords: the Authorization header with them, the bcrypt hashes of the configuration,
 * and the answers that were right. So a client that asks each second costs one bcrypt and not one
 * each time. Thread: any.
 */
#pragma once

#include "access/access_rules.h"

#define BASIC_PASSWORD_MAX 256
#define BASIC_COST_MAX 14 /* of bcrypt: 2^14 rounds take a second */

struct basic {
    char name[ACCESS_NAME_MAX + 1];
    char password[BASIC_PASSWORD_MAX + 1];
};

/* Returns whether @header begins with the scheme @name, "basic" or "bearer", in any case; then the
 * rest. */
bool authorization_is(struct span header, const char *name, struct span *ret_rest);
/* Reads what follows "Basic": base64 of NAME:PASSWORD. False: it is none, or longer than is taken;
 * then *ret is untouched. */
bool basic_parse(struct span rest, struct basic *ret);

/* Returns whether @hash is one of bcrypt that flamed takes: $2a$, $2b$ or $2y$, at most
 * BASIC_COST_MAX. */
bool basic_hash_valid(struct span hash);
/* Reads `basic_auth_users` out of the YAML document @text, and gives each hash to the rule for that
 * name. A user without a rule and a rule without a user are refused. 0, or -errno with @err. */
int basic_users_parse(struct span text, const char *file, struct access_rules *rules,
                      struct error *err);

struct passwords;

/* NULL: out of memory, or of random bytes. */
struct passwords *passwords_new(void);
struct passwords *passwords_free(struct passwords *p);
/* Returns the rule for @b where it was right before; NULL: that has to be asked. Takes some us. */
const struct access_rule *passwords_known(struct passwords *p, const struct access_rules *rules,
                                          const struct basic *b);
/* Returns the rule for @b; NULL: the name or the password is wrong. Takes as long as bcrypt does,
 * also for a name that there is not. */
const struct access_rule *passwords_check(struct passwords *p, const struct access_rules *rules,
                                          const struct basic *b);
