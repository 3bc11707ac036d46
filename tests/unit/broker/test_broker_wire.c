/* SPDX-License-Identifier: Apache-2.0 */
/* broker: messages that flamed would never send. */
#include "broker_messages.h"

/* ---- the pure check, and the broker's answer to the same ---- */

static const struct {
    uint32_t kind;
    size_t offset, bytes;
    uint64_t value;
    int r;
} CHECKS[] = {
    { 0, NOTHING, 0, -EOPNOTSUPP },
    { BROKER_KIND_END, NOTHING, 0, -EOPNOTSUPP },
    { 3, NOTHING, 0, -EOPNOTSUPP }, /* environ, a request that no longer exists */
    { UINT32_MAX, NOTHING, 0, -EOPNOTSUPP },
    { BROKER_KALLSYMS, AT(version), 0, -EBADMSG },
    { BROKER_KALLSYMS, AT(version), 1, -EBADMSG },
    { BROKER_KALLSYMS, AT(version), 2, -EBADMSG },
    { BROKER_KALLSYMS, AT(zero), 1, -EINVAL },
    { BROKER_KALLSYMS, AT(fields.kallsyms.zero), 1, -EINVAL },
    { BROKER_KALLSYMS, AT(fields.bytes[303]), 1, -EINVAL },
    { BROKER_MEM, AT(fields.mem.host_pid), 0, -EINVAL },
    { BROKER_MEM, AT(fields.mem.host_pid), UINT32_MAX, -EINVAL }, /* -1 */
    { BROKER_MEM, AT(fields.mem.host_pid), BROKER_PID_MAX + 1, -EINVAL },
    { BROKER_MEM, AT(fields.mem.zero), 1, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.period), 0, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.period), 99999, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.period), UINT64_MAX, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.period), 1000000001, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.event.kind), EVENT_KINDS, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.event.text[0]), 'x', -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.event.text[1]), 'x', -EINVAL },
    { BROKER_SAMPLE_CHECK, AT(fields.sample_check.kind), EVENT_KINDS, -EINVAL },
    { BROKER_SAMPLE_CHECK, AT(fields.sample_check.kind), UINT32_MAX, -EINVAL },
    { BROKER_SAMPLE_STOP, AT(fields.sample_stop.set), BROKER_SETS_MAX, -EINVAL },
    { BROKER_SAMPLE_STOP, AT(fields.sample_stop.set), UINT32_MAX, -EINVAL },
    { BROKER_FILTER_ALL, AT(fields.filter_all.sets), 1 << BROKER_SETS_MAX, -EINVAL },
    { BROKER_FILTER_PROCESS, AT(fields.filter_process.sets), UINT32_MAX, -EINVAL },
    { BROKER_FILTER_PROCESS, AT(fields.filter_process.host_pid), 0, -EINVAL },
    { BROKER_DEBUG, AT(fields.debug.n), 1, -EINVAL },
    { BROKER_DEBUG, AT(fields.debug.n), 21, -EINVAL },
    { BROKER_DEBUG, AT(fields.debug.n), UINT32_MAX, -EINVAL },
    { BROKER_DEBUG_SHARED, AT(fields.debug_shared.name[0]), 0, -EINVAL },
    { BROKER_DEBUG_SHARED, AT(fields.debug_shared.name[2]), '/', -EINVAL },
    { BROKER_DEBUG_SHARED, AT(fields.debug_shared.name[2]), '.', -EINVAL },
    { BROKER_DEBUG_SHARED, AT(fields.debug_shared.name[255]), 'x', -EINVAL },
    { BROKER_DEBUGLINK, AT(fields.debuglink.name[0]), '/', -EINVAL },
    { BROKER_DEBUGLINK, AT(fields.debuglink.name[0]), '.', -EINVAL },
    { BROKER_DEBUGLINK, AT(fields.debuglink.name[0]), 0, -EINVAL },
    { BROKER_CONTAINER_CONFIG, AT(fields.container_config.id[63]), 0, -EINVAL },
    { BROKER_CONTAINER_CONFIG, AT(fields.container_config.id[63]), 'g', -EINVAL },
    { BROKER_CONTAINER_CONFIG, AT(fields.container_config.id[64]), 'a', -EINVAL },
    { BROKER_MAPPED, AT(fields.mapped.end), 0, -EINVAL },
    { BROKER_MAPPED, AT(fields.mapped.start), 1, -EINVAL },
    { BROKER_MAPPED, AT(fields.mapped.start), UINT64_MAX, -EINVAL },
    { BROKER_MAPPED, AT(fields.mapped.end), BROKER_ADDRESS_MAX + 4096, -EINVAL },
    { BROKER_PROBE_PUT, AT(fields.probe_put.at.start), 0x1001, -EINVAL },
    { BROKER_PROBE_PUT, AT(fields.probe_put.at.end), 0, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.program), BROKER_PROBED_PROGRAMS, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.program), UINT32_MAX, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.set), 1, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.zero), 1, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.count), 0, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.count), BROKER_PLACES_MAX + 1, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.about.heap.reference_bytes), 5, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.about.heap.tlab_top), 4, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.places[0]), PLACE(0, ALLOC_KINDS), -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.places[0]), PLACE(BROKER_FILE_BYTES_MAX, 0), -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.places[0]), UINT64_MAX, -EINVAL },
    { BROKER_PROBE_PUT, AT(PROBES.places[1]), 1, -EINVAL },
    { BROKER_PROBE_DROP, AT(fields.probe_drop.host_pid), 0, -EINVAL },
    { BROKER_PROBE_DROP, AT(fields.probe_drop.program), BROKER_PROBED_PROGRAMS, -EINVAL },
    { BROKER_PROBE_DROP, AT(fields.probe_drop.which), 1, -EINVAL },
    { BROKER_PROBE_DROP, AT(fields.probe_drop.zero), 1, -EINVAL },
    { BROKER_MOMENTS_RING, AT(fields.moments_ring.zero), 5, -EINVAL },
    { BROKER_MALLOCS, AT(fields.mallocs.host_pid), 0, -EINVAL },
    { BROKER_HEAP_HITS, AT(fields.heap_hits.host_pid), 0, -EINVAL },
    { BROKER_YIELDS_OF, AT(fields.yields.host_pid), 0, -EINVAL },
    { BROKER_YIELDS_WAITS, AT(fields.yields_waits.host_pid), 0, -EINVAL },
    { BROKER_SAMPLE_START, AT(fields.sample_start.event.yields), 1, -EINVAL }, /* cpu */
    { BROKER_SAMPLE_START, AT(fields.sample_start.event.yields), 2, -EINVAL },
    { BROKER_SAMPLE_CHECK, AT(fields.sample_check.yields), 1, -EINVAL },
    { BROKER_ATTACH, AT(fields.attach.mode), UINT32_MAX, -EINVAL },
    { BROKER_ATTACH, AT(fields.attach.options), UINT32_MAX, -EINVAL },
    { BROKER_ATTACH, AT(fields.attach.mount_tmp), 2, -EINVAL },
    { BROKER_CONFIG, AT(fields.config.file), TLS_FILE_END, -EINVAL },
    { BROKER_PUT_ROWS, AT(fields.put_rows.end), 0, -EINVAL },
    { BROKER_PUT_ROWS, AT(fields.put_rows.end), BROKER_TABLES_ROWS + 1, -EINVAL },
    { BROKER_SOCKET_HOLDERS, AT(fields.socket_holders.count), 0, -EINVAL },
    { BROKER_SOCKET_HOLDERS, AT(fields.socket_holders.count), SOCKETS_ASKED_MAX + 1, -EINVAL },
    { BROKER_SOCKET_HOLDERS, AT(fields.socket_holders.keys[0]), 0, -EINVAL },
    { BROKER_SOCKET_HOLDERS, AT(fields.socket_holders.keys[1]), 1, -EINVAL },
    { BROKER_SOCKET_HOLDERS, AT(fields.socket_holders.net_ns), UINT64_MAX, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.count), 0, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.count), PEERS_MAX + 1, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.count), 2, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.zero), 1, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.threads[0].host_tid), 0, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.threads[0].fd), UINT32_MAX - 1, -EINVAL },
    { BROKER_WAIT_PEERS, AT(fields.wait_peers.threads[1].host_tid), 1, -EINVAL },
    { BROKER_UNWIND_LIMIT, AT(fields.unwind_limit.frames), BROKER_FRAMES_MIN - 1, -EINVAL },
    { BROKER_UNWIND_LIMIT, AT(fields.unwind_limit.frames), BROKER_FRAMES_MAX + 1, -EINVAL },
    { BROKER_LOOK, AT(fields.look.pass.parts), 0, -EINVAL },
    { BROKER_LOOK, AT(fields.look.pass.parts), BROKER_LOOK_PARTS_MAX + 1, -EINVAL },
    { BROKER_LOOK, AT(fields.look.pass.part), 2, -EINVAL },
    { BROKER_LOOK_PROCESS, AT(fields.look_process.host_pid), 0, -EINVAL },
    { BROKER_PERF_RINGS, AT(fields.perf_rings.first), BROKER_CPUS_MAX, -EINVAL },
    { BROKER_PUT_THREAD, AT(fields.put_thread.java_thread), 0, -EINVAL },
    { BROKER_PUT_THREAD, AT(fields.put_thread.host_tid), 0, -EINVAL },
};

