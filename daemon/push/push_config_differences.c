/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the targets of two configurations. */
#include "push/push_config.h"

#include "base/list.h"

static bool match_differs(const struct matcher_list *a, const struct matcher_list *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++) {
        if (a->items[i].label != b->items[i].label || a->items[i].op != b->items[i].op ||
            strcmp(a->items[i].value, b->items[i].value) != 0)
            return true;
    }
    return a->count != b->count;
}

static bool headers_differ(const struct push_target *a, const struct push_target *b)
{
    return a->header_count != b->header_count ||
           ANY_OF(i, a->header_count, strcmp(a->headers[i], b->headers[i]) != 0);
}

static bool target_differs(const struct push_target *a, const struct push_target *b)
{
    return strcmp(a->url, b->url) != 0 || a->protocol != b->protocol ||
           a->every_ns != b->every_ns || strcmp(a->events, b->events) != 0 ||
           match_differs(&a->match, &b->match) || strcmp(a->access, b->access) != 0 ||
           headers_differ(a, b) || strcmp(a->user, b->user) != 0 ||
           strcmp(a->password, b->password) != 0 || strcmp(a->auth_type, b->auth_type) != 0 ||
           strcmp(a->credentials, b->credentials) != 0 ||
           ANY_OF(f, (size_t)PUSH_FILES, strcmp(a->paths[f], b->paths[f]) != 0) ||
           strcmp(a->proxy, b->proxy) != 0 || strcmp(a->no_proxy, b->no_proxy) != 0 ||
           a->insecure != b->insecure || strcmp(a->link, b->link) != 0 ||
           a->samples_max != b->samples_max || a->spool_bytes != b->spool_bytes ||
           a->spool_age_ns != b->spool_age_ns;
}

/* Returns the target of @c that has the name and the kind of @t; NULL: none. */
static const struct push_target *target_like(const struct push_config *c,
                                             const struct push_target *t)
{
    for (size_t i = 0; c && i < c->count; i++) {
        if (strcmp(c->targets[i].name, t->name) == 0 &&
            (c->targets[i].protocol == PUSH_WEBHOOK) == (t->protocol == PUSH_WEBHOOK))
            return &c->targets[i];
    }
    return NULL;
}

static void add_target(const struct push_target *t, struct buf *out)
{
    buf_printf(out, "%s%s %s", out->n ? ", " : "",
               t->protocol == PUSH_WEBHOOK ? "webhook of" : "push to", t->name);
}

void push_config_differences(const struct push_config *a, const struct push_config *b,
                             struct buf *out)
{
    for (size_t i = 0; a && i < a->count; i++) {
        const struct push_target *now = target_like(b, &a->targets[i]);

        if (!now || target_differs(&a->targets[i], now))
            add_target(&a->targets[i], out);
    }
    for (size_t i = 0; b && i < b->count; i++) {
        if (!target_like(a, &b->targets[i]))
            add_target(&b->targets[i], out);
    }
}
