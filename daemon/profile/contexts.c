/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/contexts.h"

#include "base/array.h"
#include "base/id_table.h"

#define CONTEXT_SERVICES_MAX 4096u
/* the other contexts are reserved for names */
#define CONTEXT_WITH_IDS_MAX (PROFILE_CONTEXTS_MAX / 4 * 3)
#define CONTEXT_STRING_BYTES_MAX ((size_t)16 << 20)

/* A request in one process; a trace may pass through a process several times. Without a root span,
 * all requests with one name in a trace count as one. No padding: a key. */
struct request_key {
    uint64_t trace_high, trace_low, root;
    uint32_t process, name;
};

/* An operation of a service; both members are strings of contexts->names. */
struct operation_key {
    uint32_t service, name;
};

/* A name of a request. */
struct request_name {
    uint64_t time_ns; /* when it was read */
    uint32_t string;  /* 0: none */
};

struct contexts {
    struct id_table contexts;        /* struct profile_context, with the id of its request + 1 as
                                      * `operation` */
    struct id_table requests;        /* struct request_key */
    struct request_name *operations; /* [requests.cap]: latest name of each request */
    size_t operations_cap;
    struct id_table known;    /* struct operation_key */
    struct id_table services; /* uint32_t */
    uint32_t *counts;         /* [services.cap]: number of operations of each service */
    size_t counts_cap;
    struct intern *names;
    uint32_t others; /* string that replaces operations without room */
    uint64_t without_ids, without_name;
};

int contexts_new(struct contexts **ret)
{
    struct contexts *c = calloc(1, sizeof(*c));
    struct profile_context none = { 0 };
    uint32_t id;
    int r;

    if (!c)
        return -ENOMEM;
    id_table_init(&c->contexts, sizeof(struct profile_context), PROFILE_CONTEXTS_MAX);
    id_table_init(&c->requests, sizeof(struct request_key), PROFILE_CONTEXTS_MAX);
    id_table_init(&c->known, sizeof(struct operation_key),
                  CONTEXT_SERVICES_MAX * PROFILE_OPERATIONS_MAX);
    id_table_init(&c->services, sizeof(uint32_t), CONTEXT_SERVICES_MAX);
    r = intern_new(CONTEXT_STRING_BYTES_MAX, &c->names) ?:
        intern_add(c->names, SPAN("[other operations]"), &c->others) ?:
        id_table_add(&c->contexts, &none, &id);
    if (r < 0) {
        contexts_free(c);
        return -ENOMEM;
    }
    *ret = c;
    return 0;
}

struct contexts *contexts_free(struct contexts *c)
{
    if (!c)
        return NULL;
    id_table_deinit(&c->contexts);
    id_table_deinit(&c->requests);
    id_table_deinit(&c->known);
    id_table_deinit(&c->services);
    intern_free(c->names);
    free(c->operations);
    free(c->counts);
    free(c);
    return NULL;
}

size_t contexts_bytes(const struct contexts *c)
{
    if (!c)
        return 0;
    return sizeof(*c) + id_table_bytes(&c->contexts) + id_table_bytes(&c->requests) +
           id_table_bytes(&c->known) + id_table_bytes(&c->services) + intern_bytes(c->names) +
           c->operations_cap * sizeof(*c->operations) + c->counts_cap * sizeof(uint32_t);
}

/* Finds or adds operation @name of @service: *ret is its string, or `others` if the service has
 * PROFILE_OPERATIONS_MAX. 0 or -ENOMEM. */
static int add_operation(struct contexts *c, struct span service, struct span name, uint32_t *ret)
{
    struct operation_key key = { 0 };
    uint32_t id, at = 0;
    int r = intern_add(c->names, service, &key.service)
                ?: MIN(id_table_add(&c->services, &key.service, &at), 0);

    if (r == 0 && !array_extend(&c->counts, &c->counts_cap, c->services.cap))
        r = -ENOMEM;
    if (r == 0 && c->counts[at] >= PROFILE_OPERATIONS_MAX &&
        !(intern_find(c->names, name, &key.name) && id_table_find(&c->known, &key, &id)))
        r = -ENOSPC;
    if (r == 0)
        r = intern_add(c->names, name, &key.name);
    if (r == 0) {
        r = id_table_add(&c->known, &key, &id);
        c->counts[at] += r > 0;
    }
    if (r == -ENOSPC) {
        c->without_name++;
        *ret = c->others;
        return 0;
    }
    if (r >= 0)
        *ret = key.name;
    return MIN(r, 0);
}

