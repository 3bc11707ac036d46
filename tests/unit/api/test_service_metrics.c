/* SPDX-License-Identifier: Apache-2.0 */
/* Counters by service end with an exemplar of OpenMetrics, which links to the minute. */
#include "suite.h"

#include "api/api_impl.h"

#define ADDRESS "https://node-7:7979"
#define LONG "a-service-with-a-name-that-leaves-no-room" /* in 128 characters */
#define START_NS (UINT64_C(1795806840) * NSEC_PER_SEC)   /* 2026-11-27T19:14 */

void __wrap_service_counters_each(struct service_counters *c,
                                  const struct service_counters_query *q);
uint64_t __wrap_service_counters_left_out(struct service_counters *c);

void __wrap_service_counters_each(struct service_counters *c,
                                  const struct service_counters_query *q)
{
    static const struct service_counter_line LINES[] = {
        { "shop #1", "", "shop.Cart.\"a", 90 * NSEC_PER_SEC, { START_NS, NSEC_PER_SEC / 2 } },
        { "shop", "", "[other]", 5 * NSEC_PER_SEC, { 0, 0 } },
        { LONG, "", "a", 5 * NSEC_PER_SEC, { START_NS, NSEC_PER_SEC } },
        { SERVICE_COUNTERS_OTHERS, "", "[other]", 7 * NSEC_PER_SEC, { START_NS, NSEC_PER_SEC } },
    };

    (void)c;
    for (size_t i = 0; i < ARRAY_SIZE(LINES); i++)
        q->line(q->cookie, &LINES[i]);
}

uint64_t __wrap_service_counters_left_out(struct service_counters *c)
{
    (void)c;
    return 0;
}

static void write_metrics(const char *address, bool exemplars, struct buf *out)
{
    struct engine_opts opts = { .counters = (void *)&opts, .external_url = address };
    struct api api = { .engine = { .opts = &opts } };

    service_metrics(&api, &(struct viewer){ .whole = true }, exemplars, out);
    ck_assert_int_eq(out->error, 0);
}

START_TEST(links_to_the_minute)
{
    static const char CPU[] =
        "flamed_function_cpu_seconds_total{service=\"shop #1\",namespace=\"\",function=\""
        "shop.Cart.\\\"a\"} 90.000000000 # {flamed_url=\"" ADDRESS
        "/profile?service=shop%20%231&from=2026-11-27T19:14:00Z&to=2026-11-27T19:15:00Z\"} "
        "0.500000000 "
        "1795806900\n"
        "flamed_function_cpu_seconds_total{service=\"shop\",namespace=\"\",function=\"[other]\"} "
        "5.000000000\n"
        "flamed_function_cpu_seconds_total{service=\"" LONG "\",namespace=\"\",function=\"a\"} "
        "5.000000000\n"
        "flamed_function_cpu_seconds_total{service=\"[other services]\",namespace=\"\",function=\""
        "[other]\"} 7.000000000\n";
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 16);

    write_metrics(ADDRESS, /* exemplars= */ true, &out);
    ck_assert_msg(strstr(out.p, CPU) != NULL, "%s", out.p);
    ck_assert_ptr_nonnull(strstr(out.p, "class=\"shop.Cart.\\\"a\"} 90.000000000 # {flamed_url="));
    ck_assert_ptr_nonnull(strstr(out.p, "T19:15:00Z&event=lock\"} 0.500000000 1795806900\n"));
    ck_assert_ptr_nonnull(
        strstr(out.p, "flamed_function_calls_cpu_seconds_total{service=\"shop #1\",namespace=\"\","
                      "function=\"shop.Cart.\\\"a\"} 90.000000000\n"));
}
END_TEST

/* Without an address, or where Prometheus reads text 0.0.4, the lines are as they were. */
START_TEST(has_none_if_not_wanted)
{
    _cleanup_buf_ struct buf plain = BUF_UPTO(1 << 16), nowhere = BUF_UPTO(1 << 16);

    write_metrics(ADDRESS, /* exemplars= */ false, &plain);
    write_metrics("", /* exemplars= */ true, &nowhere);
    ck_assert_ptr_null(strstr(plain.p, " # {"));
    ck_assert_str_eq(plain.p, nowhere.p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("service_metrics");

    tcase_add_test(tc, links_to_the_minute);
    tcase_add_test(tc, has_none_if_not_wanted);
    return suite_run_case("service_metrics", tc);
}
