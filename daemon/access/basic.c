/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the Authorization header and `basic_auth_users`. Checking passwords takes time and is in
 * passwords.c.
 */
#include "access/basic.h"

#include "base/base64.h"
#include "yaml/yaml_part.h"

#include <strings.h>

/* ---- the header ---- */

bool authorization_is(struct span header, const char *name, struct span *ret_rest)
{
    size_t n = strlen(name);

    header = span_trim(header);
    if (header.n < n || strncasecmp(header.p, name, n) != 0 || (header.n > n && header.p[n] != ' '))
        return false;
    *ret_rest = span_trim(span_from(header, n));
    return true;
}

bool basic_parse(struct span rest, struct basic *ret)
{
    char text[ACCESS_NAME_MAX + 1 + BASIC_PASSWORD_MAX];
    struct span all = { text, 0 };
    size_t colon;
    bool good;

    good = base64_decode(rest, text, sizeof(text), &all.n) && !memchr(text, 0, all.n);
    colon = good ? span_find(all, ':') : 0;
    good = good && colon < all.n && colon > 0 && colon <= ACCESS_NAME_MAX &&
           all.n - colon - 1 <= BASIC_PASSWORD_MAX;
    if (good) {
        span_copy((struct span){ text, colon }, ret->name, sizeof(ret->name));
        span_copy(span_from(all, colon + 1), ret->password, sizeof(ret->password));
    }
    explicit_bzero(text, sizeof(text));
    return good;
}

/* ---- the configuration ---- */

bool basic_hash_valid(struct span hash)
{
    static const char VERSIONS[] = { 'a', 'b', 'y' };
    static const char DIGITS[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t cost;

    if (hash.n != ACCESS_BCRYPT_TEXT || memcmp(hash.p, "$2", 2) != 0 ||
        !memchr(VERSIONS, hash.p[2], sizeof(VERSIONS)) || hash.p[3] != '$' || hash.p[6] != '$' ||
        !span_parse_dec((struct span){ hash.p + 4, 2 }, &cost) || cost < 4 || cost > BASIC_COST_MAX)
        return false;
    for (size_t i = 7; i < hash.n; i++) {
        if (!hash.p[i] || !strchr(DIGITS, hash.p[i]))
            return false;
    }
    return true;
}

static int take_user(struct yaml_part *y, const yaml_node_t *key, const yaml_node_t *value,
                     void *cookie)
{
    struct access_rules *rules = cookie;
    struct span name = yaml_part_text(key), hash = yaml_part_text(value);
    struct access_rule *found = NULL;
    char show[ACCESS_NAME_MAX + 1];

    for (size_t i = 0; rules && i < rules->count; i++) {
        if (rules->rules[i].by == ACCESS_BY_BASIC && span_eq_str(name, rules->rules[i].shown))
            found = &rules->rules[i];
    }
    if (span_find(name, ':') != name.n) /* the rest may be the password */
        return yaml_part_refuse(y, key, "", "basic_auth_users",
                                "NAME: HASH, with a space between them");
    span_copy(name, show, sizeof(show));
    if (!found) {
        error_remedy(y->err, "add to access:  - {name: x, basic: %s, role: view}", show);
        return error_set(
            y->err, -EINVAL,
            "%.128s, line %u: basic_auth_users: no rule under access gives '%s' a role", y->file,
            yaml_part_line(key), show);
    }
    if (!basic_hash_valid(hash)) {
        error_remedy(y->err, "make one with: htpasswd -nBC 10 %s", show);
        return error_set(
            y->err, -EINVAL,
            "%.128s, line %u: basic_auth_users: %s has no bcrypt hash of a cost from 4 to %d",
            y->file, yaml_part_line(value), show, BASIC_COST_MAX);
    }
    span_copy(hash, found->bcrypt, sizeof(found->bcrypt));
    return 0;
}

int basic_users_parse(struct span text, const char *file, struct access_rules *rules,
                      struct error *err)
{
    struct yaml_part y = { .file = file, .err = err, .secret = true };
    bool found;
    int r = yaml_part_mapping(&y, text, "basic_auth_users", take_user, rules, &found);

    for (size_t i = 0; r == 0 && rules && i < rules->count; i++) {
        const struct access_rule *rule = &rules->rules[i];

        if (rule->by == ACCESS_BY_BASIC && !rule->bcrypt[0])
            r = error_set(err, -EINVAL, "%.128s: access: %s: basic_auth_users has no '%s'", file,
                          rule->name, rule->shown);
    }
    return r;
}
