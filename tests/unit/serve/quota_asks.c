/* SPDX-License-Identifier: Apache-2.0 */
#include "quota_asks.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "steal_time.h"

#include <unistd.h>

void quota_need_root(void)
{
    if (geteuid() != 0)
        exit(77);
}

void quota_ask(int fd, const char *method, const char *target, struct reply *ret)
{
    ask_on(fd, method, target, NULL);
    client_read(fd, /* head_only= */ false, ret);
    close(fd);
}

unsigned quota_status(int fd, const char *target)
{
    _cleanup_reply_ struct reply r;

    quota_ask(fd, "GET", target, &r);
    return r.status;
}

void quota_assert_soon(int fd, const char *target, unsigned status)
{
    struct steal_watch machine;
    unsigned got;

    steal_begin(&machine);
    got = quota_status(fd, target);
    ck_assert_uint_lt(steal_took_ns(&machine), QUOTA_SOON_NS);
    ck_assert_msg(got == status, "%s: %u", target, got);
}

void quota_assert_root_and_health(void)
{
    quota_assert_soon(client_connect_tcp(port), "/healthz", 200);
    quota_assert_soon(client_connect_tcp(port), "/readyz", 503); /* the fake backend's answer */
    quota_assert_soon(client_connect_tcp(port), "/metrics", 200);
    quota_assert_soon(client_connect_unix(socket_path), "/healthz", 200);
    quota_assert_soon(client_connect_unix(socket_path), "/api/v1/jvms", 200);
    quota_assert_soon(client_connect_unix(socket_path), "/api/v1/jvms/1000", 200);
}

uint64_t quota_retry_s(const struct reply *r)
{
    uint64_t seconds = 0;

    span_parse_dec(span_of(header(r, "Retry-After")), &seconds);
    return seconds;
}

void quota_assert_refused(const struct reply *r, const char *contains)
{
    assert_problem(r, 429, NULL, contains);
    ck_assert_uint_ge(quota_retry_s(r), 1);
}
