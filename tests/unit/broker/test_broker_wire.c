/* SPDX-License-Identifier: Apache-2.0 */
/* broker: messages that no flamed would send. */
#include "broker_fixture.h"

#include <poll.h>

static struct broker_request request_of(uint32_t kind)
{
    return (struct broker_request){ .version = BROKER_WIRE_VERSION, .kind = kind, .seq = 7 };
}

/* Sends @n bytes and takes one answer; its fds are closed and counted. */
static struct broker_answer ask(const void *p, size_t n, size_t *ret_fds)
{
    struct pollfd pfd = { .fd = fx.fd, .events = POLLIN };
    int fds[BROKER_FDS_MAX];
    struct broker_answer a;
    size_t count = 0;

    ck_assert_int_eq(wire_send(fx.fd, p, n, NULL, 0), 0);
    ck_assert_int_eq(poll(&pfd, 1, 5000), 1);
    ck_assert_int_eq(wire_receive(fx.fd, &a, sizeof(a), fds, BROKER_FDS_MAX, &count), sizeof(a));
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    if (ret_fds)
        *ret_fds = count;
    return a;
}

/* ---- the pure check, and the broker's answer to the same ---- */

enum field { NO_FIELD, VERSION, PID, TICKS, START, PERIOD, SET, SETS, NAME_N, ZERO, NAME };

static const struct {
    uint32_t kind;
    enum field field;
    uint64_t value;
    int r;
} CHECKS[] = {
    { 0, NO_FIELD, 0, -EOPNOTSUPP },
    { BROKER_KIND_END, NO_FIELD, 0, -EOPNOTSUPP },
    { 3, NO_FIELD, 0, -EOPNOTSUPP }, /* environ, which went */
    { UINT32_MAX, NO_FIELD, 0, -EOPNOTSUPP },
    { BROKER_KALLSYMS, VERSION, 0, -EBADMSG },
    { BROKER_KALLSYMS, VERSION, 2, -EBADMSG },
    { BROKER_KALLSYMS, PID, 1, -EINVAL },
    { BROKER_KALLSYMS, TICKS, 1, -EINVAL },
    { BROKER_KALLSYMS, START, 4096, -EINVAL },
    { BROKER_KALLSYMS, PERIOD, 1, -EINVAL },
    { BROKER_KALLSYMS, SET, 1, -EINVAL },
    { BROKER_KALLSYMS, SETS, 1, -EINVAL },
    { BROKER_KALLSYMS, NAME_N, 1, -EINVAL },
    { BROKER_KALLSYMS, NAME, 'x', -EINVAL },
    { BROKER_KALLSYMS, ZERO, 1, -EINVAL },
    { BROKER_MEM, PID, 0, -EINVAL },
    { BROKER_MEM, PID, UINT32_MAX, -EINVAL }, /* -1 */
    { BROKER_MEM, PID, BROKER_PID_MAX + 1, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, 0, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, 99999, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, UINT64_MAX, -EINVAL },
    { BROKER_SAMPLE_START, PERIOD, 1000000001, -EINVAL },
    { BROKER_SAMPLE_START, SET, EVENT_KINDS, -EINVAL },
    { BROKER_SAMPLE_CHECK, SET, EVENT_KINDS, -EINVAL },
    { BROKER_SAMPLE_CHECK, SET, UINT32_MAX, -EINVAL },
    { BROKER_SAMPLE_CHECK, PERIOD, 1, -EINVAL },
    { BROKER_SAMPLE_STOP, SET, BROKER_SETS_MAX, -EINVAL },
    { BROKER_SAMPLE_STOP, SET, UINT32_MAX, -EINVAL },
    { BROKER_FILTER_ALL, SETS, 1 << BROKER_SETS_MAX, -EINVAL },
    { BROKER_FILTER_PROCESS, SETS, UINT32_MAX, -EINVAL },
    { BROKER_FILTER_PROCESS, TICKS, 5, -EINVAL },
    { BROKER_DEBUG, NAME_N, 21, -EINVAL },
    { BROKER_DEBUG, NAME_N, UINT32_MAX, -EINVAL },
    { BROKER_DEBUG_SHARED, NAME_N, 1, -EINVAL }, /* a zero byte */
    { BROKER_DEBUG_SHARED, NAME_N, UINT32_MAX, -EINVAL },
    { BROKER_CONTAINER_CONFIG, NAME_N, 64, -EINVAL }, /* of zero bytes */
    { BROKER_MAPPED, START, 4096, -EINVAL },          /* end 0 */
    { BROKER_MAPPED, START, UINT64_MAX, -EINVAL },
    { BROKER_PROBE, NAME_N, 1, -EINVAL },
    { BROKER_PROBE, NAME_N, sizeof(struct broker_probes), -EINVAL }, /* no range, no probe */
    { BROKER_UNPROBE, PID, 0, -EINVAL },
    { BROKER_UNPROBE, TICKS, 5, -EINVAL },
    { BROKER_MOMENTS, NAME_N, sizeof(struct broker_java_thread), -EINVAL }, /* no range */
    { BROKER_MOMENTS, SET, 8, -EINVAL },
    { BROKER_MOMENTS, SETS, 8, -EINVAL },
    { BROKER_UNMOMENTS, PID, 0, -EINVAL },
    { BROKER_MOMENTS_RING, PID, 5, -EINVAL },
    { BROKER_CALL, NAME_N, 8, -EINVAL }, /* no range */
    { BROKER_CALL, SET, BROKER_SETS_MAX, -EINVAL },
    { BROKER_UNCALL, PID, 0, -EINVAL },
    { BROKER_UNCALL, SET, BROKER_SETS_MAX, -EINVAL },
    { BROKER_MALLOC, NAME_N, 16, -EINVAL }, /* no range */
    { BROKER_MALLOC, SET, BROKER_SETS_MAX, -EINVAL },
    { BROKER_MALLOCS, PID, 0, -EINVAL },
    { BROKER_UNWIND_LIMIT, SET, BROKER_FRAMES_MIN - 1, -EINVAL },
    { BROKER_UNWIND_LIMIT, SET, BROKER_FRAMES_MAX + 1, -EINVAL },
    { BROKER_PUT_THREAD, SET, 1, -EINVAL },      /* address 0 */
    { BROKER_PUT_THREAD, START, 4096, -EINVAL }, /* thread 0 */
};

