/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/pod_cache.h"

#include "base/cleanup.h"
#include "discover/container.h"
#include "discover/pod.h"

#define POD_RETRY_NS (10 * NSEC_PER_SEC)
#define POD_LOGS_FRESH_NS (5 * NSEC_PER_SEC) /* shortest time between two lists of log files */

struct pod_entry {
    struct container c;
    uint64_t used_ns, retry_ns;
    bool complete; /* a runtime's record was found */
};

struct pod_cache {
    const struct discover_source *source;
    void *ctx;
    struct buf logs; /* names of /var/log/containers, separated by NUL */
    uint64_t logs_ns;
    size_t count;
    struct pod_entry entries[POD_CACHE_MAX];
};

int pod_cache_new(const struct discover_source *source, void *ctx, struct pod_cache **ret)
{
    struct pod_cache *pc = calloc(1, sizeof(*pc));

    if (!pc)
        return -ENOMEM;
    pc->source = source;
    pc->ctx = ctx;
    buf_init(&pc->logs, POD_LOGS_MAX_BYTES);
    *ret = pc;
    return 0;
}

struct pod_cache *pod_cache_free(struct pod_cache *pc)
{
    if (!pc)
        return NULL;
    buf_deinit(&pc->logs);
    free(pc);
    return NULL;
}

static struct pod_entry *entry_of(struct pod_cache *pc, const char *id)
{
    struct pod_entry *oldest = &pc->entries[0];

    for (size_t i = 0; i < pc->count; i++) {
        struct pod_entry *e = &pc->entries[i];

        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): an array of a struct */
        if (strcmp(e->c.id, id) == 0)
            return e;
        if (e->used_ns < oldest->used_ns)
            oldest = e;
    }
    if (pc->count < POD_CACHE_MAX)
        oldest = &pc->entries[pc->count++];
    *oldest = (struct pod_entry){ 0 };
    span_copy(span_of(id), oldest->c.id, sizeof(oldest->c.id));
    return oldest;
}

static bool read_config(struct pod_cache *pc, struct container *c)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(POD_CONFIG_MAX_BYTES);
    _cleanup_close_ int fd = -1;

    if (pc->source->container_config(pc->ctx, c->id, &fd, NULL) != 0)
        return false;
    return buf_read_fd(&b, fd) == 0 && pod_parse_config(buf_span(&b), c) == 0;
}

static bool read_logs(struct pod_cache *pc, struct container *c, uint64_t now_ns)
{
    if (!pc->logs_ns || now_ns - pc->logs_ns >= POD_LOGS_FRESH_NS) {
        _cleanup_close_ int fd = -1;

        buf_clear(&pc->logs);
        pc->logs_ns = now_ns;
        if (pc->source->container_logs(pc->ctx, &fd, NULL) == 0)
            buf_read_fd(&pc->logs, fd); /* after an error, what was read counts */
    }
    return pod_parse_log_names(buf_span(&pc->logs), c);
}

static void keep(char *to, const char *from, size_t size)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): an array of a struct */
    if (!to[0])
        span_copy(span_of(from), to, size);
}

/* Returns what the runtimes record about the container @id; @pod: it belongs to a pod. */
static const struct pod_entry *look_up(struct pod_cache *pc, const char *id, bool pod,
                                       uint64_t now_ns)
{
    struct pod_entry *e = entry_of(pc, id);

    e->used_ns = now_ns;
    if (!e->complete && now_ns >= e->retry_ns) {
        bool config = read_config(pc, &e->c), logs = false;

        if (!e->c.pod_name[0] && (pod || !config))
            logs = read_logs(pc, &e->c, now_ns);
        e->complete = config || logs;
        e->retry_ns = now_ns + POD_RETRY_NS;
    }
    return e;
}

/* Returns true if a runtime of this node made the container. Also returns true for an id that is
 * only a name. */
static bool is_of_node(struct pod_cache *pc, const char *id, uint64_t now_ns)
{
    return !container_id_is_hex(span_of(id)) || look_up(pc, id, /* pod= */ false, now_ns)->complete;
}

void pod_cache_fill(struct pod_cache *pc, struct container *c, uint64_t now_ns)
{
    const struct pod_entry *e;

    if (c->outer[0] && is_of_node(pc, c->outer, now_ns)) {
        memcpy(c->pod_uid, c->outer_pod_uid, sizeof(c->pod_uid));
        return;
    }
    if (!container_id_is_hex(span_of(c->id)))
        return;
    e = look_up(pc, c->id, c->pod_uid[0], now_ns);
    keep(c->runtime, e->c.runtime, sizeof(c->runtime));
    keep(c->name, e->c.name, sizeof(c->name));
    keep(c->image_version, e->c.image_version, sizeof(c->image_version));
    keep(c->pod_uid, e->c.pod_uid, sizeof(c->pod_uid));
    keep(c->pod_name, e->c.pod_name, sizeof(c->pod_name));
    keep(c->pod_namespace, e->c.pod_namespace, sizeof(c->pod_namespace));
}
