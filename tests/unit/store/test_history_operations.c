/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the history keeps in place of many: of pools of threads, and of operations. */
#include "history_fixture.h"

#include "store/history_impl.h"
#include "store/history_tally.h"

static const struct {
    const char *name, *pool;
} POOLS[] = { { "http-nio-8080-exec-12", "http-nio-8080-exec-*" },
              { "main", "main" },
              { "GC Thread#3", "GC Thread#*" },
              { "17", "*" },
              { "", "" } };

START_TEST(test_pool_names)
{
    char buf[64];
    struct span got = tally_pool_name(span_of(POOLS[_i].name), buf, sizeof(buf));

    ck_assert(span_eq_str(got, POOLS[_i].pool));
}
END_TEST

static int see_operations(void *cookie, struct profile *p)
{
    uint64_t *counts = cookie;
    uint32_t routes = 0;

    for (size_t i = 0; i < p->function_count; i++)
        routes += p->routes && span_eq_str(intern_get(p->strings, p->routes[i]), "GET /leaf");
    ck_assert_uint_eq(routes, 1);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_context *c = &p->contexts[p->samples[i].context];
        struct span name = intern_get(p->strings, c->operation);

        ck_assert(!profile_context_has_ids(c));
        counts[0] += span_eq_str(name, "GET /pay") ? p->samples[i].count : 0;
        counts[1] += span_eq_str(name, "GET /order") ? p->samples[i].count : 0;
        counts[2] += c->state == PROFILE_CONTEXT_NO_REQUEST ? p->samples[i].count : 0;
    }
    return 0;
}

START_TEST(test_operations_are_kept_without_ids)
{
    static const struct made_jvm SHOPS[] = { { 42, 1000, "shop", "work", 20, "GET /pay" },
                                             { 43, 1000, "shop", "work", 40, "GET /order" } };
    struct history *h = open_history(1 << 30, 14 * 86400);
    struct history_query q = { .to_ns = UINT64_MAX };
    struct history_reach reach;

    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(put_minute(h, T0 + i * HISTORY_MINUTE_NS, SHOPS, 2), 0);
    for (unsigned rolled = 0; rolled < 2; rolled++) { /* of minutes, then of an hour and minutes */
        uint64_t counts[3] = { 0 };

        ck_assert_int_eq(history_read(h, &q, see_operations, counts, &reach, NULL), 0);
        ck_assert_uint_eq(counts[0], 70 * 2 * 10);
        ck_assert_uint_eq(counts[1], 70 * 2 * 20);
        ck_assert_uint_eq(counts[2], 70 * 2 * 2 * (10 + 20)); /* a wait counts for two */
        ck_assert_uint_eq(reach.damaged, 0);
        ck_assert_int_eq(history_roll(h, T0 + 70 * HISTORY_MINUTE_NS, NULL), 0);
    }
    history_close(h);
}
END_TEST

static struct tally tallied;

static struct tally *pick_tallied(void *cookie, const struct profile *p, uint32_t process,
                                  bool *ret_merged)
{
    (void)cookie;
    (void)p;
    (void)process;
    *ret_merged = false;
    return &tallied;
}

/* Returns how many operations the tally has for a slice with @count of them. */
static uint32_t operations_tallied(unsigned count)
{
    struct profile meta = { .events = MADE_EVENTS, .event_count = 2 };
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 42 };
    struct dictionary *e = NULL;
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;
    uint32_t tid, requests;

    ck_assert_int_eq(frame_table_new(10000, 1 << 20, &t), 0);
    ck_assert_int_eq(record_new(t, 1000000, &r), 0);
    ck_assert_int_eq(dictionary_new(1, &e), 0);
    tally_init(&tallied);
    for (unsigned i = 0; i < count; i++) {
        struct profile_sample s = { .count = 1 };
        char name[32];

        if (i % 500 == 0) { /* each service has its own limit */
            process.host_pid++;
            snprintf(name, sizeof(name), "service-%u", i);
            process.service = str(t, name);
            ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
            ck_assert_int_eq(record_thread(r, &thread, &tid), 0);
        }
        snprintf(name, sizeof(name), "GET /%u", i);
        s.thread = tid;
        s.context = made_request(r, tid, 0, name);
        ck_assert_int_eq(record_sample(r, &s, &(uint32_t){ 0 }, 1), 0);
    }
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    ck_assert_int_eq(tally_add_slice(e, p, pick_tallied, NULL), 0);
    requests = tallied.requests.count;
    tally_deinit(&tallied);
    profile_unref(p);
    dictionary_free(e);
    record_free(r);
    frame_table_free(t);
    return requests;
}

START_TEST(test_operations_of_a_part_are_bounded)
{
    ck_assert_uint_eq(operations_tallied(10), 11); /* and one for samples without a request */
    ck_assert_uint_eq(operations_tallied(1400), PROFILE_OPERATIONS_MAX + 2);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_operations");

    tcase_add_loop_test(tc, test_pool_names, 0, ARRAY_SIZE(POOLS));
    tcase_add_test(tc, test_operations_are_kept_without_ids);
    tcase_add_test(tc, test_operations_of_a_part_are_bounded);
    return run_store_tests("history_operations", tc);
}
