/* SPDX-License-Identifier: Apache-2.0 */
/* The header and the configuration; what takes time is in passwords.c. */
#include "access/basic.h"

#include "yaml/yaml_part.h"

#include <strings.h>

/* ---- the header ---- */

bool authorization_is(struct span header, const char *name, struct span *ret_rest)
{
    size_t n = strlen(name);

    header = span_trim(header);
    if (header.n <= n || strncasecmp(header.p, name, n) != 0 || header.p[n] != ' ')
        return false;
    *ret_rest = span_trim(span_from(header, n));
    return true;
}

static int base64_value(char c)
{
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(DIGITS, c) : NULL;

    return at ? (int)(at - DIGITS) : -1;
}

/* Strictly: with its padding, and nothing else between. False: it is none, or does not fit. */
static bool base64_decode(struct span in, char *ret, size_t max, size_t *ret_n)
{
    size_t padding = 0, n = 0;

    if (!in.n || in.n % 4)
        return false;
    while (padding < 2 && in.p[in.n - 1] == '=') {
        padding++;
        in.n--;
    }
    for (size_t i = 0; i < in.n; i += 4) {
        size_t digits = MIN(in.n - i, (size_t)4);
        uint32_t v = 0;

        for (size_t k = 0; k < 4; k++) {
            int d = k < digits ? base64_value(in.p[i + k]) : 0;

            if (d < 0)
                return false;
            v = v << 6 | (uint32_t)d;
        }
        if (v & ((1u << 8 * (4 - digits)) - 1) || n + digits - 1 > max)
            return false;
        for (size_t k = 0; k + 1 < digits; k++)
            ret[n++] = (char)(v >> (16 - 8 * k));
    }
    *ret_n = n;
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
    if (span_find(name, ':') != name.n) /* what follows may be the password */
        return yaml_part_refuse(y, key, "", "basic_auth_users",
                                "NAME: HASH, with a space between them");
    span_copy(name, show, sizeof(show));
    if (!found) {
        error_remedy(y->err, "add to access:  - {name: x, basic: %s, role: view}", show);
        return error_set(y->err, -EINVAL,
                         "%.128s, line %u: basic_auth_users: no rule under access says what '%s' "
                         "may",
                         y->file, yaml_part_line(key), show);
    }
    if (!basic_hash_valid(hash)) {
        error_remedy(y->err, "make one with: htpasswd -nBC 10 %s", show);
        return error_set(
            y->err, -EINVAL,
            "%.128s, line %u: basic_auth_users: %s has no bcrypt hash of a cost from 4 "
            "to %d",
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
