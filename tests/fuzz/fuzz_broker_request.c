/* SPDX-License-Identifier: Apache-2.0 */
/* broker_request_check(): what it lets through is in range and has nothing set that its kind does
 * not take. */
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

/* An event that has a row of its own needs no text, and one by its text is what that says. */
static void check_event(const struct broker_request *q)
{
    struct event_form form;

    if (q->name_n)
        need(event_form_parse((struct span){ (const char *)q->name, q->name_n }, &form, NULL) ==
                 0 &&
             form.kind == q->set);
    else
        need(q->set < EVENT_KINDS);
}

static void check_probes(const struct broker_request *q)
{
    struct broker_probes p;

    need(q->name_n == sizeof(p));
    memcpy(&p, q->name, sizeof(p));
    need(p.count > 0 && p.count <= BROKER_PROBES_MAX);
    need(p.reference_bytes == 4 || p.reference_bytes == 8);
    need(p.tlab_end <= BROKER_THREAD_BYTES_MAX && p.layout_helper <= BROKER_THREAD_BYTES_MAX);
    for (size_t i = 0; i < p.count; i++)
        need(p.probes[i].kind < BROKER_PROBE_KINDS);
}

static void check_java_thread(const struct broker_request *q)
{
    struct broker_java_thread t;

    need(q->name_n == sizeof(t));
    memcpy(&t, q->name, sizeof(t));
    need(t.state <= BROKER_THREAD_BYTES_MAX && t.state % 4 == 0);
    need(t.safepoint <= BROKER_THREAD_BYTES_MAX && t.safepoint % 8 == 0);
    need(t.begun <= t.native && t.native < t.blocked && t.blocked < t.end);
}

static void check_name(const struct broker_request *q, unsigned fields)
{
    need(q->name_n <= BROKER_NAME_MAX && q->name[q->name_n] == 0);
    if (fields & BROKER_FIELD_BASENAME) {
        need(q->name_n > 0 && q->name[0] != '.' && !memchr(q->name, '/', q->name_n) &&
             !memchr(q->name, 0, q->name_n));
    } else if (fields & BROKER_FIELD_SHARED) {
        need(q->name_n > 0 && q->name[0] != '.' && q->name[0] != '/' &&
             q->name[q->name_n - 1] != '/' && !memchr(q->name, 0, q->name_n) &&
             !strstr((const char *)q->name, "//") && !strstr((const char *)q->name, "/."));
    } else if (fields & BROKER_FIELD_CONTAINER) {
        need(strspn((const char *)q->name, "0123456789abcdef") == 64 && q->name_n == 64);
    } else if (fields & BROKER_FIELD_BUILD_ID) {
        need(q->name_n >= 2 && q->name_n <= BROKER_BUILD_ID_MAX);
    } else if (fields & BROKER_FIELD_SOCKETS) {
        need(q->name_n > 0 && q->name_n % 8 == 0 && q->name_n <= 8 * SOCKETS_ASKED_MAX);
    } else if (fields & BROKER_FIELD_EVENT) {
        check_event(q);
    } else if (fields & BROKER_FIELD_PROBES) {
        check_probes(q);
    } else if (fields & BROKER_FIELD_MALLOC) {
        need(q->name_n == sizeof(struct broker_malloc) && q->name[5] == 0 && q->name[7] == 0 &&
             q->name[8] < BROKER_MALLOC_ARGUMENTS && q->name[9] == 0 && q->name[12] == 0);
    } else if (fields & BROKER_FIELD_JAVA_THREAD) {
        check_java_thread(q);
    } else if (fields & BROKER_FIELD_PLACE) {
        need(q->name_n == 8 && q->name[7] == 0 && q->name[6] == 0 && q->name[5] == 0);
    } else {
        need(q->name_n == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct broker_request q = { 0 };
    struct error err = ERROR_NULL;
    int r = broker_request_check(data, size, &q, &err);
    unsigned fields;

    need((r == 0) == (err.code == 0));
    if (r < 0)
        return 0;
    need(size == sizeof(q) && broker_request_info(q.kind));
    fields = broker_request_info(q.kind)->fields;
    need((fields & (BROKER_FIELD_TARGET | BROKER_FIELD_PID)) ? q.host_pid > 0 : q.host_pid == 0);
    need((fields & BROKER_FIELD_TARGET) || q.start_ticks == 0);
    if (fields & BROKER_FIELD_RANGE)
        need(q.start < q.end && q.end - q.start >= 4096);
    else if (fields & BROKER_FIELD_ROWS)
        need(q.start < q.end && q.end <= BROKER_ROWS_MAX && q.end - q.start <= BROKER_TABLES_ROWS);
    else if (fields & BROKER_FIELD_THREAD)
        need(q.start && !q.end && q.set > 0 && q.set <= INT32_MAX);
    else
        need(!q.start && !q.end);
    need((fields & BROKER_FIELD_PERIOD) ? event_period_valid(q.set, q.period) : !q.period);
    if (fields & BROKER_FIELD_FRAMES)
        need(q.set >= BROKER_FRAMES_MIN && q.set <= BROKER_FRAMES_MAX);
    else if (fields & BROKER_FIELD_EVENT)
        need(q.set < EVENT_KINDS_ALL);
    else if (fields & BROKER_FIELD_OFFSET)
        need(q.set <= BROKER_THREAD_BYTES_MAX && q.set % 4 == 0);
    else if (!(fields & BROKER_FIELD_THREAD))
        need(q.set < BROKER_SETS_MAX);
    need(q.sets < 1u << BROKER_SETS_MAX);
    if (fields & BROKER_FIELD_ATTACH) /* one of two ways, and options of the agent alone */
        need(q.set <= ATTACH_MOUNT &&
             (attach_loads(q.set) || !(q.sets & ~(uint32_t)BROKER_ATTACH_TMP)) &&
             (q.sets & ~(uint32_t)BROKER_ATTACH_TMP) <=
                 (STREAM_OPTION_STUBS | STREAM_OPTION_ONCE | STREAM_OPTION_SAMPLES));
    check_name(&q, fields);
    return 0;
}
