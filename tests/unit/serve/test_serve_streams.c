/* SPDX-License-Identifier: Apache-2.0 */
/* Live views and streams of events, and clients that leave in the middle of them. */
#include "serve_fixture.h"
#include "steal_time.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/serve_impl.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

START_TEST(top_is_drawn_again_until_the_client_leaves)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    int fd = client_connect_tcp(port);
    struct steal_watch machine;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/top?pid=1000&interval=500ms&width=40&top=2", NULL);
    ck_assert(client_read_until(fd, &b, "sampling", 3000));
    ck_assert(client_read_until(fd, &b, "leaf", 3000));
    ck_assert_ptr_nonnull(strstr(b.p, "\x1b[H"));
    ck_assert_ptr_nonnull(strstr(b.p, "\x1b[K\n"));
    buf_clear(&b);
    ck_assert(client_read_until(fd, &b, "\x1b[J", 3000));
    ck_assert_ptr_null(strstr(b.p, "\x1b[2J")); /* no blank screen between two tables */
    ck_assert_uint_ge(fake_get(&fake, &fake.snapshots), 2);
    steal_begin(&machine);
    close(fd);
    ck_assert(fake_wait(&fake, &fake.ended_drop, 1, 10000));
    ck_assert_uint_lt(steal_took_ns(&machine), NSEC_PER_SEC);
    await_no_captures(3000);
}
END_TEST

START_TEST(events_tell_of_progress_and_give_the_link)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/profile?pid=1000&seconds=1.6&format=collapsed&threads=1",
           "Accept: text/event-stream\r\n");
    ck_assert(client_read_until(fd, &b, "event: progress\n", 3000));
    ck_assert(client_read_until(fd, &b, "event: done\n", 5000));
    ck_assert_ptr_nonnull(strstr(b.p, "Content-Type: text/event-stream"));
    ck_assert(client_read_until(fd, &b, "\r\n0\r\n\r\n", 3000)); /* a proper end of the chunks */
    await_no_captures(3000);
}
END_TEST

START_TEST(events_tell_of_failure)
{
    _cleanup_reply_ struct reply none;
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    ask("GET", "/profile?pid=404", "Accept: text/event-stream\r\n", &none);
    ck_assert_uint_eq(none.status, 404);
    ask_on(fd, "GET", "/profile?pid=5&seconds=0.2", "Accept: text/event-stream\r\n");
    ck_assert(client_read_until(fd, &b, "event: failed\n", 5000));
    ck_assert(client_read_until(fd, &b, "broker was lost", 1000));
    await_no_captures(3000);
}
END_TEST

static const char *const LATE_STREAMS[] = { "/profile?pid=9&seconds=0.5", "/top?pid=9" };

START_TEST(a_stream_begins_with_its_capture)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", LATE_STREAMS[_i], "Accept: text/event-stream\r\n");
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    ck_assert(!client_read_until(fd, &b, "HTTP/1.1", 300));
    fake_release(&fake);
    ck_assert(client_read_until(fd, &b, "HTTP/1.1 200", 5000));
    if (_i == 0)
        ck_assert(client_read_until(fd, &b, "event: done\n", 5000));
}
END_TEST

START_TEST(a_stream_whose_capture_never_samples_is_none)
{
    _cleanup_close_ int fd = -1;
    _cleanup_reply_ struct reply r;

    fd = ask_on(client_connect_tcp(port), "GET", _i ? "/top?pid=10" : "/profile?pid=10&seconds=0.5",
                "Accept: text/event-stream\r\n");
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    fake_release(&fake);
    client_read(fd, /* head_only= */ false, &r);
    assert_problem(&r, 503, NULL, "the kernel takes long");
    await_no_captures(3000);
}
END_TEST

START_TEST(a_stream_follows_a_capture_to_its_end)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;
    _cleanup_reply_ struct reply r;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/api/v1/captures/" FAKE_ID "/stream", NULL);
    ck_assert(client_read_until(fd, &b, "event: progress\n", 3000));
    ck_assert(client_read_until(fd, &b, "event: top\n", 3000));
    ask("POST", "/api/v1/captures/" FAKE_ID "/stop", NULL, &r);
    ck_assert(client_read_until(fd, &b, "event: done\n", 3000));
    ck_assert(client_read_until(fd, &b, "\r\n0\r\n\r\n", 3000));
    await_no_captures(3000);
}
END_TEST

START_TEST(a_stream_of_a_failed_capture_says_so)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/api/v1/captures/" FAKE_ID_FAILED "/stream", NULL);
    ck_assert(client_read_until(fd, &b, "\r\n0\r\n\r\n", 5000));
    ck_assert_ptr_nonnull(strstr(b.p, "event: failed\n"));
    ck_assert_ptr_nonnull(strstr(b.p, "\"detail\":\"the broker was lost\""));
    ck_assert_ptr_null(strstr(b.p, "event: done\n"));
    await_no_captures(3000);
}
END_TEST

/* Requests for live views that end with an error: by their format, by their profile. */
static const struct {
    const char *headers;
    int32_t pid;
} ENDS[] = {
    { "Accept: text/event-stream\r\n", FAKE_PID_LONG }, /* longer than a piece may be */
    { "Accept: text/event-stream\r\n", FAKE_PID_CONFLICT },
    { NULL, FAKE_PID_CONFLICT },
};

