/* SPDX-License-Identifier: Apache-2.0 */
/* Reads webhooks of triggers as targets. Their keys for the address and the authorization are the
 * keys of `push`. */
#include "push/push_config_impl.h"

#define KEYS_KNOWN                                                                                 \
    "url, link, headers, basic_auth, authorization, tls_config, proxy_url, no_proxy, spool_age"
#define WEBHOOK_SPOOL_BYTES (UINT64_C(1) << 20)

static int webhook_key(const struct push_reading *r, struct span key, const yaml_node_t *at,
                       const yaml_node_t *value)
{
    static const char *const KEYS[] = { "url",        "link",          "headers",
                                        "basic_auth", "authorization", "tls_config",
                                        "proxy_url",  "no_proxy",      "spool_age" };

    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (span_eq_str(key, KEYS[i]))
            return push_target_key(r, key, at, value);
    }
    return push_refuse_secret(r, at, "webhook", KEYS_KNOWN);
}

/* Finds the value of @key in the mapping @n; NULL: the key is missing. */
static const yaml_node_t *value_of(struct yaml_part *y, const yaml_node_t *n, const char *key)
{
    if (n->type != YAML_MAPPING_NODE)
        return NULL;
    for (const yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top;
         p++) {
        if (span_eq_str(yaml_part_text(push_config_node(y, p->key)), key))
            return push_config_node(y, p->value);
    }
    return NULL;
}

static size_t webhook_count(const struct push_config *c)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; i++)
        count += c->targets[i].protocol == PUSH_WEBHOOK;
    return count;
}

static int read_webhook(struct yaml_part *y, const yaml_node_t *name, const yaml_node_t *n,
                        struct push_config *c)
{
    struct push_reading r = { .y = y };
    int result;

    if (webhook_count(c) == PUSH_WEBHOOKS_MAX) /* the list has no room for r.t */
        return push_refuse_secret(&r, n, "webhook", "a place among the first 16 triggers with one");
    r.t = &c->targets[c->count];
    push_target_default(r.t);
    r.t->protocol = PUSH_WEBHOOK;
    r.t->spool_bytes = WEBHOOK_SPOOL_BYTES;
    if (!name || !yaml_part_take_name(name, r.t->name))
        return push_refuse_secret(&r, n, "webhook", "a trigger with a name");
    result = push_each_key(&r, n, "webhook", webhook_key) ?: push_target_check(&r, n);
    for (size_t i = 0; result == 0 && i < c->count; i++) {
        if (strcmp(c->targets[i].name, r.t->name) == 0)
            result = push_refuse_secret(&r, n, "webhook",
                                        "a trigger with a name that no target of push has");
    }
    c->count += result == 0;
    return result;
}

int push_read_webhooks(struct yaml_part *y, struct push_config *c)
{
    const yaml_node_t *list;
    int r = yaml_part_find(y, "triggers", &list);

    if (r < 0 || !list || list->type != YAML_SEQUENCE_NODE)
        return r; /* if it is no list, schedule/ refuses the value */
    for (const yaml_node_item_t *i = list->data.sequence.items.start;
         r == 0 && i < list->data.sequence.items.top; i++) {
        const yaml_node_t *n = push_config_node(y, *i), *webhook = value_of(y, n, "webhook");

        if (webhook)
            r = read_webhook(y, value_of(y, n, "name"), webhook, c);
    }
    return r;
}
