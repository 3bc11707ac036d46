/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/access_rules.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pwd.h>
#include <sys/random.h>

#define TOKEN_PREFIX "flamed_"

/* ---- users ---- */

static bool take_number(const char *user, uint32_t *ret)
{
    uint64_t v;

    if (!span_parse_dec(span_of(user), &v) || v >= UINT32_MAX)
        return false;
    *ret = (uint32_t)v;
    return true;
}

static int refuse_user(const struct access_rule *rule, const char *why, struct error *err)
{
    error_remedy(err, "give the number of the user in place of the name");
    return error_set(err, -EINVAL, "access: %s: %s '%s'", rule->name, why, rule->user);
}

int access_rules_resolve(struct access_rules *r, struct error *err)
{
    char text[4096];

    for (size_t i = 0; r && i < r->count; i++) {
        struct access_rule *rule = &r->rules[i];
        struct passwd entry, *found = NULL;

        if (!rule->user[0] || take_number(rule->user, &rule->uid))
            continue;
        if (getpwnam_r(rule->user, &entry, text, sizeof(text), &found) != 0 || !found)
            return refuse_user(rule, "there is no user", err);
        rule->uid = found->pw_uid;
    }
    return 0;
}

int access_rules_inherit(struct access_rules *r, const struct access_rules *before,
                         struct error *err)
{
    for (size_t i = 0; r && i < r->count; i++) {
        struct access_rule *rule = &r->rules[i];
        bool found = !rule->user[0] || take_number(rule->user, &rule->uid);

        for (size_t k = 0; !found && before && k < before->count; k++) {
            found = strcmp(before->rules[k].user, rule->user) == 0;
            if (found)
                rule->uid = before->rules[k].uid;
        }
        if (!found)
            return refuse_user(rule, "only a restart can look up the user", err);
    }
    return 0;
}

const struct access_rule *access_rules_user(const struct access_rules *r, uint32_t uid)
{
    for (size_t i = 0; r && i < r->count; i++) {
        if (r->rules[i].user[0] && r->rules[i].uid == uid)
            return &r->rules[i];
    }
    return NULL;
}

/* ---- tokens ---- */

bool access_rules_have_tokens(const struct access_rules *r)
{
    for (size_t i = 0; r && i < r->count; i++) {
        if (!r->rules[i].user[0])
            return true;
    }
    return false;
}

static bool equal_in_constant_time(const uint8_t *a, const uint8_t *b, size_t n)
{
    volatile uint8_t different = 0;

    for (size_t i = 0; i < n; i++)
        different = different | (uint8_t)(a[i] ^ b[i]);
    return different == 0;
}

const struct access_rule *access_rules_token(const struct access_rules *r, struct span text)
{
    const struct access_rule *found = NULL;
    uint8_t hash[ACCESS_HASH_BYTES];

    if (!text.n || text.n > ACCESS_TOKEN_TEXT ||
        gnutls_hash_fast(GNUTLS_DIG_SHA256, text.p, text.n, hash) < 0)
        return NULL;
    for (size_t i = 0; r && i < r->count; i++) { /* all of them, wherever it is found */
        const struct access_rule *rule = &r->rules[i];

        if (!rule->user[0] && equal_in_constant_time(rule->hash, hash, sizeof(hash)) && !found)
            found = rule;
    }
    return found;
}

static void write_hex(const uint8_t *p, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        snprintf(ret + 2 * i, 3, "%02x", p[i]);
}

int access_token_new(char ret[ACCESS_TOKEN_TEXT], char ret_hash[2 * ACCESS_HASH_BYTES + 1])
{
    uint8_t bytes[ACCESS_TOKEN_BYTES], hash[ACCESS_HASH_BYTES];
    size_t n = strlen(TOKEN_PREFIX);

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    memcpy(ret, TOKEN_PREFIX, n);
    write_hex(bytes, sizeof(bytes), ret + n);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, ret, strlen(ret), hash) < 0)
        return -EIO;
    write_hex(hash, sizeof(hash), ret_hash);
    return 0;
}