static struct request_key request_key_of(const struct profile_context *context, uint32_t process,
                                         uint32_t name)
{
    return (struct request_key){ .trace_high = context->trace_high,
                                 .trace_low = context->trace_low,
                                 .root = context->root,
                                 .process = process,
                                 .name = context->root ? 0 : name };
}

/* Returns whether the table has @context of @process already. */
static bool has_context(const struct contexts *c, const struct profile_context *context,
                        uint32_t process, uint32_t name)
{
    struct request_key key = request_key_of(context, process, name);
    struct profile_context own = *context;
    uint32_t request, id;

    if (!id_table_find(&c->requests, &key, &request))
        return false;
    own.operation = request + 1;
    return id_table_find(&c->contexts, &own, &id);
}

/* Finds or adds the request of @context. Stores its operation @name, unless a later one is known.
 * 0, -ENOSPC or -ENOMEM. */
static int add_request(struct contexts *c, const struct profile_context *context, uint32_t process,
                       struct request_name name, uint32_t *ret)
{
    struct request_key key = request_key_of(context, process, name.string);
    int r = MIN(id_table_add(&c->requests, &key, ret), 0);

    if (r == 0 && !array_extend(&c->operations, &c->operations_cap, c->requests.cap))
        r = -ENOMEM;
    if (r == 0 && name.string && name.time_ns >= c->operations[*ret].time_ns)
        c->operations[*ret] = name;
    return r;
}

/* Finds or adds @context itself. 0, -ENOSPC or -ENOMEM. */
static int add_context(struct contexts *c, const struct profile_context *context, uint32_t process,
                       struct request_name name, uint32_t *ret)
{
    struct profile_context own = *context;
    uint32_t request = 0;
    int r = 0;

    own.operation = 0;
    if (profile_context_has_ids(context) && c->contexts.count >= CONTEXT_WITH_IDS_MAX &&
        !has_context(c, context, process, name.string))
        return -ENOSPC;
    if (context->state >= PROFILE_CONTEXT_IDS) {
        r = add_request(c, context, process, name, &request);
        own.operation = request + 1;
    }
    return r < 0 ? r : MIN(id_table_add(&c->contexts, &own, ret), 0);
}

int contexts_add(struct contexts *c, const struct profile_context *context, uint32_t process,
                 struct span service, struct span name, uint64_t time_ns, uint32_t *ret)
{
    const struct profile_context nameless = { .state = context->state };
    struct request_name operation = { .time_ns = time_ns };
    int r = name.n ? add_operation(c, service, name, &operation.string) : 0;

    if (r == 0)
        r = add_context(c, context, process, operation, ret);
    if (r == -ENOSPC) {
        c->without_ids++;
        r = add_context(c, &nameless, process, operation, ret);
    }
    if (r == -ENOSPC) {
        *ret = 0;
        return 0;
    }
    return r;
}

int contexts_finish(const struct contexts *c, struct profile *p)
{
    int r = 0;

    if (!c || c->contexts.count < 2)
        return 0;
    p->contexts = calloc(c->contexts.count, sizeof(*p->contexts));
    if (!p->contexts)
        return -ENOMEM;
    p->context_count = c->contexts.count;
    for (uint32_t i = 0; i < c->contexts.count && r == 0; i++) {
        struct profile_context *to = &p->contexts[i];
        uint32_t name = 0;

        *to = *(const struct profile_context *)id_table_get(&c->contexts, i);
        if (to->operation)
            name = c->operations[to->operation - 1].string;
        to->operation = 0;
        r = intern_add(p->strings, intern_get(c->names, name), &to->operation);
        if (to->operation && to->state == PROFILE_CONTEXT_IDS)
            to->state = PROFILE_CONTEXT_NAMED; /* another sample of the request provided the name */
    }
    return r;
}

uint64_t contexts_without_ids(const struct contexts *c)
{
    return c ? c->without_ids : 0;
}

uint64_t contexts_without_name(const struct contexts *c)
{
    return c ? c->without_name : 0;
}
