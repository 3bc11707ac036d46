/* SPDX-License-Identifier: Apache-2.0 */
/* broker: only the words that name a service leave an environment. */
#include "suite.h"

#include "broker/service_words.h"

#define TEXT(s)                                                                                    \
    {                                                                                              \
        s, sizeof(s) - 1                                                                           \
    }

static const struct {
    struct span environ, words;
} CASES[] = {
    { TEXT(""), TEXT("") },
    { TEXT("PATH=/bin\0DB_PASSWORD=secret\0"), TEXT("") },
    { TEXT(
          "A=1\0OTEL_SERVICE_NAME=shop\0DD_SERVICE=s\0DD_ENV=e\0DD_VERSION=v\0DD_API_KEY=secret\0"),
      TEXT("OTEL_SERVICE_NAME=shop\0DD_SERVICE=s\0DD_ENV=e\0DD_VERSION=v\0") },
    { TEXT("DD_GIT_REPOSITORY_URL=u\0DD_GIT_TOKEN=secret\0DD_GIT_COMMIT_SHA=c\0"),
      TEXT("DD_GIT_REPOSITORY_URL=u\0DD_GIT_COMMIT_SHA=c\0") },
    { TEXT("XOTEL_SERVICE_NAME=no\0OTEL_SERVICE_NAME\0OTEL_SERVICE_NAMES=no"), TEXT("") },
    { TEXT("JAVA_TOOL_OPTIONS=-Dpassword=secret -Dotel.service.name=shop  -Ddd.env=e -Ddd.envs=no\0"
           "JDK_JAVA_OPTIONS=-Ddd.service=s"),
      TEXT("-Dotel.service.name=shop\0-Ddd.env=e\0-Ddd.service=s\0") },
};

START_TEST(keeps_words_of_services_alone)
{
    struct buf out;

    buf_init(&out, 4096);
    service_words_find(CASES[_i].environ, &out);
    ck_assert_uint_eq(out.n, CASES[_i].words.n);
    ck_assert(span_eq(buf_span(&out), CASES[_i].words));
    buf_deinit(&out);
}
END_TEST

START_TEST(drops_a_word_that_is_too_long)
{
    char text[SERVICE_WORD_MAX + 2] = "DD_SERVICE=";
    struct buf out;

    memset(text + 11, 'x', sizeof(text) - 11);
    buf_init(&out, 4096);
    service_words_find((struct span){ text, SERVICE_WORD_MAX + 1 }, &out);
    ck_assert_uint_eq(out.n, 0);
    service_words_find((struct span){ text, SERVICE_WORD_MAX }, &out);
    ck_assert_uint_eq(out.n, SERVICE_WORD_MAX + 1);
    buf_deinit(&out);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("service_words");

    tcase_add_loop_test(tc, keeps_words_of_services_alone, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, drops_a_word_that_is_too_long);
    return suite_run_case("service_words", tc);
}
