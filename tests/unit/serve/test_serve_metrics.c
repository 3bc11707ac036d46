/* SPDX-License-Identifier: Apache-2.0 */
/* Scrapes shortly after one another share the answer of the backend, and nothing else. */
#include "serve_fixture.h"

#include "base/cleanup.h"

#include <limits.h>
#include <unistd.h>

#define ALICE 64111u
#define TRIES 50 /* limit: a busy machine may take longer than scrapes share an answer */

static unsigned scrapes(void)
{
    return fake_get(&fake, &fake.scrapes);
}

static void scrape(void)
{
    _cleanup_reply_ struct reply r;

    ask("GET", "/metrics", NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_ptr_nonnull(strstr(r.body.p, "\nfake 1\n"));
    ck_assert_ptr_nonnull(strstr(r.body.p, "\nflamed_audit_total{action=\"capture\"} "));
}

/* Sends two scrapes with the request @between between them. Returns how often the backend is asked
 * for the second one, at least. */
static unsigned asked_again(const char *between, int tries)
{
    unsigned least = UINT_MAX;

    for (int i = 0; i < tries && least > 0; i++) {
        _cleanup_reply_ struct reply r = { .status = 0 };
        unsigned before;

        scrape();
        before = scrapes();
        if (between)
            ask("GET", between, NULL, &r);
        scrape();
        least = MIN(least, scrapes() - before);
    }
    return least;
}

START_TEST(those_shortly_after_one_another_share)
{
    ck_assert_uint_eq(asked_again(NULL, TRIES), 0);
    ck_assert_uint_eq(asked_again("/healthz", TRIES), 0);
}
END_TEST

/* The effects of a client's requests are in the next answer that it reads. */
START_TEST(none_shares_what_was_before_an_answer)
{
    ck_assert_uint_eq(asked_again("/api/v1/jvms", 5), 1);
    ck_assert_uint_eq(asked_again("/nonsense", 5), 1);
    ck_assert_uint_eq(asked_again("/profile?pid=1000&seconds=0.1", 2), 1);
}
END_TEST

START_TEST(none_shares_what_is_old)
{
    unsigned before;

    scrape();
    before = scrapes();
    usleep(150000);
    scrape();
    ck_assert_uint_eq(scrapes(), before + 1);
}
END_TEST

/* Returns the value of flamed_http_requests_total for /metrics. */
static uint64_t counted(const struct reply *r)
{
    static const char ROW[] =
        "flamed_http_requests_total{route=\"/metrics\",method=\"GET\",status=\"200\"} ";
    const char *at = strstr(r->body.p, ROW);
    uint64_t value = 0;

    if (at)
        ck_assert(span_parse_dec((struct span){ at + strlen(ROW), strcspn(at + strlen(ROW), "\n") },
                                 &value));
    return value;
}

START_TEST(what_is_counted_of_requests_is_not_shared)
{
    for (uint64_t i = 0; i < 10; i++) {
        _cleanup_reply_ struct reply r;

        ask("GET", "/metrics", NULL, &r);
        ck_assert_uint_eq(counted(&r), i);
    }
}
END_TEST

#define OPENMETRICS "Accept: application/openmetrics-text; version=1.0.0\r\n"

/* Each form is shared with scrapes of the same form. */
START_TEST(answers_with_openmetrics)
{
    _cleanup_reply_ struct reply r, again;
    char type[128];

    scrape();
    ask("GET", "/metrics", OPENMETRICS, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_str_eq(reply_header(&r, "Content-Type", 0, type, sizeof(type)),
                     "application/openmetrics-text; version=1.0.0; charset=utf-8");
    ck_assert_ptr_nonnull(strstr(r.body.p, "\nfake 1\n# TYPE fake_work counter\n"
                                           "fake_work_total 2 # {flamed_url=\"x\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(r.body.p, "\n# TYPE flamed_audit counter\nflamed_audit_total{"));
    /* A gauge has the name that its family would have. */
    ck_assert_ptr_nonnull(strstr(r.body.p, "\n# TYPE flamed_http_connections_total unknown\n"));
    ck_assert_str_eq(r.body.p + r.body.n - 7, "\n# EOF\n");
    ask("GET", "/metrics", NULL, &again);
    ck_assert_str_eq(reply_header(&again, "Content-Type", 0, type, sizeof(type)),
                     "text/plain; version=0.0.4; charset=utf-8");
    ck_assert_ptr_null(strstr(again.body.p, "# {"));
    ck_assert_ptr_null(strstr(again.body.p, "# EOF"));
    ck_assert_uint_eq(asked_again(NULL, TRIES), 0);
}
END_TEST

/* A client that may not see everything shares no answer with others. */
START_TEST(a_user_gets_her_own)
{
    for (int i = 0; i < 5; i++) {
        _cleanup_reply_ struct reply r;
        unsigned before;

        scrape();
        before = scrapes();
        client_read(ask_on(connect_as(ALICE), "GET", "/metrics", NULL), /* head_only= */ false, &r);
        ck_assert_uint_eq(r.status, 200);
        ck_assert_str_eq(r.body.p, "# TYPE fake gauge\nfake_own 1\n");
        ck_assert_uint_eq(scrapes(), before + 1);
    }
    scrape();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_metrics");
    TCase *served = tcase_create("served"), *users = tcase_create("users");

    tcase_add_checked_fixture(served, start_full, stop);
    tcase_add_test(served, those_shortly_after_one_another_share);
    tcase_add_test(served, none_shares_what_was_before_an_answer);
    tcase_add_test(served, none_shares_what_is_old);
    tcase_add_test(served, answers_with_openmetrics);
    tcase_add_test(served, what_is_counted_of_requests_is_not_shared);
    tcase_add_checked_fixture(users, start_full, stop);
    if (geteuid() == 0)
        tcase_add_test(users, a_user_gets_her_own);
    suite_add_tcase(s, served);
    suite_add_tcase(s, users);
    return run_suite(s);
}