START_TEST(a_view_that_ends_by_itself_ends_its_capture)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)16 << 20);
    fake.snapshot_pid = ENDS[_i].pid;
    ask_on(fd, "GET", "/top?pid=1000&interval=500ms&top=100000", ENDS[_i].headers);
    ck_assert(client_read_until(fd, &b, "\r\n0\r\n\r\n", 45000));
    ck_assert(fake_wait(&fake, &fake.ended_drop, 1, 10000));
    await_no_captures(3000);
}
END_TEST

START_TEST(streams_hold_up_nobody)
{
    _cleanup_reply_ struct reply r;
    struct steal_watch machine;
    int fds[20];

    /* No client reads its stream. */
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] =
            ask_on(client_connect_tcp(port), "GET",
                   i < 3 ? "/top?interval=500ms" : "/api/v1/captures/" FAKE_ID "/stream", NULL);
    ck_assert(fake_wait(&fake, &fake.snapshots, 6, 5000));
    steal_begin(&machine);
    ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &r);
    ck_assert_uint_lt(steal_took_ns(&machine), 3 * NSEC_PER_SEC);
    ck_assert_uint_eq(r.status, 200);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    await_no_captures(3000);
}
END_TEST

START_TEST(streams_end_when_the_service_stops)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct steal_watch machine;
    int fds[3];

    start_full();
    buf_init(&b, (size_t)1 << 20);
    fds[0] = ask_on(client_connect_tcp(port), "GET", "/top?interval=30s", NULL);
    fds[1] = ask_on(client_connect_tcp(port), "GET", "/api/v1/captures/" FAKE_ID "/stream", NULL);
    fds[2] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=1000&seconds=600",
                    "Accept: text/event-stream\r\n");
    ck_assert(fake_wait(&fake, &fake.started, 2, 5000));
    ck_assert(client_read_until(fds[0], &b, "sampling", 3000));
    steal_begin(&machine);
    stop();
    ck_assert_uint_lt(steal_took_ns(&machine), 4 * NSEC_PER_SEC);
    buf_clear(&b);
    ck_assert(client_read_until(fds[2], &b, "event: done\n", 5000));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        ck_assert(client_closed(fds[i], 5000));
        close(fds[i]);
    }
}
END_TEST

/* Many clients connect and leave in the middle of a stream, all at once. */
START_TEST(streams_survive_a_crowd)
{
    for (int round = 0; round < 10; round++) {
        int fds[16];

        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
            fds[i] = ask_on(client_connect_tcp(port), "GET",
                            i % 3 == 0   ? "/top?pid=1000&interval=500ms"
                            : i % 3 == 1 ? "/api/v1/captures/" FAKE_ID "/stream"
                                         : "/profile?pid=1000&seconds=0.2",
                            i % 2 ? "Accept: text/event-stream, text/html\r\n" : NULL);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
            if (i % 4 == 1)
                usleep((useconds_t)round * 12000);
            if (i % 5 == 1)
                shutdown(fds[i], SHUT_WR);
            close(fds[i]);
        }
    }
    await_no_captures(3000);
}
END_TEST

START_TEST(steps_that_cost_much_are_further_apart)
{
    static const struct {
        uint64_t every_s, apart_s, streams, expected_s;
    } STREAMS[] = { { 2, 1, 0, 2 }, { 2, 1, 3, 3 }, { 2, 50, 3, 60 }, { 60, 0, 1, 60 } };
    static struct serve s;
    static struct request req = { .serve = &s };

    pthread_mutex_init(&s.lock, NULL);
    s.stats.streams_now = STREAMS[_i].streams;
    stream_pace(&req, STREAMS[_i].every_s * NSEC_PER_SEC, STREAMS[_i].apart_s * NSEC_PER_SEC);
    ck_assert_uint_eq(req.stream.every_ns, STREAMS[_i].expected_s * NSEC_PER_SEC);
    pthread_mutex_destroy(&s.lock);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_streams");
    TCase *served = tcase_create("served"), *own = tcase_create("own start");

    tcase_add_checked_fixture(served, start_full, stop);
    tcase_set_timeout(served, 120);
    tcase_set_timeout(own, 60);
    tcase_add_test(served, top_is_drawn_again_until_the_client_leaves);
    tcase_add_test(served, events_tell_of_progress_and_give_the_link);
    tcase_add_test(served, events_tell_of_failure);
    tcase_add_loop_test(served, a_stream_begins_with_its_capture, 0, ARRAY_SIZE(LATE_STREAMS));
    tcase_add_loop_test(served, a_stream_whose_capture_never_samples_is_none, 0, 2);
    tcase_add_test(served, a_stream_follows_a_capture_to_its_end);
    tcase_add_test(served, a_stream_of_a_failed_capture_says_so);
    tcase_add_loop_test(served, a_view_that_ends_by_itself_ends_its_capture, 0, ARRAY_SIZE(ENDS));
    tcase_add_test(served, streams_hold_up_nobody);
    tcase_add_loop_test(own, steps_that_cost_much_are_further_apart, 0, 4);
    tcase_add_test(own, streams_end_when_the_service_stops);
    tcase_add_test(served, streams_survive_a_crowd);
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    return run_suite(s);
}