START_TEST(checks_one_request)
{
    struct broker_request q = request_of(CHECKS[_i].kind), out;
    struct error err = ERROR_NULL;
    struct broker_answer a;

    fill(&q);
    memcpy((uint8_t *)&q + CHECKS[_i].offset, &CHECKS[_i].value, CHECKS[_i].bytes);
    ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, &err), CHECKS[_i].r);
    ck_assert(err.msg[0]);
    if (fx.fd < 0)
        return;
    a = ask(&q, sizeof(q), NULL);
    ck_assert_int_eq(a.result, CHECKS[_i].r);
    ck_assert_uint_eq(a.seq, 7);
    ck_assert(a.body.failure.msg[0]);
}
END_TEST

/* Valid requests of each program of a probe, and changes that make them fail. */
#define CALL_OF(set_, kind_)                                                                       \
    {                                                                                              \
        .program = BROKER_PROBED_CALL, .set = (set_), .count = 1, .places = { PLACE(64, kind_) }   \
    }
#define MALLOC_OF(set_, kind_)                                                                     \
    {                                                                                              \
        .program = BROKER_PROBED_MALLOC, .set = (set_), .count = 1, .places = { PLACE(64, kind_) } \
    }
#define YIELDS_OF(places, ...)                                                                     \
    {                                                                                              \
        .program = BROKER_PROBED_YIELDS, .count = (places), .about.yields = { __VA_ARGS__ }        \
    }
