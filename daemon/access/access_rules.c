/* SPDX-License-Identifier: Apache-2.0 */
#include "access/access_rules.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <grp.h>
#include <pwd.h>
#include <sys/random.h>

static void write_hex(const uint8_t *p, size_t n, char *ret)
{
    for (size_t i = 0; i < n; i++)
        snprintf(ret + 2 * i, 3, "%02x", p[i]);
}

/* ---- users ---- */

static bool take_number(const char *user, uint32_t *ret)
{
    uint64_t v;

    if (!span_parse_dec(span_of(user), &v) || v >= UINT32_MAX)
        return false;
    *ret = (uint32_t)v;
    return true;
}

static int refuse_name(const struct access_rule *rule, const char *why, struct error *err)
{
    const char *what = rule->user[0] ? "user" : "group";

    error_remedy(err, "give the number of the %s in place of the name", what);
    return error_set(err, -EINVAL, "access: %s: %s %s '%s'", rule->name, why, what,
                     rule->user[0] ? rule->user : rule->group);
}

static int resolve_user(struct access_rule *rule, struct error *err)
{
    char text[4096];
    struct passwd entry, *found = NULL;

    if (take_number(rule->user, &rule->uid))
        return 0;
    if (getpwnam_r(rule->user, &entry, text, sizeof(text), &found) != 0 || !found)
        return refuse_name(rule, "there is no", err);
    rule->uid = found->pw_uid;
    return 0;
}

static int resolve_group(struct access_rule *rule, struct peers *peers, struct error *err)
{
    uint32_t number;
    int r = 0;

    if (peers)
        r = peers_add_group(peers, rule->group, &rule->group_bit);
    else if (!take_number(rule->group, &number) && !getgrnam(rule->group))
        r = -ENOENT;
    return r == -ENOENT ? refuse_name(rule, "there is no", err)
           : r < 0 ? error_code(err, r, "access: %s: the group cannot be looked up", rule->name)
                   : 0;
}

int access_rules_resolve(struct access_rules *r, struct peers *peers, struct error *err)
{
    int result = 0;

    for (size_t i = 0; r && i < r->count && result == 0; i++) {
        if (r->rules[i].user[0])
            result = resolve_user(&r->rules[i], err);
        else if (r->rules[i].group[0])
            result = resolve_group(&r->rules[i], peers, err);
    }
    return result;
}

/* Returns an older rule for the same user and group, with ids that are known already; NULL: none.
 */
static const struct access_rule *known_before(const struct access_rules *before,
                                              const struct access_rule *rule)
{
    for (; before; before = before->next) {
        for (size_t i = 0; i < before->count; i++) {
            const struct access_rule *b = &before->rules[i];

            if (strcmp(b->user, rule->user) == 0 && strcmp(b->group, rule->group) == 0)
                return b;
        }
    }
    return NULL;
}

int access_rules_inherit(struct access_rules *r, const struct access_rules *before,
                         struct error *err)
{
    for (size_t i = 0; r && i < r->count; i++) {
        struct access_rule *rule = &r->rules[i];
        const struct access_rule *known;

        if (access_rule_is_shown(rule) || (rule->user[0] && take_number(rule->user, &rule->uid)))
            continue;
        known = known_before(before, rule);
        if (!known && rule->group[0]) {
            error_remedy(err,
                         "restart flamed: it looks up the members of groups only at its start");
            return error_set(err, -EINVAL, "access: %s: the group '%s' was in no rule before",
                             rule->name, rule->group);
        }
        if (!known)
            return refuse_name(rule, "only a restart can look up the", err);
        rule->uid = known->uid;
        rule->group_bit = known->group_bit;
    }
    return 0;
}

const struct access_rule *access_rules_user(const struct access_rules *r, uint32_t uid,
                                            uint64_t groups)
{
    for (size_t i = 0; r && i < r->count; i++) {
        const struct access_rule *rule = &r->rules[i];

        if (rule->user[0] ? rule->uid == uid : rule->group[0] && rule->group_bit & groups)
            return rule;
    }
    return NULL;
}

struct access_rules *access_rules_free(struct access_rules *r)
{
    for (size_t i = 0; r && i < ARRAY_SIZE(r->rules); i++)
        matchers_clear(&r->rules[i].seen);
    free(r);
    return NULL;
}

const struct access_rule *access_rules_named(const struct access_rules *r, const char *name)
{
    for (size_t i = 0; r && i < r->count; i++) {
        if (strcmp(r->rules[i].name, name) == 0)
            return &r->rules[i];
    }
    return NULL;
}

/* ---- matchers ---- */

/* Refuses a matcher that cannot hide a process, or that a process matches before it is
 * identified. */
