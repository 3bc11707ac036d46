/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus text becomes OpenMetrics: names and types of families, help, and nothing of samples.
 */
#include "suite.h"

#include "serve/openmetrics.h"

static const struct {
    const char *text, *openmetrics;
} TEXTS[] = {
    { "", "" },
    { "# HELP a Help.\n# TYPE a gauge\na{b=\"#\"} 1\n",
      "# HELP a Help.\n# TYPE a gauge\na{b=\"#\"} 1\n" },
    { "# HELP a_total Of \"a\" \\n.\n# TYPE a_total counter\na_total{b=\"c_total d\"} 1 # "
      "{e=\"f\"} 2 3\n",
      "# HELP a Of \\\"a\\\" \\n.\n# TYPE a counter\na_total{b=\"c_total d\"} 1 # {e=\"f\"} 2 "
      "3\n" },
    /* Two families of one name are not allowed. */
    { "# HELP a_total x\n# TYPE a_total counter\na_total 1\n# TYPE a gauge\na 2\n",
      "# HELP a_total x\n# TYPE a_total unknown\na_total 1\n# TYPE a gauge\na 2\n" },
    { "# TYPE a counter\na 1\n", "# TYPE a unknown\na 1\n" },
    { "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 2\na_count 1\n",
      "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_sum 2\na_count 1\n" },
    { "# a comment\n\n#\n# EOF\n# TYPE\na 1\n", "a 1\n" },
    { "a 1", "a 1\n" },
    { "# HELP \n# TYPE a_total\n", "# HELP  \n# TYPE a \n" },
};

START_TEST(converts)
{
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 10);

    openmetrics_add(&out, span_of(TEXTS[_i].text));
    ck_assert_int_eq(out.error, 0);
    ck_assert_str_eq(out.p ? out.p : "", TEXTS[_i].openmetrics);
}
END_TEST

START_TEST(is_bounded)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(1 << 20), out = BUF_UPTO(1 << 10);

    for (int i = 0; i < 2000; i++) /* more families than are compared */
        buf_printf(&text, "# TYPE a%d gauge\na%d 1\n", i, i);
    openmetrics_add(&out, buf_span(&text));
    ck_assert_int_ne(out.error, 0);
    ck_assert_uint_le(out.n, 1 << 10);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("openmetrics");

    tcase_add_loop_test(tc, converts, 0, ARRAY_SIZE(TEXTS));
    tcase_add_test(tc, is_bounded);
    return suite_run_case("openmetrics", tc);
}
