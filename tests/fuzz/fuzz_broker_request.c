/* SPDX-License-Identifier: Apache-2.0 */
/* broker_request_check(): an accepted request is in range, and sets only fields of its kind. */
#include "agent/stream.h"
#include "broker_client/requests.h"
#include "event/event_form.h"
#include "event/events.h"
#include "helper/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool x)
{
    if (!x)
        abort();
}

/* An event with a row of its own needs no text. An event with a text has the kind that the text
 * gives. */
static void check_event(const struct event_fields *e)
{
    struct event_form form;

    need(memchr(e->text, 0, sizeof(e->text)) != NULL);
    if (e->text[0])
        need(event_form_parse(span_of(e->text), &form, NULL) == 0 && form.kind == e->kind);
    else
        need(e->kind < EVENT_KINDS);
}

static void check_mapping(const struct mapping_fields *m)
{
    need(m->start < m->end && m->end - m->start >= 4096 && m->end <= BROKER_ADDRESS_MAX);
}

static void check_about(const struct broker_probes *p)
{
    const struct alloc_vm *heap = &p->about.heap;
    const struct moment_thread *t = &p->about.thread;

    switch (p->program) {
    case BROKER_PROBED_HEAP:
        need(heap->reference_bytes == 4 || heap->reference_bytes == 8);
        need(heap->tlab_end <= BROKER_THREAD_BYTES_MAX &&
             heap->layout_helper <= BROKER_THREAD_BYTES_MAX);
        break;
    case BROKER_PROBED_AGENT:
        need(p->about.agent.collections < BROKER_ADDRESS_MAX &&
             p->about.agent.class_klass % 4 == 0);
        break;
    case BROKER_PROBED_MOMENTS:
        need(t->state <= BROKER_THREAD_BYTES_MAX && t->state % 4 == 0);
        need(t->safepoint <= BROKER_THREAD_BYTES_MAX && t->safepoint % 8 == 0);
        need(t->begun <= t->native && t->native < t->blocked && t->blocked < t->end);
        break;
    default:
        need(p->set < BROKER_SETS_MAX && p->count == 1);
        break;
    }
}

static void check_probe(const struct probe_put_fields *f)
{
    const struct broker_probes *p = &f->probes;

    need(p->program < BROKER_PROBED_PROGRAMS && p->count <= BROKER_PLACES_MAX);
    if (p->program != BROKER_PROBED_AGENT)
        check_mapping(&f->at);
    check_about(p);
    for (size_t i = 0; i < p->count; i++)
        need(broker_place_offset(p->places[i]) < BROKER_FILE_BYTES_MAX &&
             broker_place_kind(p->places[i]) < ALLOC_KINDS);
}

static void check_attach(const struct attach_fields *f)
{
    need(f->mode <= ATTACH_MOUNT && f->mount_tmp <= 1 && (attach_loads(f->mode) || !f->options) &&
         f->options <= (STREAM_OPTION_STUBS | STREAM_OPTION_ONCE | STREAM_OPTION_SAMPLES));
}

static void check_fields(const struct broker_request *q)
{
    const union broker_fields *f = &q->fields;

    switch (q->kind) {
    case BROKER_MAPPED:
        check_mapping(&f->mapped);
        break;
    case BROKER_DEBUG:
        need(f->debug.n >= 2 && f->debug.n <= sizeof(f->debug.bytes));
        break;
    case BROKER_DEBUGLINK:
        check_mapping(&f->debuglink.at);
        need(strnlen(f->debuglink.name, 256) < 256 && !strchr(f->debuglink.name, '/') &&
             f->debuglink.name[0] && f->debuglink.name[0] != '.');
        break;
    case BROKER_DEBUG_SHARED:
        need(strnlen(f->debug_shared.name, 256) < 256 && f->debug_shared.name[0] != '.' &&
             f->debug_shared.name[0] != '/' && !strstr(f->debug_shared.name, "//") &&
             !strstr(f->debug_shared.name, "/."));
        break;
    case BROKER_CONTAINER_CONFIG:
        need(strspn(f->container_config.id, "0123456789abcdef") == 64 &&
             !f->container_config.id[64]);
        break;
    case BROKER_SAMPLE_START:
        check_event(&f->sample_start.event);
        need(event_period_valid(f->sample_start.event.kind, f->sample_start.period));
        break;
    case BROKER_SAMPLE_CHECK:
        check_event(&f->sample_check);
        break;
    case BROKER_PUT_ROWS:
        need(f->put_rows.first < f->put_rows.end && f->put_rows.end <= BROKER_ROWS_MAX &&
             f->put_rows.end - f->put_rows.first <= BROKER_TABLES_ROWS);
        break;
    case BROKER_PUT_THREAD:
        need(f->put_thread.java_thread && f->put_thread.host_tid > 0);
        break;
    case BROKER_UNWIND_LIMIT:
        need(f->unwind_limit.frames >= BROKER_FRAMES_MIN &&
             f->unwind_limit.frames <= BROKER_FRAMES_MAX);
        break;
    case BROKER_SOCKET_HOLDERS:
        need(f->socket_holders.count > 0 && f->socket_holders.count <= SOCKETS_ASKED_MAX);
        break;
    case BROKER_WAIT_PEERS:
        need(f->wait_peers.count > 0 && f->wait_peers.count <= PEERS_MAX &&
             f->wait_peers.threads[0].host_tid && f->wait_peers.threads[0].fd >= -1);
        break;
    case BROKER_ATTACH:
        check_attach(&f->attach);
        break;
    case BROKER_PROBE_PUT:
        check_probe(&f->probe_put);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct broker_request_info *info;
    struct broker_request q = { 0 };
    struct error err = ERROR_NULL;
    int r = broker_request_check(data, size, &q, &err);

    need((r == 0) == (err.code == 0));
    if (r < 0)
        return 0;
    info = broker_request_info(q.kind);
    need(size == sizeof(q) && info);
    need(!info->of_target ||
         (q.fields.target.host_pid > 0 && q.fields.target.host_pid <= BROKER_PID_MAX));
    for (size_t i = info->fields_bytes; i < sizeof(q.fields); i++)
        need(!q.fields.bytes[i]);
    check_fields(&q);
    return 0;
}