static int check_matcher(const struct access_rule *rule, const struct matcher *m, struct error *err)
{
    static const struct matcher_values NOTHING = { "", "", "", "", "", "", "", 0 };
    const struct matcher_list one = { .items = { *m }, .count = 1 };
    _cleanup_(matcher_set_freep) struct matcher_set *set = NULL;
    int r;

    if (m->label == MATCHER_SERVICE)
        return error_set(
            err, -EINVAL,
            "access: %s: match cannot select a service: a process chooses that name itself",
            rule->name);
    if (m->op == MATCHER_IS_NOT || m->op == MATCHER_UNLIKE) {
        error_remedy(err, "name what the rule may see, such as namespace=~\"(?!prod$).+\"");
        return error_set(err, -EINVAL,
                         "access: %s: match takes only = and =~: with != and !~ the rule would see "
                         "processes that flamed has not identified yet",
                         rule->name);
    }
    r = matcher_set_new(&one, &set, err);
    if (r == 0 && matcher_set_holds(set, &NOTHING))
        return error_set(err, -EINVAL,
                         "access: %s: a matcher must not match the empty value: the rule would see "
                         "processes that are in no pod, or not identified yet",
                         rule->name);
    return r;
}

int access_rule_set_seen(struct access_rule *rule, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_UPTO((size_t)MATCHERS_MAX * (2 * MATCHER_VALUE_MAX + 32));
    uint8_t hash[ACCESS_HASH_BYTES];
    bool placed = false;
    int n;

    for (size_t i = 0; i < rule->seen.count; i++) {
        int r = check_matcher(rule, &rule->seen.items[i], err);

        if (r < 0)
            return r;
        placed = placed || rule->seen.items[i].label != MATCHER_MAIN;
    }
    if (!rule->seen.count)
        return 0;
    if (!placed)
        return error_set(err, -EINVAL,
                         "access: %s: match with main needs namespace, pod or container too: any "
                         "program can run under the name of a class",
                         rule->name);
    matchers_write(&rule->seen, &text);
    if (text.error || gnutls_hash_fast(GNUTLS_DIG_SHA256, text.p, text.n, hash) < 0)
        return error_set(err, -ENOMEM, "out of memory");
    n = snprintf(rule->scope, sizeof(rule->scope), "match ");
    write_hex(hash, ACCESS_HASH_BYTES, rule->scope + n);
    return 0;
}

/* ---- tokens ---- */

bool access_rules_have(const struct access_rules *r, enum access_by by)
{
    for (size_t i = 0; r && i < r->count; i++) {
        if (r->rules[i].by == by)
            return true;
    }
    return false;
}

bool access_rules_have_shown(const struct access_rules *r)
{
    return access_rules_have(r, ACCESS_BY_TOKEN) || access_rules_have(r, ACCESS_BY_BASIC) ||
           access_rules_have(r, ACCESS_BY_CERTIFICATE);
}

const struct access_rule *access_rules_token(const struct access_rules *r, struct span text)
{
    const struct access_rule *found = NULL;
    uint8_t hash[ACCESS_HASH_BYTES];

    if (!text.n || text.n > ACCESS_TOKEN_TEXT ||
        gnutls_hash_fast(GNUTLS_DIG_SHA256, text.p, text.n, hash) < 0)
        return NULL;
    for (size_t i = 0; r && i < r->count; i++) { /* the loop's time does not depend on the token */
        const struct access_rule *rule = &r->rules[i];

        if (rule->by == ACCESS_BY_TOKEN && gnutls_memcmp(rule->hash, hash, sizeof(hash)) == 0 &&
            !found)
            found = rule;
    }
    return found;
}

const struct access_rule *access_rules_same(const struct access_rules *r,
                                            const struct access_rule *rule)
{
    for (size_t i = 0; r && i < r->count; i++) {
        const struct access_rule *other = &r->rules[i];

        if (other->by == rule->by && memcmp(other->hash, rule->hash, sizeof(rule->hash)) == 0 &&
            strcmp(other->shown, rule->shown) == 0 && strcmp(other->bcrypt, rule->bcrypt) == 0)
            return other;
    }
    return NULL;
}

int access_token_new(char ret[ACCESS_TOKEN_TEXT], char ret_hash[2 * ACCESS_HASH_BYTES + 1])
{
    uint8_t bytes[ACCESS_TOKEN_BYTES], hash[ACCESS_HASH_BYTES];
    size_t n = strlen(ACCESS_TOKEN_PREFIX);

    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EIO;
    memcpy(ret, ACCESS_TOKEN_PREFIX, n);
    write_hex(bytes, sizeof(bytes), ret + n);
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, ret, strlen(ret), hash) < 0)
        return -EIO;
    write_hex(hash, sizeof(hash), ret_hash);
    return 0;
}