#define MOMENTS_OF(...)                                                                            \
    {                                                                                              \
        .program = BROKER_PROBED_MOMENTS, .about.thread = { __VA_ARGS__ }                          \
    }
static const struct {
    struct broker_probes probes;
    bool mapped, fits;
} PROGRAMS[] = {
    { CALL_OF(7, 0), true, true },
    { CALL_OF(BROKER_SETS_MAX, 0), true, false },
    { CALL_OF(7, 1), true, false },
    { CALL_OF(7, 0), false, false },
    { MALLOC_OF(7, BROKER_MALLOC_RESULT), true, true },
    { MALLOC_OF(BROKER_SETS_MAX, 0), true, false },
    { MALLOC_OF(7, BROKER_MALLOC_ARGUMENTS), true, false },
    { { .program = BROKER_PROBED_MALLOC, .set = 7 }, true, false },
    { { .program = BROKER_PROBED_CALL, .count = 2 }, true, false },
    { { .program = BROKER_PROBED_CALL, .count = 1, .about.thread.state = 4 }, true, false },
    { MOMENTS_OF(8, 16, 2, 2, 5, 6), true, true },
    { MOMENTS_OF(8, 16, 2, 2, 5, 6), false, false },
    { MOMENTS_OF(8, 16, 2, 2, 5, 5), true, false },
    { MOMENTS_OF(2, 16, 2, 2, 5, 6), true, false },
    { { .program = BROKER_PROBED_MOMENTS, .about.heap = { 8, 16, 0x06050202, 1 } }, true, false },
    { YIELDS_OF(2, 0, 920, 8, 4, 1, 99), true, true },
    { YIELDS_OF(3, 1304, 920, 24, 140, 10, 99), true, true },
    { YIELDS_OF(3, 1304, 920, 24, 140, 10, 99), false, false },
    { YIELDS_OF(4, 1304, 920, 24, 140, 10, 99), true, false },
    { YIELDS_OF(3, 1300, 920, 24, 140, 10, 99), true, false },
    { YIELDS_OF(3, 1304, 920, 0, 140, 10, 99), true, false },
    { YIELDS_OF(3, 1304, 920, 24, 142, 10, 99), true, false },
    { YIELDS_OF(3, 1304, 920, 24, 140, 0, 99), true, false },
    { YIELDS_OF(3, 1304, 920, 24, 140, 10, 0), true, false },
    { YIELDS_OF(3, 1304, 0, 24, 140, 10, 99), true, false },
    { YIELDS_OF(3, 1304, 924, 24, 140, 10, 99), true, false },
    { { .program = BROKER_PROBED_AGENT, .about.agent = { 8, 4, 0 } }, false, true },
    { { .program = BROKER_PROBED_AGENT, .about.agent = { 8, 4, 0 } }, true, false },
    { { .program = BROKER_PROBED_AGENT, .about.agent = { 8, 2, 0 } }, false, false },
    { { .program = BROKER_PROBED_AGENT, .about.agent = { 8, 4, 1 } }, false, false },
    { { .program = BROKER_PROBED_AGENT, .about.agent = { BROKER_ADDRESS_MAX, 4, 0 } },
      false,
      false },
    { { .program = BROKER_PROBED_AGENT, .count = 1 }, false, false },
    { { .program = BROKER_PROBED_AGENT, .set = 1 }, false, false },
};

