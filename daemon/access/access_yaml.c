/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the rules under `access` of the configuration file; errors name their line. */
#include "access/access_rules.h"
#include "yaml/yaml_part.h"

static int refuse(struct yaml_part *y, const yaml_node_t *at, const struct access_rule *rule,
                  const char *key, const char *takes)
{
    /* the value may be a token or a password and must not reach a log */
    y->secret = strcmp(key, "token_sha256") == 0 || strcmp(key, "basic") == 0 ||
                strcmp(key, "access") == 0 ||
                span_starts_with(yaml_part_text(at), ACCESS_TOKEN_PREFIX);
    return yaml_part_refuse(y, at, rule->name, key, takes);
}

static bool take_hash(struct span s, uint8_t ret[ACCESS_HASH_BYTES])
{
    if (s.n != 2 * ACCESS_HASH_BYTES)
        return false;
    for (size_t i = 0; i < ACCESS_HASH_BYTES; i++) {
        struct span two = { s.p + 2 * i, 2 };
        uint64_t v;

        if (!span_take_hex(&two, &v) || two.n)
            return false;
        ret[i] = (uint8_t)v;
    }
    return true;
}

static bool take_role(struct span s, enum role *ret)
{
    for (int role = ROLE_HEALTH; role <= ROLE_MANAGE; role++) {
        if (span_eq_str(s, role_name((enum role)role))) {
            *ret = (enum role)role;
            return true;
        }
    }
    return false;
}

/* Keys of a rule, as bits of the keys seen so far. */
enum {
    KEY_NAME = 1,
    KEY_USER = 2,
    KEY_TOKEN = 4,
    KEY_ROLE = 8,
    KEY_SEES = 16,
    KEY_GROUP = 32,
    KEY_MATCH = 64,
    KEY_BASIC = 128,
    KEY_CERTIFICATE = 256
};
#define KEYS_WHO (KEY_USER | KEY_GROUP | KEY_TOKEN | KEY_BASIC | KEY_CERTIFICATE)

static int set_certificate(struct yaml_part *y, const yaml_node_t *at, struct span v,
                           struct access_rule *rule)
{
    bool good = v.n && v.n <= ACCESS_SHOWN_MAX;

    for (size_t i = 0; good && i < v.n; i++)
        good = v.p[i] >= ' ' && v.p[i] <= '~';
    if (!good)
        return refuse(y, at, rule, "certificate",
                      "a DNS name, URI or mail address of one, in ASCII");
    rule->by = ACCESS_BY_CERTIFICATE;
    span_copy(v, rule->shown, sizeof(rule->shown));
    return 0;
}

static int set_basic(struct yaml_part *y, const yaml_node_t *at, struct span v,
                     struct access_rule *rule)
{
    if (!v.n || v.n > ACCESS_NAME_MAX || memchr(v.p, ':', v.n) || memchr(v.p, 0, v.n))
        return refuse(y, at, rule, "basic", "a name of basic_auth_users, without ':'");
    rule->by = ACCESS_BY_BASIC;
    span_copy(v, rule->shown, sizeof(rule->shown));
    return 0;
}

static int set_key(struct yaml_part *y, const yaml_node_t *key, const yaml_node_t *value,
                   struct access_rule *rule, unsigned *seen)
{
    struct span k = yaml_part_text(key), v = yaml_part_text(value);
    unsigned bit = span_eq_str(k, "name")           ? KEY_NAME
                   : span_eq_str(k, "user")         ? KEY_USER
                   : span_eq_str(k, "token_sha256") ? KEY_TOKEN
                   : span_eq_str(k, "role")         ? KEY_ROLE
                   : span_eq_str(k, "sees")         ? KEY_SEES
                   : span_eq_str(k, "group")        ? KEY_GROUP
                   : span_eq_str(k, "match")        ? KEY_MATCH
                   : span_eq_str(k, "basic")        ? KEY_BASIC
                   : span_eq_str(k, "certificate")  ? KEY_CERTIFICATE
                                                    : 0;

