/* SPDX-License-Identifier: Apache-2.0 */
/* broker: random messages, and descriptors that no request has. */
#include "broker_messages.h"

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Receives all messages of one answer. */
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

/* Returns its descriptors, after those of stopped events are closed, by another thread, and those
 * of files that it gave, each second. */
static int count_calm_fds(void)
{
    int count = count_fds(fx.broker), before;

    do {
        before = count;
        usleep(1500000);
        count = count_fds(fx.broker);
    } while (count != before);
    return count;
}

/* Loads the programs of an event, which stay loaded. */
static void load_programs_of(uint32_t kind)
{
    struct broker_request start = request_of(BROKER_SAMPLE_START),
                          stop = request_of(BROKER_SAMPLE_STOP);
    struct broker_answer a;

    start.fields.sample_start.event.kind = kind;
    start.fields.sample_start.period = 10000000;
    while ((a = ask(&start, sizeof(start), NULL)).result == -EINPROGRESS)
        usleep(10000);
    stop.fields.sample_stop.set = a.body.sample_start.set;
    if (a.result == 0)
        ck_assert_int_eq(ask(&stop, sizeof(stop), NULL).result, 0);
}

START_TEST(ten_thousand_random_messages_do_no_harm)
{
    int fds_before, fds_after, refused = 0;
    struct broker_request facts = request_of(BROKER_FACTS), tables = request_of(BROKER_TABLES),
                          holders = request_of(BROKER_SOCKET_HOLDERS),
                          look = request_of(BROKER_LOOK), sideband = request_of(BROKER_SIDEBAND);

    /* Loads what the broker keeps for its client from the first use on: programs, shared tables
     * and side-band events. */
    ck_assert_int_eq(ask(&tables, sizeof(tables), NULL).result, 0);
    ck_assert_int_eq(ask(&sideband, sizeof(sideband), NULL).result, 0);
    while (ask(&facts, sizeof(facts), NULL).body.facts.bpf_loading)
        usleep(10000);
    for (uint32_t kind = 0; kind < EVENT_KINDS; kind++)
        load_programs_of(kind);
    fill(&look); /* the programs of looks stay loaded, too */
    while (ask(&look, sizeof(look), NULL).result == -EINPROGRESS)
        usleep(10000);
    fill(&holders);
    ck_assert_int_eq(ask(&holders, sizeof(holders), NULL).result, 0);
    fds_before = count_calm_fds();
    for (int i = 0; i < 10000; i++) {
        uint64_t noise[sizeof(struct broker_request) / sizeof(uint64_t)];
        struct broker_request q;
        size_t n = sizeof(q);

        for (size_t k = 0; k < ARRAY_SIZE(noise); k++)
            noise[k] = next_random();
        memcpy(&q, noise, sizeof(q));
        if (i % 4) { /* passes the first checks: the version, and a kind that exists */
            q.version = BROKER_WIRE_VERSION;
            q.kind = (uint32_t)(next_random() % BROKER_KIND_END);
            q.zero = 0;
        }
        if (i % 4 >= 2) { /* passes more checks: only fields of the kind, mostly in range */
            struct broker_request r = { .version = q.version, .kind = q.kind, .seq = q.seq };
            const struct broker_request_info *info = broker_request_info(q.kind);
            size_t last = info ? info->fields_bytes - 1 : 0;

            fill(&r);
            if (info && info->of_target) {
                r.fields.target.host_pid = (int32_t)(next_random() % 40000);
                r.fields.target.start_ticks = next_random() % 100;
            }
            if (i % 3) /* except for one byte */
                r.fields.bytes[next_random() % (last + 1)] = (uint8_t)noise[0];
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
    /* Started sets hold events. Nothing else may stay open. */
    for (uint32_t set = 0; set < BROKER_SETS_MAX; set++) {
        struct broker_request stop = request_of(BROKER_SAMPLE_STOP);

        stop.fields.sample_stop.set = set;
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

    ask(&none, sizeof(none), NULL); /* the broker runs, and has closed earlier answers */
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
    Suite *s = suite_create("broker_noise");
    TCase *tc = tcase_create("real");

    tcase_add_checked_fixture(tc, fixture_start, fixture_stop);
    tcase_set_timeout(tc, 100);
    tcase_add_test(tc, ten_thousand_random_messages_do_no_harm);
    tcase_add_test(tc, fds_sent_to_the_broker_go_nowhere);
    if (can_test_broker() == 0)
        suite_add_tcase(s, tc);
    return suite_run(s);
}