START_TEST(checks_the_program_of_a_probe)
{
    struct broker_request q = request_of(BROKER_PROBE_PUT), out;
    struct error err = ERROR_NULL;

    fill(&q);
    q.fields.probe_put.probes = PROGRAMS[_i].probes;
    if (!PROGRAMS[_i].mapped)
        q.fields.probe_put.at.start = q.fields.probe_put.at.end = 0;
    ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, &err),
                     PROGRAMS[_i].fits ? 0 : -EINVAL);
}
END_TEST

/* Sets belong to programs with sets, groups of moments to the program of moments. */
START_TEST(checks_which_probes_are_dropped)
{
    struct broker_request q = request_of(BROKER_PROBE_DROP), out;

    fill(&q);
    for (uint32_t program = 0; program < BROKER_PROBED_PROGRAMS; program++) {
        bool of_set = program == BROKER_PROBED_CALL || program == BROKER_PROBED_MALLOC;

        q.fields.probe_drop.program = program;
        q.fields.probe_drop.which = 7;
        ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, NULL),
                         of_set || program == BROKER_PROBED_MOMENTS ? 0 : -EINVAL);
        q.fields.probe_drop.which = BROKER_SETS_MAX;
        ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, NULL),
                         program == BROKER_PROBED_MOMENTS ? 0 : -EINVAL);
        q.fields.probe_drop.which = UINT32_MAX;
        ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, NULL), -EINVAL);
    }
}
END_TEST

START_TEST(nothing_is_set_behind_the_fields)
{
    const struct broker_request_info *info = broker_request_info((uint32_t)_i);
    struct broker_request q = request_of((uint32_t)_i), out;

    if (!info)
        return;
    fill(&q);
    ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, NULL), 0);
    for (size_t i = info->fields_bytes; i < sizeof(q.fields); i++) {
        q.fields.bytes[i] = 1;
        ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, NULL), -EINVAL);
        q.fields.bytes[i] = 0;
    }
}
END_TEST

START_TEST(wrong_sizes_get_an_error)
{
    uint8_t bytes[4096] = { 0 };
    struct broker_request q = request_of(BROKER_KALLSYMS);

    memcpy(bytes, &q, sizeof(q));
    for (size_t n = 1; n < sizeof(bytes); n += n < 400 ? 1 : 97) {
        struct broker_answer a;
        size_t fds;

        a = ask(bytes, n, &fds);
        ck_assert_int_eq(a.result, n == sizeof(q) ? 0 : -EBADMSG);
        ck_assert_uint_eq(fds, n == sizeof(q) ? 1 : 0);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("broker_wire");
    TCase *pure = tcase_create("pure"), *real = tcase_create("real");

    tcase_add_checked_fixture(pure, fixture_without_broker, fixture_without_broker_end);
    tcase_set_timeout(pure, 30);
    tcase_add_loop_test(pure, checks_one_request, 0, ARRAY_SIZE(CHECKS));
    tcase_add_loop_test(pure, checks_the_program_of_a_probe, 0, ARRAY_SIZE(PROGRAMS));
    tcase_add_test(pure, checks_which_probes_are_dropped);
    tcase_add_loop_test(pure, nothing_is_set_behind_the_fields, 0, BROKER_KIND_END);
    suite_add_tcase(s, pure);
    tcase_add_checked_fixture(real, fixture_start, fixture_stop);
    tcase_set_timeout(real, 100);
    tcase_add_loop_test(real, checks_one_request, 0, ARRAY_SIZE(CHECKS));
    tcase_add_test(real, wrong_sizes_get_an_error);
    if (can_test_broker() == 0)
        suite_add_tcase(s, real);
    return suite_run(s);
}
