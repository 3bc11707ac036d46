/* SPDX-License-Identifier: Apache-2.0 */
/* serve/routes/list_text.h: lists for a terminal. */
#include "serve/routes/list_text.h"

#include "suite.h"

START_TEST(the_busiest_jvm_is_first)
{
    static const char ANSWER[] =
        "{\"jvms\": [{\"pid\": 7, \"main\": \"Idle\"},"
        " {\"pid\": 8, \"main\": \"Busy\", \"cpu_percent\": 80.5, \"signals\": [\"gc-pauses\"]},"
        " {\"pid\": 9, \"main\": \"Mild\", \"cpu_percent\": 3}]}";
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);
    json_t *answer = json_loads(ANSWER, 0, NULL);
    const char *busy, *mild, *idle;

    ck_assert_ptr_nonnull(answer);
    list_text_jvms(answer, &out);
    json_decref(answer);
    ck_assert_int_eq(out.error, 0);
    busy = strstr(out.p, "       8    80.5");
    mild = strstr(out.p, "       9     3.0");
    idle = strstr(out.p, "       7     0.0");
    ck_assert(busy && mild && idle && busy < mild && mild < idle);
    ck_assert_ptr_nonnull(strstr(out.p, "gc-pauses\n"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("list_text");

    tcase_add_test(tc, the_busiest_jvm_is_first);
    return suite_run_case("list_text", tc);
}
