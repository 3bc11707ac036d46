/* SPDX-License-Identifier: Apache-2.0 */
#include "broker_client/requests.h"

#include "agent/stream.h"
#include "base/tls_paths.h"
#include "event/event_form.h"
#include "event/events.h"
#include "helper/job.h"

#define PAGE_MASK_BYTES UINT64_C(4095)
#define ATTACH_OPTIONS_ALL (STREAM_OPTION_STUBS | STREAM_OPTION_ONCE | STREAM_OPTION_SAMPLES)

static const struct broker_request_info REQUESTS[BROKER_KIND_END] = {
#define REQUEST(number, id, name, fields, fds) [number] = { #name, fields, fds },
#include "broker_client/requests.def"
#undef REQUEST
};

const struct broker_request_info *broker_request_info(uint32_t kind)
{
    return kind < ARRAY_SIZE(REQUESTS) && REQUESTS[kind].name ? &REQUESTS[kind] : NULL;
}

static bool zero_after(const uint8_t *p, size_t from, size_t n)
{
    for (size_t i = from; i < n; i++) {
        if (p[i])
            return false;
    }
    return true;
}

static bool range_valid(uint64_t start, uint64_t end)
{
    return start < end && end <= BROKER_ADDRESS_MAX && !(start & PAGE_MASK_BYTES) &&
           !(end & PAGE_MASK_BYTES);
}

static bool basename_valid(const uint8_t *name, uint32_t n)
{
    if (n == 0 || n > BROKER_NAME_MAX || name[0] == '.')
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (name[i] <= ' ' || name[i] == '/' || name[i] == 0x7f)
            return false;
    }
    return true;
}

/* Base names with one slash between them. */
static bool shared_valid(const uint8_t *name, uint32_t n)
{
    uint32_t start = 0;

    for (uint32_t i = 0; i < MIN(n, (uint32_t)BROKER_NAME_MAX); i++) {
        if (name[i] != '/')
            continue;
        if (!basename_valid(name + start, i - start))
            return false;
        start = i + 1;
    }
    return n <= BROKER_NAME_MAX && basename_valid(name + start, n - start);
}

static bool container_id_valid(const uint8_t *name, uint32_t n)
{
    if (n != BROKER_CONTAINER_ID_BYTES)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!(name[i] >= '0' && name[i] <= '9') && !(name[i] >= 'a' && name[i] <= 'f'))
            return false;
    }
    return true;
}

/* Whether the name says an event of the kind that the request has; rows need none. */
static bool event_valid(const struct broker_request *q)
{
    struct event_form form;

    if (q->name_n == 0)
        return q->set < EVENT_KINDS;
    return event_form_parse((struct span){ (const char *)q->name, q->name_n }, &form, NULL) == 0 &&
           form.kind == q->set;
}

/* Offsets of numbers of four bytes. */
static bool small_offset_valid(uint32_t offset)
{
    return offset <= BROKER_THREAD_BYTES_MAX && offset % sizeof(uint32_t) == 0;
}

/* Offsets into a JavaThread: a few words within some KiB. */
static bool offset_valid(uint32_t offset)
{
    return offset <= BROKER_THREAD_BYTES_MAX && offset % sizeof(uint64_t) == 0;
}

static bool probes_valid(const uint8_t *name, uint32_t n)
{
    struct broker_probes p;

    if (n != sizeof(p))
        return false;
    memcpy(&p, name, sizeof(p));
    if (p.count == 0 || p.count > BROKER_PROBES_MAX || !offset_valid(p.allocated_bytes) ||
        !offset_valid(p.tlab_start) || !offset_valid(p.tlab_top) || !offset_valid(p.tlab_end) ||
        p.layout_helper > BROKER_THREAD_BYTES_MAX || !offset_valid(p.element_klass) ||
        !offset_valid(p.resolved_klasses) || !offset_valid(p.pool_bytes) ||
        (p.reference_bytes != 4 && p.reference_bytes != 8))
        return false;
    for (uint32_t i = 0; i < BROKER_PROBES_MAX; i++) {
        if (i < p.count ? p.probes[i].kind >= BROKER_PROBE_KINDS
                        : p.probes[i].offset || p.probes[i].kind)
            return false;
    }
    return true;
}

static bool offset_of_file_valid(const uint8_t *name, uint32_t n)
{
    uint64_t offset;

    if (n != sizeof(offset))
        return false;
    memcpy(&offset, name, sizeof(offset));
    return offset < BROKER_FILE_BYTES_MAX;
}