static void set_field(struct broker_request *q, enum field field, uint64_t v)
{
    switch (field) {
    case NO_FIELD:
        break;
    case VERSION:
        q->version = (uint32_t)v;
        break;
    case PID:
        q->host_pid = (int32_t)v;
        break;
    case TICKS:
        q->start_ticks = v;
        break;
    case START:
        q->start = v;
        break;
    case PERIOD:
        q->period = v;
        break;
    case SET:
        q->set = (uint32_t)v;
        break;
    case SETS:
        q->sets = (uint32_t)v;
        break;
    case NAME_N:
        q->name_n = (uint32_t)v;
        break;
    case ZERO:
        q->zero = (uint32_t)v;
        break;
    case NAME:
        q->name[9] = (uint8_t)v;
        break;
    }
}

START_TEST(checks_one_request)
{
    struct broker_request q = request_of(CHECKS[_i].kind), out;
    const struct broker_request_info *info = broker_request_info(q.kind);
    struct error err = ERROR_NULL;
    struct broker_answer a;

    if (info && (info->fields & (BROKER_FIELD_TARGET | BROKER_FIELD_PID)))
        q.host_pid = 1;
    set_field(&q, CHECKS[_i].field, CHECKS[_i].value);
    ck_assert_int_eq(broker_request_check(&q, sizeof(q), &out, &err), CHECKS[_i].r);
    ck_assert(err.msg[0]);
    if (fx.fd < 0)
        return;
    a = ask(&q, sizeof(q), NULL);
    ck_assert_int_eq(a.result, CHECKS[_i].r);
    ck_assert_uint_eq(a.seq, 7);
    ck_assert(a.failure.msg[0]);
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

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Takes every message of one answer. */
static int drain_answer(void)
{
    struct broker_answer a;

    do {
        struct pollfd pfd = { .fd = fx.fd, .events = POLLIN };
        int fds[BROKER_FDS_MAX];
        size_t count = 0;

        ck_assert_int_eq(poll(&pfd, 1, 10000), 1);
        ck_assert_int_eq(wire_receive(fx.fd, &a, sizeof(a), fds, BROKER_FDS_MAX, &count),
                         sizeof(a));
        for (size_t i = 0; i < count; i++)
            close(fds[i]);
    } while (a.more);
    return a.result;
}

/* Its descriptors, once it has closed those of what was stopped: another thread does that. */
static int count_calm_fds(void)
{
    int count = count_fds(fx.broker), before;

    do {
        before = count;
        usleep(500000);
        count = count_fds(fx.broker);
    } while (count != before);
    return count;
}

START_TEST(ten_thousand_random_messages_do_no_harm)
{
    int fds_before, fds_after, refused = 0;
    struct broker_request facts = request_of(BROKER_FACTS), tables = request_of(BROKER_TABLES),
                          offcpu = request_of(BROKER_SAMPLE_START), alloc = offcpu,
                          moments = offcpu;

    /* What it keeps for its client from the first time on: the programs, the shared tables. */
    ck_assert_int_eq(ask(&tables, sizeof(tables), NULL).result, 0);
    while (ask(&facts, sizeof(facts), NULL).facts.bpf_loading)
        usleep(10000);
    offcpu.set = EVENT_OFFCPU;
    offcpu.period = 10000000;
    while (ask(&offcpu, sizeof(offcpu), NULL).result == -EINPROGRESS)
        usleep(10000);
    alloc.set = EVENT_ALLOC;
    alloc.period = 1;
    while (ask(&alloc, sizeof(alloc), NULL).result == -EINPROGRESS)
        usleep(10000);
    moments.set = EVENT_SAFEPOINT;
    moments.period = 10000000;
    while (ask(&moments, sizeof(moments), NULL).result == -EINPROGRESS)
        usleep(10000);
    for (uint32_t set = 0; set < 3; set++) {
        struct broker_request stop = request_of(BROKER_SAMPLE_STOP);

        stop.set = set;
        ask(&stop, sizeof(stop), NULL);
    }
    fds_before = count_calm_fds();
    for (int i = 0; i < 10000; i++) {
        uint64_t noise[64];
        struct broker_request q;
        size_t n = sizeof(q);

        for (size_t k = 0; k < ARRAY_SIZE(noise); k++)
            noise[k] = next_random();
        memcpy(&q, noise, sizeof(q));
        if (i % 4) { /* one that gets further: the right version, a kind of the list */
            q.version = BROKER_WIRE_VERSION;
            q.kind = (uint32_t)(next_random() % BROKER_KIND_END);
            q.zero = 0;
        }
        if (i % 4 >= 2) { /* and further: only what the kind takes, mostly in range */
            struct broker_request r = { .version = q.version, .kind = q.kind, .seq = q.seq };
            const struct broker_request_info *info = broker_request_info(q.kind);
            unsigned fields = info ? info->fields : 0;

            if (fields & (BROKER_FIELD_TARGET | BROKER_FIELD_PID))
                r.host_pid = (int32_t)(next_random() % 40000);
            if (fields & BROKER_FIELD_TARGET)
                r.start_ticks = next_random() % 100;
            if (fields & BROKER_FIELD_RANGE) {
                r.start = next_random() & 0xffffffff000u;
                r.end = r.start + 4096 * (next_random() % 5);
            }
            if (fields & BROKER_FIELD_SET)
                r.set = (uint32_t)(next_random() % 5);
            if (fields & BROKER_FIELD_OFFSET)
                r.set = (uint32_t)(next_random() % 4096 * 4);
            if (fields & BROKER_FIELD_JAVA_THREAD) {
                struct broker_java_thread t = { .state = (uint32_t)(next_random() % 4096 * 4),
                                                .safepoint = (uint32_t)(next_random() % 4096 * 8),
                                                .begun = 2,
                                                .native = 2,
                                                .blocked = 5,
                                                .end = 6 };

                r.name_n = sizeof(t);
                memcpy(r.name, &t, sizeof(t));
            }
            if (fields & BROKER_FIELD_EVENT)
                r.set = (uint32_t)(next_random() % (EVENT_KINDS + 1));
            if (fields & BROKER_FIELD_SETS)
                r.sets = (uint32_t)(next_random() % 17);
            if (fields & BROKER_FIELD_PERIOD)
                r.period = next_random() % 2000000000;
            if (fields & (BROKER_FIELD_BASENAME | BROKER_FIELD_BUILD_ID | BROKER_FIELD_CONTAINER |
                          BROKER_FIELD_SHARED)) {
                r.name_n = (uint32_t)(next_random() % 66);
                memcpy(r.name, noise, r.name_n);
            }
            q = r;
        }
        if (i % 16 == 0)
            n = 1 + next_random() % sizeof(noise);
        ck_assert_int_eq(wire_send(fx.fd, n == sizeof(q) ? (void *)&q : (void *)noise, n, NULL, 0),
                         0);
        if (drain_answer() < 0)
            refused++;
    }
    ck_assert_int_gt(refused, 5000);
    /* Sets that were started hold events; nothing else may have stayed. */
    for (uint32_t set = 0; set < BROKER_SETS_MAX; set++) {
        struct broker_request stop = request_of(BROKER_SAMPLE_STOP);

        stop.set = set;
        ask(&stop, sizeof(stop), NULL);
    }
    fds_after = count_calm_fds();
    ck_assert_int_eq(fds_before, fds_after);
    ck_assert_int_eq(ask(&facts, sizeof(facts), NULL).result, 0);
}
END_TEST

START_TEST(fds_sent_to_the_broker_go_nowhere)
{
    struct broker_request q = request_of(BROKER_KALLSYMS), none = request_of(0);
    int before, fds[8];

    ask(&none, sizeof(none), NULL); /* it is up, and has closed what it answered with before */
    before = count_fds(fx.broker);
    for (int i = 0; i < 8; i++)
        fds[i] = fx.proc_fd;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(wire_send(fx.fd, &q, sizeof(q), fds, 8), 0);
        ck_assert_int_eq(drain_answer(), 0);
    }
    ask(&none, sizeof(none), NULL);
    ck_assert_int_eq(count_fds(fx.broker), before);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("broker_wire");
    TCase *pure = tcase_create("pure"), *real = tcase_create("real");

    tcase_add_checked_fixture(pure, fixture_without_broker, fixture_without_broker_end);
    tcase_set_timeout(pure, 30);
    tcase_add_loop_test(pure, checks_one_request, 0, ARRAY_SIZE(CHECKS));
    suite_add_tcase(s, pure);
    tcase_add_checked_fixture(real, fixture_start, fixture_stop);
    tcase_set_timeout(real, 100);
    tcase_add_loop_test(real, checks_one_request, 0, ARRAY_SIZE(CHECKS));
    tcase_add_test(real, wrong_sizes_get_an_error);
    tcase_add_test(real, ten_thousand_random_messages_do_no_harm);
    tcase_add_test(real, fds_sent_to_the_broker_go_nowhere);
    if (can_test_broker() == 0)
        suite_add_tcase(s, real);
    return suite_run(s);
}
