/* SPDX-License-Identifier: Apache-2.0 */
/* Points in time in a client's notation. */
#include "suite.h"

#include "serve/params/time_text.h"

#include <time.h>

static const struct {
    const char *text;
    bool good;
    uint64_t ns;
} TIMES[] = {
    { "now", true, UINT64_C(1767323045000000000) },
    { "-60s", true, UINT64_C(1767322985000000000) },
    { "-1.5m", true, UINT64_C(1767322955000000000) },
    { "-2h", true, UINT64_C(1767315845000000000) },
    { "-1d", true, UINT64_C(1767236645000000000) },
    { "-106751d", true, 0 }, /* before 1970 */
    { "-1h50m", true, UINT64_C(1767316445000000000) },
    { "-1d2h3m4.5s", true, UINT64_C(1767229260500000000) },
    { "-0s", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T03:04:05Z", true, UINT64_C(1767323045000000000) },
    { "2026-01-02t03:04:05.5z", true, UINT64_C(1767323045500000000) },
    { "2026-01-02 03:04:05Z", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T05:04:05+02:00", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T05:04:05 02:00", true, UINT64_C(1767323045000000000) }, /* '+' in a query */
    { "2026-01-01T21:34:05-05:30", true, UINT64_C(1767323045000000000) },
    { "1970-01-01T00:00:00Z", true, 0 },
    { "2000-02-29T00:00:00Z", true, UINT64_C(951782400000000000) },
    { "2024-02-29T12:00:00Z", true, UINT64_C(1709208000000000000) },
    { "2261-12-31T23:59:60.999999999Z", true, UINT64_C(9214646400999999999) },
    /* the node's local time, two hours east of Greenwich in this test */
    { "2026-01-02T05:04:05", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T05:04", true, UINT64_C(1767323040000000000) },
    { "2026-01-02 05:04:05.5", true, UINT64_C(1767323045500000000) },
    { "05:04", true, UINT64_C(1767323040000000000) },
    { "05:04:05", true, UINT64_C(1767323045000000000) },
    { "05:05", true, UINT64_C(1767236700000000000) }, /* of yesterday */
    { "00:00", true, UINT64_C(1767304800000000000) },
    { "24:00", false, 0 },
    { "5:04", false, 0 },
    { "05:04Z", false, 0 },
    { "05:04:", false, 0 },
    { "2026-01-02T05:04Z", false, 0 },
    { "2023-02-29T00:00:00Z", false, 0 },
    { "1900-02-29T00:00:00Z", false, 0 },
    { "2262-01-01T00:00:00Z", false, 0 },
    { "1970-01-01T00:00:00+00:01", false, 0 },
    { "2026-13-01T00:00:00Z", false, 0 },
    { "2026-01-02T24:00:00Z", false, 0 },
    { "2026-01-02T03:04:05.Z", false, 0 },
    { "2026-01-02", false, 0 },
    { "2026-01-02T03:04:05Zx", false, 0 },
    { "-60", false, 0 },
    { "60s", false, 0 },
    { "+60s", false, 0 },
    { "--60s", false, 0 },
    { "-s", false, 0 },
    { "-1w", false, 0 },
    { "-1h50", false, 0 },
    { "-50m1h", false, 0 },
    { "-1h1h", false, 0 },
    { "-hm", false, 0 },
    { "-106751d106751d", false, 0 },
    { "-106751d9999999999999h", false, 0 },
    { "-99999999999999d", false, 0 },
    { "", false, 0 },
    { "-", false, 0 },
    { "Now", false, 0 },
};

START_TEST(reads_points_in_time)
{
    uint64_t t = 0, now = UINT64_C(1767323045000000000);

    ck_assert_msg(time_parse(span_of(TIMES[_i].text), now, &t) == TIMES[_i].good, "%s",
                  TIMES[_i].text);
    ck_assert_msg(t == TIMES[_i].ns, "%s: %llu", TIMES[_i].text, (unsigned long long)t);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("time_text");

    setenv("TZ", "EET-2", 1);
    tzset();
    tcase_add_loop_test(tc, reads_points_in_time, 0, ARRAY_SIZE(TIMES));
    return suite_run_case("time_text", tc);
}