    if (!bit || *seen & bit)
        return refuse(y, key, rule, bit ? "a key that is given twice," : "a rule",
                      "name, user, group, token_sha256, basic or certificate, role, sees, match");
    *seen |= bit;
    switch (bit) {
    case KEY_NAME:
        return yaml_part_take_name(value, rule->name)
                   ? 0
                   : refuse(y, value, rule, "name",
                            "1 to 63 of a-z, 0-9 and '-', such as prometheus");
    case KEY_USER:
        if (!v.n || v.n > ACCESS_NAME_MAX)
            return refuse(y, value, rule, "user", "the name or number of a user of this machine");
        span_copy(v, rule->user, sizeof(rule->user));
        return 0;
    case KEY_GROUP:
        if (!v.n || v.n > ACCESS_NAME_MAX)
            return refuse(y, value, rule, "group", "the name or number of a group of this machine");
        span_copy(v, rule->group, sizeof(rule->group));
        return 0;
    case KEY_MATCH:
        return yaml_part_take_matchers(y, value, rule->name, "namespace=\"prod\"", &rule->seen);
    case KEY_CERTIFICATE:
        return set_certificate(y, value, v, rule);
    case KEY_BASIC:
        return set_basic(y, value, v, rule);
    case KEY_TOKEN:
        rule->by = ACCESS_BY_TOKEN;
        return take_hash(v, rule->hash)
                   ? 0
                   : refuse(y, value, rule, "token_sha256",
                            "64 hexadecimal digits, as flamed --new-token prints them");
    case KEY_ROLE:
        return take_role(v, &rule->role)
                   ? 0
                   : refuse(y, value, rule, "role", "health, view, profile, attach or manage");
    default:
        rule->own = span_eq_str(v, "own");
        return rule->own || span_eq_str(v, "all") ? 0
                                                  : refuse(y, value, rule, "sees", "all or own");
    }
}

static int read_rule(struct yaml_part *y, const yaml_node_t *n, struct access_rule *rule)
{
    unsigned seen = 0;

    if (n->type != YAML_MAPPING_NODE)
        return refuse(y, n, rule, "access", "a list of mappings, each with a name");
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        int result = set_key(y, yaml_document_get_node(&y->doc, p->key),
                             yaml_document_get_node(&y->doc, p->value), rule, &seen);

        if (result < 0)
            return result;
    }
    if (!(seen & KEY_NAME) || !(seen & KEY_ROLE) || __builtin_popcount(seen & KEYS_WHO) != 1)
        return refuse(y, n, rule, "a rule",
                      "name, role, and either user, group, token_sha256, basic or certificate");
    if (seen & KEY_MATCH && (seen & KEY_SEES || !rule->seen.count))
        return refuse(y, n, rule, "match", "one matcher or more, and no sees beside it");
    if (rule->own && access_rule_is_shown(rule))
        return refuse(
            y, n, rule, "sees",
            "all: such a caller is no user of this machine and has no processes of its own");
    if ((rule->own || rule->seen.count) && rule->role == ROLE_MANAGE)
        return refuse(y, n, rule, rule->own ? "sees" : "match",
                      "all with the role manage, which is for the whole node");
    return access_rule_set_seen(rule, y->err);
}

static int read_list(struct yaml_part *y, const yaml_node_t *n, struct access_rules *rules)
{
    static const struct access_rule NAMELESS;

    if (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0)
        return 0;
    if (n->type != YAML_SEQUENCE_NODE ||
        n->data.sequence.items.top - n->data.sequence.items.start > ACCESS_RULES_MAX)
        return refuse(y, n, &NAMELESS, "access", "a list of at most 64 mappings, each with a name");
    for (const yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
         i++) {
        const yaml_node_t *item = yaml_document_get_node(&y->doc, *i);
        struct access_rule *rule = &rules->rules[rules->count];
        int result = read_rule(y, item, rule); /* a partly read rule is freed with the others */

        for (size_t k = 0; result == 0 && k < rules->count; k++) {
            if (strcmp(rules->rules[k].name, rule->name) == 0)
                result = refuse(y, item, rule, "name", "a name that no other rule has");
            else if (rule->shown[0] && rules->rules[k].by == rule->by &&
                     strcmp(rules->rules[k].shown, rule->shown) == 0)
                result = refuse(y, item, rule, "a rule", "a name to show that no other rule has");
        }
        if (result < 0)
            return result;
        rules->count++;
    }
    return 0;
}

static int read_access(struct yaml_part *y, void *cookie)
{
    const yaml_node_t *n;
    int r = yaml_part_find(y, "access", &n);

    return r == 0 && n ? read_list(y, n, cookie) : r;
}

int access_rules_parse(struct span text, const char *file, struct access_rules **ret,
                       struct error *err)
{
    struct access_rules *rules = calloc(1, sizeof(*rules));
    struct yaml_part y = { .file = file, .err = err, .section = "access: " };
    int r;

    if (!rules)
        return error_set(err, -ENOMEM, "out of memory");
    r = yaml_part_read(&y, text, read_access, rules);
    if (r < 0 || rules->count == 0)
        rules = access_rules_free(rules);
    if (r == 0)
        *ret = rules;
    return r;
}