static bool malloc_valid(const uint8_t *name, uint32_t n)
{
    struct broker_malloc m;

    if (n != sizeof(m))
        return false;
    memcpy(&m, name, sizeof(m));
    return m.offset < BROKER_FILE_BYTES_MAX && m.argument < BROKER_MALLOC_ARGUMENTS && !m.zero;
}

static bool java_thread_valid(const uint8_t *name, uint32_t n)
{
    struct broker_java_thread t;

    if (n != sizeof(t))
        return false;
    memcpy(&t, name, sizeof(t));
    return small_offset_valid(t.state) && offset_valid(t.safepoint) && t.begun <= t.native &&
           t.native < t.blocked && t.blocked < t.end;
}

static bool name_valid(const struct broker_request *q, unsigned fields)
{
    if (q->name_n > BROKER_NAME_MAX || !zero_after(q->name, q->name_n, sizeof(q->name)))
        return false;
    if (fields & BROKER_FIELD_BUILD_ID)
        return q->name_n >= 2 && q->name_n <= BROKER_BUILD_ID_MAX;
    if (fields & BROKER_FIELD_BASENAME)
        return basename_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_SHARED)
        return shared_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_CONTAINER)
        return container_id_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_EVENT)
        return event_valid(q);
    if (fields & BROKER_FIELD_PROBES)
        return probes_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_PLACE)
        return offset_of_file_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_MALLOC)
        return malloc_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_JAVA_THREAD)
        return java_thread_valid(q->name, q->name_n);
    if (fields & BROKER_FIELD_SOCKETS)
        return q->name_n > 0 && q->name_n % sizeof(uint64_t) == 0 &&
               q->name_n <= SOCKETS_ASKED_MAX * sizeof(uint64_t);
    return q->name_n == 0;
}

/* Whether start and end are what @fields say. */
static bool addresses_valid(const struct broker_request *q, unsigned fields)
{
    if (fields & BROKER_FIELD_ROWS)
        return q->start < q->end && q->end <= BROKER_ROWS_MAX &&
               q->end - q->start <= BROKER_TABLES_ROWS;
    if (fields & BROKER_FIELD_THREAD)
        return q->start && q->start < BROKER_ADDRESS_MAX && !q->end;
    if (fields & BROKER_FIELD_WORD)
        return q->start < BROKER_ADDRESS_MAX && !q->end;
    return fields & BROKER_FIELD_RANGE ? range_valid(q->start, q->end) : !q->start && !q->end;
}

/* Whether set and sets are what @fields say. */
static bool sets_valid(const struct broker_request *q, unsigned fields)
{
    if (fields & BROKER_FIELD_ATTACH)
        return q->set <= ATTACH_MOUNT &&
               !(q->sets & ~(uint32_t)(ATTACH_OPTIONS_ALL | BROKER_ATTACH_TMP)) &&
               (attach_loads(q->set) || !(q->sets & ATTACH_OPTIONS_ALL));
    if (fields & BROKER_FIELD_SETS ? q->sets >= 1u << BROKER_SETS_MAX : q->sets != 0)
        return false;
    if (fields & BROKER_FIELD_FRAMES)
        return q->set >= BROKER_FRAMES_MIN && q->set <= BROKER_FRAMES_MAX;
    if (fields & BROKER_FIELD_FILE)
        return q->set < TLS_FILE_END;
    if (fields & BROKER_FIELD_EVENT)
        return q->set < EVENT_KINDS_ALL;
    if (fields & BROKER_FIELD_OFFSET)
        return small_offset_valid(q->set);
    if (fields & BROKER_FIELD_THREAD)
        return q->set > 0 && q->set <= BROKER_PID_MAX;
    return fields & BROKER_FIELD_SET ? q->set < BROKER_SETS_MAX : q->set == 0;
}

int broker_request_check(const void *p, size_t n, struct broker_request *ret, struct error *err)
{
    const struct broker_request_info *info;
    struct broker_request q;
    unsigned fields;

    if (n != sizeof(q))
        return error_set(err, -EBADMSG, "a request has %zu bytes, not %zu", sizeof(q), n);
    memcpy(&q, p, sizeof(q));
    *ret = q;
    if (q.version != BROKER_WIRE_VERSION)
        return error_set(err, -EBADMSG, "requests have version %u, not %u", BROKER_WIRE_VERSION,
                         q.version);
    info = broker_request_info(q.kind);
    if (!info)
        return error_set(err, -EOPNOTSUPP, "there is no request %u", q.kind);
    fields = info->fields;
    if (fields & (BROKER_FIELD_TARGET | BROKER_FIELD_PID)
            ? q.host_pid <= 0 || q.host_pid > BROKER_PID_MAX
            : q.host_pid != 0)
        return error_set(err, -EINVAL, "%s: %d is no process id", info->name, q.host_pid);
    if (!(fields & BROKER_FIELD_TARGET) && q.start_ticks)
        return error_set(err, -EINVAL, "%s takes no start time", info->name);
    if (!addresses_valid(&q, fields))
        return error_set(err, -EINVAL, "%s: no such rows or addresses", info->name);
    if (fields & BROKER_FIELD_PERIOD ? !event_period_valid(q.set, q.period) : q.period != 0)
        return error_set(err, -EINVAL, "%s: the period is out of range", info->name);
    if (!sets_valid(&q, fields))
        return error_set(err, -EINVAL, "%s: %u, 0x%x is out of range", info->name, q.set, q.sets);
    if (q.zero || !name_valid(&q, fields))
        return error_set(err, -EINVAL, "%s: the name is not valid", info->name);
    return 0;
}

