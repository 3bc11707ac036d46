/* SPDX-License-Identifier: Apache-2.0 */
#include "broker_client/requests.h"

#include "agent/stream.h"
#include "base/list.h"
#include "base/tls_paths.h"
#include "event/event_form.h"
#include "event/events.h"
#include "helper/job.h"

#define PAGE_MASK_BYTES UINT64_C(4095)
#define ATTACH_OPTIONS_ALL (STREAM_OPTION_STUBS | STREAM_OPTION_ONCE | STREAM_OPTION_SAMPLES)
#define ERRNO_MAX 4095
#define RING_BYTES_MAX (UINT64_C(1) << 32)

#define OF_TARGET(type)                                                                            \
    _Generic((struct type *)NULL, struct target_fields *                                           \
             : true, struct mapping_fields *                                                       \
             : true, struct build_id_fields *                                                      \
             : true, struct debuglink_fields *                                                     \
             : true, struct shared_fields *                                                        \
             : true, struct attach_fields *                                                        \
             : true, struct peers_fields *                                                         \
             : true, struct probe_put_fields *                                                     \
             : true, default                                                                       \
             : false)

static const struct broker_request_info REQUESTS[BROKER_KIND_END] = {
#define REQUEST(number, id, name, type, answer, fds)                                               \
    [number] = { #name, sizeof(struct type), fds, OF_TARGET(type) },
#include "broker_client/requests.def"
#undef REQUEST
};

const struct broker_request_info *broker_request_info(uint32_t kind)
{
    return kind < ARRAY_SIZE(REQUESTS) && REQUESTS[kind].name ? &REQUESTS[kind] : NULL;
}

/* ---- the fields of requests ---- */

static bool zero_after(const void *p, size_t from, size_t n)
{
    const uint8_t *bytes = p;

    return from >= n || ALL_OF(i, n - from, !bytes[from + i]);
}

/* Returns the length of the string @p, or -1 if it does not end within @n bytes, or a byte behind
 * its end is not zero. */
static ptrdiff_t string_length(const char *p, size_t n)
{
    size_t length = strnlen(p, n);

    return length < n && zero_after(p, length, n) ? (ptrdiff_t)length : -1;
}

static bool pid_valid(int32_t pid)
{
    return pid > 0 && pid <= BROKER_PID_MAX;
}

static bool set_valid(uint32_t set)
{
    return set < BROKER_SETS_MAX;
}

static bool sets_valid(uint32_t sets)
{
    return sets < 1u << BROKER_SETS_MAX;
}

/* Checks the offset of a number in an object of the VM, a multiple of @align bytes. */
static bool offset_valid(uint32_t offset, size_t align)
{
    return offset <= BROKER_THREAD_BYTES_MAX && offset % align == 0;
}

static bool basename_valid(const char *name, size_t n)
{
    if (n == 0 || name[0] == '.')
        return false;
    return ALL_OF(i, n, (unsigned char)name[i] > ' ' && name[i] != '/' && name[i] != 0x7f);
}

static bool no_fields_valid(const struct no_fields *f)
{
    return !f->zero;
}

static bool target_fields_valid(const struct target_fields *f)
{
    return pid_valid(f->host_pid) && !f->zero;
}

static bool mapping_fields_valid(const struct mapping_fields *f)
{
    return target_fields_valid(&f->target) && f->start < f->end && f->end <= BROKER_ADDRESS_MAX &&
           !(f->start & PAGE_MASK_BYTES) && !(f->end & PAGE_MASK_BYTES);
}

static bool build_id_fields_valid(const struct build_id_fields *f)
{
    return target_fields_valid(&f->target) && f->n >= 2 && f->n <= BROKER_BUILD_ID_MAX &&
           zero_after(f->bytes, f->n, sizeof(f->bytes));
}

static bool debuglink_fields_valid(const struct debuglink_fields *f)
{
    ptrdiff_t n = string_length(f->name, sizeof(f->name));

    return mapping_fields_valid(&f->at) && n > 0 && basename_valid(f->name, (size_t)n);
}

static bool shared_fields_valid(const struct shared_fields *f)
{
    ptrdiff_t n = string_length(f->name, sizeof(f->name)), start = 0;

    if (!target_fields_valid(&f->target) || n <= 0)
        return false;
    for (ptrdiff_t i = 0; i <= n; i++) {
        if (i < n && f->name[i] != '/')
            continue;
        if (!basename_valid(f->name + start, (size_t)(i - start)))
            return false;
        start = i + 1;
    }
    return true;
}

static bool container_fields_valid(const struct container_fields *f)
{
    return string_length(f->id, sizeof(f->id)) == BROKER_CONTAINER_ID_BYTES &&
           strspn(f->id, "0123456789abcdef") == BROKER_CONTAINER_ID_BYTES;
}

static bool event_fields_valid(const struct event_fields *f)
{
    ptrdiff_t n = string_length(f->text, sizeof(f->text));
    struct event_form form;

    if (n < 0 || f->yields > 1)
        return false;
    if (f->yields && f->kind != EVENT_OFFCPU && f->kind != EVENT_LOCK)
        return false;
    if (n == 0)
        return f->kind < EVENT_KINDS;
    return event_form_parse((struct span){ f->text, (size_t)n }, &form, NULL) == 0 &&
           form.kind == f->kind;
}

static bool sample_fields_valid(const struct sample_fields *f)
{
    return event_fields_valid(&f->event) && event_period_valid(f->event.kind, f->period);
}

static bool set_fields_valid(const struct set_fields *f)
{
    return set_valid(f->set) && !f->zero;
}

static bool sets_fields_valid(const struct sets_fields *f)
{
    return sets_valid(f->sets) && !f->zero;
}

static bool pid_fields_valid(const struct pid_fields *f)
{
    return pid_valid(f->host_pid) && !f->zero;
}

static bool filter_fields_valid(const struct filter_fields *f)
{
    return pid_valid(f->host_pid) && sets_valid(f->sets);
}

static bool rows_fields_valid(const struct rows_fields *f)
{
    return f->first < f->end && f->end <= BROKER_ROWS_MAX &&
           f->end - f->first <= BROKER_TABLES_ROWS;
}

static bool attach_fields_valid(const struct attach_fields *f)
{
    return target_fields_valid(&f->target) && f->mode <= ATTACH_MOUNT &&
           !(f->options & ~(uint32_t)ATTACH_OPTIONS_ALL) &&
           (attach_loads(f->mode) || !f->options) && f->mount_tmp <= 1 && !f->zero;
}

static bool config_fields_valid(const struct config_fields *f)
{
    return f->file <= TLS_FILE_PUSHED && (f->file == TLS_FILE_PUSHED) == (f->path_hash != 0);
}

static bool rings_fields_valid(const struct rings_fields *f)
{
    return f->first < BROKER_CPUS_MAX && !f->zero;
}

static bool frames_fields_valid(const struct frames_fields *f)
{
    return f->frames >= BROKER_FRAMES_MIN && f->frames <= BROKER_FRAMES_MAX && !f->zero;
}

static bool thread_fields_valid(const struct thread_fields *f)
{
    return pid_valid(f->host_pid) && pid_valid(f->host_tid) && f->java_thread &&
           f->java_thread < BROKER_ADDRESS_MAX;
}

static bool sockets_fields_valid(const struct sockets_fields *f)
{
    if (f->count == 0 || f->count > SOCKETS_ASKED_MAX || f->zero || f->net_ns > UINT32_MAX)
        return false;
    return ALL_OF(i, f->count, f->keys[i]) &&
           zero_after(f->keys, f->count * sizeof(f->keys[0]), sizeof(f->keys));
}

static bool heap_valid(const struct alloc_vm *h)
{
    return offset_valid(h->allocated_bytes, 8) && offset_valid(h->tlab_start, 8) &&
           offset_valid(h->tlab_top, 8) && offset_valid(h->tlab_end, 8) &&
           offset_valid(h->layout_helper, 1) && offset_valid(h->element_klass, 8) &&
           offset_valid(h->resolved_klasses, 8) && offset_valid(h->pool_bytes, 8) &&
           (h->reference_bytes == 4 || h->reference_bytes == 8);
}

static bool java_thread_valid(const struct moment_thread *t)
{
    return offset_valid(t->state, 4) && offset_valid(t->safepoint, 8) && t->begun <= t->native &&
           t->native < t->blocked && t->blocked < t->end;
}

static bool yields_valid(const struct yields_vm *y)
{
    return offset_valid(y->owner_id, 8) && offset_valid(y->own, 8) && y->own &&
           offset_valid(y->tid, 8) && y->tid && offset_valid(y->state, 4) && y->state &&
           y->yielding && y->ended;
}

static bool agent_valid(const struct broker_agent *a)
{
    return a->collections < BROKER_ADDRESS_MAX && offset_valid(a->class_klass, 4) && !a->zero;
}

/* Checks the description of a JVM, which depends on the program of @p. */
static bool about_valid(const struct broker_probes *p)
{
    const size_t n = sizeof(p->about);

    switch (p->program) {
    case BROKER_PROBED_HEAP:
        return heap_valid(&p->about.heap) && zero_after(&p->about, sizeof(p->about.heap), n);
    case BROKER_PROBED_AGENT:
        return agent_valid(&p->about.agent) && zero_after(&p->about, sizeof(p->about.agent), n);
    case BROKER_PROBED_MOMENTS:
        return java_thread_valid(&p->about.thread) &&
               zero_after(&p->about, sizeof(p->about.thread), n);
    case BROKER_PROBED_YIELDS:
        return yields_valid(&p->about.yields) && zero_after(&p->about, sizeof(p->about.yields), n);
    default:
        return zero_after(&p->about, 0, n);
    }
}

/* For each program: the limit of places that flamed names, the number of their kinds, and whether
 * the probes belong to one set. */
static const struct {
    uint32_t places, kinds;
    bool of_set;
} PROGRAMS[BROKER_PROBED_PROGRAMS] = {
    [BROKER_PROBED_HEAP] = { BROKER_PLACES_MAX, ALLOC_KINDS, false },
    [BROKER_PROBED_AGENT] = { 0, 0, false },
    [BROKER_PROBED_MOMENTS] = { 0, 0, false },
    [BROKER_PROBED_CALL] = { 1, 1, true },
    [BROKER_PROBED_MALLOC] = { 1, BROKER_MALLOC_ARGUMENTS, true },
    [BROKER_PROBED_YIELDS] = { YIELDS_KINDS, YIELDS_KINDS, false },
};

static bool probed_set_valid(uint32_t program, uint32_t set)
{
    return program < BROKER_PROBED_PROGRAMS && (PROGRAMS[program].of_set ? set_valid(set) : !set);
}

static bool places_valid(const struct broker_probes *p)
{
    if (p->count > PROGRAMS[p->program].places || (!p->count && PROGRAMS[p->program].places))
        return false;
    for (uint32_t i = 0; i < p->count; i++) {
        if (broker_place_offset(p->places[i]) >= BROKER_FILE_BYTES_MAX ||
            broker_place_kind(p->places[i]) >= PROGRAMS[p->program].kinds)
            return false;
    }
    return zero_after(p->places, p->count * sizeof(p->places[0]), sizeof(p->places));
}

static bool probe_put_fields_valid(const struct probe_put_fields *f)
{
    const struct broker_probes *p = &f->probes;

    if (!probed_set_valid(p->program, p->set) || p->zero || !about_valid(p) || !places_valid(p))
        return false;
    return p->program == BROKER_PROBED_AGENT
               ? target_fields_valid(&f->at.target) && !f->at.start && !f->at.end
               : mapping_fields_valid(&f->at);
}

static bool probe_drop_fields_valid(const struct probe_drop_fields *f)
{
    return pid_valid(f->host_pid) && !f->zero &&
           (f->program == BROKER_PROBED_MOMENTS ? sets_valid(f->which)
                                                : probed_set_valid(f->program, f->which));
}

static bool look_fields_valid(const struct look_fields *f)
{
    return f->pass.parts && f->pass.parts <= BROKER_LOOK_PARTS_MAX && f->pass.part < f->pass.parts;
}

static bool look_process_fields_valid(const struct look_process_fields *f)
{
    return pid_valid(f->host_pid);
}

static bool peers_fields_valid(const struct peers_fields *f)
{
    return target_fields_valid(&f->target) && f->count && f->count <= PEERS_MAX && !f->zero &&
           ALL_OF(i, f->count,
                  pid_valid((int32_t)f->threads[i].host_tid) && f->threads[i].fd >= -1) &&
           zero_after(f->threads, f->count * sizeof(f->threads[0]), sizeof(f->threads));
}

/* Checks the fields of @q's kind, and that all bytes behind them are zero. */
static bool fields_valid(const struct broker_request *q)
{
    const union broker_fields *f = &q->fields;

    switch (q->kind) {
#define REQUEST(number, id, name, type, answer, fds)                                               \
    case (number):                                                                                 \
        return type##_valid(&f->name) && zero_after(f->bytes, sizeof(f->name), sizeof(*f));
#include "broker_client/requests.def"
#undef REQUEST
    default:
        return false;
    }
}

int broker_request_check(const void *p, size_t n, struct broker_request *ret, struct error *err)
{
    const struct broker_request_info *info;

    if (n != sizeof(*ret))
        return error_set(err, -EBADMSG, "a request has %zu bytes, not %zu", sizeof(*ret), n);
    memcpy(ret, p, sizeof(*ret));
    if (ret->version != BROKER_WIRE_VERSION)
        return error_set(err, -EBADMSG, "requests have version %u, not %u", BROKER_WIRE_VERSION,
                         ret->version);
    info = broker_request_info(ret->kind);
    if (!info)
        return error_set(err, -EOPNOTSUPP, "there is no request %u", ret->kind);
    if (ret->zero || !fields_valid(ret))
        return error_set(err, -EINVAL, "%s: a field is out of range", info->name);
    return 0;
}

/* ---- answers ---- */

static bool terminated(const char *p, size_t n)
{
    return memchr(p, 0, n) != NULL;
}

static bool failure_valid(const struct broker_answer *a)
{
    const struct broker_failure *f = &a->body.failure;

    return a->result >= -ERRNO_MAX && terminated(f->msg, sizeof(f->msg)) &&
           terminated(f->remedy, sizeof(f->remedy));
}

/* Checks of answers that may have any values. */
#define no_answer_valid(a) true
#define sample_stats_valid(a) true
#define flush_answer_valid(a) true
#define calls_answer_valid(a) true
#define yields_answer_valid(a) true

static bool broker_facts_valid(const struct broker_facts *a)
{
    return terminated(a->bpf_problem, sizeof(a->bpf_problem)) &&
           terminated(a->sideband_problem, sizeof(a->sideband_problem));
}

static bool ring_answer_valid(const struct ring_answer *a)
{
    return a->bytes && a->bytes <= RING_BYTES_MAX && !(a->bytes & (a->bytes - 1));
}

static bool set_answer_valid(const struct set_answer *a)
{
    return set_valid(a->set);
}

static bool cgroup_answer_valid(const struct cgroup_answer *a)
{
    return a->frozen <= 1;
}

static bool cgroup_files_answer_valid(const struct cgroup_files_answer *a)
{
    return a->files < 1u << BROKER_CGROUP_FILES && !a->zero;
}

static bool status_answer_valid(const struct status_answer *a)
{
    return a->status <= BROKER_WAIT_STATUS_MAX;
}

static bool user_answer_valid(const struct user_answer *a)
{
    return a->uid && a->uid < UINT32_MAX;
}

static bool peers_answer_valid(const struct peers_answer *a)
{
    return ALL_OF(i, PEERS_MAX,
                  a->threads[i].host_tid <= BROKER_PID_MAX && !a->threads[i].zero &&
                      (!a->threads[i].family || a->threads[i].host_tid));
}

static bool broker_holders_valid(const struct broker_holders *h)
{
    size_t counts[SOCKETS_ASKED_MAX] = { 0 };

    if (h->count > BROKER_HOLDERS_ITEMS || (h->many & ~h->told) || h->slow > 1)
        return false;
    for (uint32_t i = 0; i < h->count; i++) {
        uint32_t socket = h->items[i] >> BROKER_HOLDER_SOCKET,
                 flags = (h->items[i] >> BROKER_HOLDER_BITS) & BROKER_HOLDER_FLAGS;
        int32_t pid = (int32_t)(h->items[i] & ((1u << BROKER_HOLDER_BITS) - 1));

        if (socket >= SOCKETS_ASKED_MAX || !(h->told & ~h->many & UINT32_C(1) << socket) ||
            !pid_valid(pid) || flags > (HOLDER_OUR_PIDS | HOLDER_OUR_USERS | HOLDER_BOUNDED) ||
            ++counts[socket] > SOCKET_HOLDERS_MAX)
            return false;
    }
    return true;
}

static bool body_valid(const struct broker_answer *a, const struct broker_request *q)
{
    if (a->result < 0)
        return failure_valid(a);
    if (a->result > 0)
        return a->result == PROC_GONE || a->result == BROKER_ABSENT;
    if (q->kind == BROKER_SOCKET_HOLDERS && /* only sockets of the request */
        (uint64_t)a->body.socket_holders.told >> q->fields.socket_holders.count)
        return false;
    switch (q->kind) {
#define REQUEST(number, id, name, type, answer, fds)                                               \
    case (number):                                                                                 \
        return answer##_valid(&a->body.name);
#include "broker_client/requests.def"
#undef REQUEST
    default:
        return false;
    }
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
    /* Each fd has to be there if the number of fds is fixed. */
    if (a.result == 0 && (fds_max == 1 || req->kind == BROKER_ATTACH) && fd_count != fds_max)
        return -EBADMSG;
    if (!body_valid(&a, req))
        return -EBADMSG;
    *ret = a;
    return 0;
}
