/* SPDX-License-Identifier: Apache-2.0 */
/* pusher: answers that flamed shows contain no secret of a target. */
#include "suite.h"

#include "pusher/hide.h"

static const char WORDS[] = "url=http://h\0header=Content-Type: application/proto\0"
                            "header=Authorization: Bearer hunter2-token\0"
                            "header=X-Api-Key: key-of-ours\0header=X-Scope-OrgID: 1\0"
                            "user=me\0password=hunter2\0";

static const struct {
    const char *text, *shown;
} CASES[] = {
    { "", "" },
    { "no such tenant 1", "no such tenant 1" },
    { "application/proto is wrong", "application/proto is wrong" },
    { "bad token hunter2-token!", "bad token [hidden]!" },
    { "Authorization: Bearer hunter2-token", "Authorization: [hidden]" },
    { "hunter2hunter2 hunter", "[hidden][hidden] hunter" },
    { "got Basic bWU6aHVudGVyMg==.", "got Basic [hidden]." }, /* me:hunter2 */
    { "x-api-key=key-of-ours", "x-api-key=[hidden]" },
    { "\x1b[31mred\n", " [31mred " },
};

START_TEST(hides_secrets)
{
    char to[PUSHER_TEXT_BYTES];

    hide_copy(WORDS, span_of(CASES[_i].text), to);
    ck_assert_str_eq(to, CASES[_i].shown);
    hide_copy(NULL, SPAN("hunter2"), to);
    ck_assert_str_eq(to, "hunter2");
}
END_TEST

/* A secret that crosses the end of the text is hidden as a whole. */
START_TEST(hides_at_the_end)
{
    char text[400], to[PUSHER_TEXT_BYTES];

    for (size_t n = PUSHER_TEXT_BYTES - 16; n < PUSHER_TEXT_BYTES + 4; n++) {
        memset(text, '.', n);
        memcpy(text + n, "hunter2", 8);
        hide_copy(WORDS, span_of(text), to);
        ck_assert_msg(!strchr(to, 'u'), "%s", to);
        ck_assert_uint_lt(strlen(to), PUSHER_TEXT_BYTES);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_hide");

    tcase_add_loop_test(tc, hides_secrets, 0, (int)ARRAY_SIZE(CASES));
    tcase_add_test(tc, hides_at_the_end);
    return suite_run_case("push_hide", tc);
}