static bool terminated(const char *p, size_t n)
{
    return memchr(p, 0, n) != NULL;
}

static bool holders_valid(const struct broker_holders *h, size_t sockets)
{
    size_t counts[SOCKETS_ASKED_MAX] = { 0 };

    if (h->count > BROKER_HOLDERS_ITEMS || (uint64_t)h->told >> sockets || (h->many & ~h->told))
        return false;
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t socket = h->items[i] >> BROKER_HOLDER_SOCKET,
                 flags = (h->items[i] >> BROKER_HOLDER_BITS) & BROKER_HOLDER_FLAGS,
                 pid = h->items[i] & ((1u << BROKER_HOLDER_BITS) - 1);

        if (socket >= sockets || !(h->told & ~h->many & UINT32_C(1) << socket) || pid == 0 ||
            pid > BROKER_PID_MAX || flags > (HOLDER_OUR_PIDS | HOLDER_OUR_USERS) ||
            ++counts[socket] > SOCKET_HOLDERS_MAX)
            return false;
    }
    return true;
}

int broker_answer_check(const void *p, size_t n, size_t fd_count, const struct broker_request *req,
                        size_t fds_before, struct broker_answer *ret)
{
    const struct broker_request_info *info = broker_request_info(req->kind);
    struct broker_answer a;
    size_t fds_max;

    if (!info || n != sizeof(a))
        return -EBADMSG;
    memcpy(&a, p, sizeof(a));
    if (a.version != BROKER_WIRE_VERSION || a.kind != req->kind || a.seq != req->seq)
        return -EBADMSG;
    fds_max = a.result == 0 ? info->fds_max : 0;
    if (a.fd_count != fd_count || fd_count > BROKER_FDS_MAX || fds_before + fd_count > fds_max ||
        a.more > 1 || (a.more && (fd_count == 0 || fds_before + fd_count >= fds_max)))
        return -EBADMSG;
    /* What hands out a fixed number of fds may not leave one out. */
    if (a.result == 0 && (fds_max == 1 || req->kind == BROKER_ATTACH) && fd_count != fds_max)
        return -EBADMSG;
    if (a.result < 0 && (a.result < -4095 || !terminated(a.failure.msg, sizeof(a.failure.msg)) ||
                         !terminated(a.failure.remedy, sizeof(a.failure.remedy))))
        return -EBADMSG;
    if (a.result > 0 && a.result != PROC_GONE && a.result != BROKER_ABSENT)
        return -EBADMSG;
    if (a.result == 0 && req->kind == BROKER_FACTS &&
        (!terminated(a.facts.bpf_problem, sizeof(a.facts.bpf_problem)) ||
         !terminated(a.facts.sideband_problem, sizeof(a.facts.sideband_problem))))
        return -EBADMSG;
    if (a.result == 0 && req->kind == BROKER_SAMPLE_START && a.value >= BROKER_SETS_MAX)
        return -EBADMSG;
    if (a.result == 0 && (req->kind == BROKER_RING || req->kind == BROKER_MOMENTS_RING) &&
        (a.value == 0 || a.value > (UINT64_C(1) << 32) || (a.value & (a.value - 1))))
        return -EBADMSG;
    if (a.result == 0 && req->kind == BROKER_SOCKET_HOLDERS &&
        !holders_valid(&a.holders, req->name_n / sizeof(uint64_t)))
        return -EBADMSG;
    if (a.result == 0 && req->kind == BROKER_NAMESPACE_USER &&
        (a.value == 0 || a.value >= UINT32_MAX))
        return -EBADMSG;
    if (a.result == 0 && req->kind == BROKER_ATTACH_ENDED && a.value > BROKER_WAIT_STATUS_MAX)
        return -EBADMSG;
    *ret = a;
    return 0;
}
