/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests serve/ accepts: hosts, origins, and the Unix socket. */
#include "serve_fixture.h"

#include "base/cleanup.h"
#include "serve/origin.h"
#include "serve/serve_impl.h"

static const struct {
    const char *headers;
    unsigned status;
} ACCESS[] = {
    { "Host: localhost\r\n", 200 },
    { "Host: localhost:1\r\n", 200 },
    { "Host: LOCALHOST:7979\r\n", 200 },
    { "Host: 127.0.0.1:7979\r\n", 200 },
    { "Host: [::1]:7979\r\n", 200 },
    { "Host: evil.example:7979\r\n", 403 }, /* DNS rebinding */
    { "Host: localhost.evil.example\r\n", 403 },
    /* a name of flamed --login, and names that are not quite such */
    { "Host: 0123456789abcdef0123456789ABCDEF.localhost:7979\r\n", 200 },
    { "Host: 0123456789abcdef0123456789abcdef.localhost:7979\r\n"
      "Origin: http://0123456789abcdef0123456789abcdef.localhost:7979\r\n",
      200 },
    { "Host: 0123456789abcdef0123456789abcdef.localhost:7979\r\n"
      "Origin: http://localhost:7979\r\n",
      403 },
    { "Host: localhost:7979\r\n"
      "Origin: http://0123456789abcdef0123456789abcdef.localhost:7979\r\n",
      403 },
    { "Host: evil.localhost:7979\r\n", 403 },
    { "Host: 0123456789abcdef0123456789abcde.localhost:7979\r\n", 403 },
    { "Host: 0123456789abcdef0123456789abcdeg.localhost:7979\r\n", 403 },
    { "Host: 0123456789abcdef0123456789abcdef.localhost.evil.example\r\n", 403 },
    { "Host: 0123456789abcdef0123456789abcdef.evilhost1:7979\r\n", 403 },
    { "Host: 127.0.0.1.evil.example\r\n", 403 },
    { "Host: 127.0.0.2\r\n", 403 },
    { "Host: 10.0.0.1\r\n", 403 },
    { "Host: localhost:99999\r\n", 403 },
    { "Host: localhost:x\r\n", 403 },
    { "Host: \r\n", 403 },
    { "Host: localhost\r\nHost: evil.example\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979\r\n", 200 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:3000\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: https://evil.example\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: null\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: https://localhost:7979\r\n", 403 }, /* another scheme */
    { "Host: localhost\r\nOrigin: http://localhost:80\r\n", 200 },
    { "Host: localhost:80\r\nOrigin: http://localhost\r\n", 200 },
    { "Host: localhost\r\nOrigin: http://localhost:7979\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979.evil.example\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979\r\nOrigin: http://evil.example\r\n",
      403 },
    /* behind a reverse proxy: one that forwards Host, and one that does not */
    { "Host: flamed.example.com\r\nOrigin: https://flamed.example.com\r\n", 200 },
    { "Host: FLAMED.example.com:8443\r\nOrigin: https://flamed.example.com:8443\r\n", 200 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://flamed.example.com\r\n", 200 },
    { "Host: flamed.example.com\r\nOrigin: http://flamed.example.com\r\n", 200 },
    { "Host: flamed.example.com:443\r\nOrigin: https://flamed.example.com\r\n", 200 },
    /* another port belongs to another program */
    { "Host: flamed.example.com\r\nOrigin: https://flamed.example.com:8443\r\n", 403 },
    { "Host: flamed.example.com:8443\r\nOrigin: https://flamed.example.com\r\n", 403 },
    { "Host: flamed.example.com\r\nReferer: http://flamed.example.com:3000/\r\n", 403 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://flamed.example.com:8443\r\n", 403 },
    { "Host: 127.0.0.1:7979\r\nReferer: https://flamed.example.com:8443/\r\n", 403 },
    { "Host: other.example.com\r\nOrigin: https://flamed.example.com:8443\r\n", 403 },
    { "Host: flamed.example.com.evil.example\r\n", 403 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://flamed.example.com.evil.example\r\n", 403 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://evil.flamed.example.com\r\n", 403 },
    { "Host: flamed.example.com\r\nSec-Fetch-Site: same-site\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: none\r\n", 200 },
    { "Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 200 },
    /* a prefetch by speculation rules of any page */
    { "Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Purpose: prefetch\r\n", 403 },
    { "Host: localhost\r\nSec-Purpose: prefetch;prerender\r\n", 403 },
    { "Host: localhost\r\nPurpose: prefetch\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: same-site\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403 },
    /* browsers without Sec-Fetch-Site: old ones, and all over plain http by a name */
    { "Host: localhost:7979\r\nReferer: http://evil.example/\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: http://evil.example/http://localhost:7979/\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: http://localhost:3000/page\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: http://localhost:7979@evil.example/\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: http://localhost:7979.evil.example/\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: file:///tmp/evil.html\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: nonsense\r\n", 403 },
    { "Host: localhost:7979\r\nReferer: http://localhost:7979\r\n", 200 },
    { "Host: localhost:7979\r\nReferer: http://LOCALHOST:7979/ui/?a=http://evil/#b\r\n", 200 },
    { "Host: flamed.example.com\r\nReferer: https://flamed.example.com?x\r\n", 200 },
    { "Host: 127.0.0.1:7979\r\nReferer: https://flamed.example.com/\r\n", 200 }, /* a proxy */
    { "Host: localhost:7979\r\nReferer: \r\n", 200 }, /* empty, as if it were not sent */
    /* a repeated header is refused */
    { "Host: localhost\r\nHost: localhost\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: none, none\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979\r\nOrigin: http://localhost:7979\r\n",
      403 },
    { "Host: localhost:7979\r\nReferer: http://localhost:7979/\r\nReferer: "
      "http://evil.example/\r\n",
      403 },
    { "Host: localhost:7979\r\nReferer: http://localhost:7979/\r\n"
      "Referer: http://localhost:7979/\r\n",
      403 },
};

START_TEST(only_its_own_page_may_ask)
{
    _cleanup_reply_ struct reply r;

    ask("GET", "/profile?pid=1000&seconds=0.1", ACCESS[_i].headers, &r);
    if (ACCESS[_i].status == 200)
        ck_assert_uint_eq(r.status, 200);
    else
        assert_problem(&r, 403, NULL, NULL);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), ACCESS[_i].status == 200);
}
END_TEST

/* Load balancers probe by HTTP/1.0 without Host. Only /healthz answers that. */
static const struct {
    const char *request;
    unsigned status;
} OLD[] = {
    { "GET /healthz HTTP/1.0\r\n\r\n", 200 },
    { "GET /healthz HTTP/1.0\r\nUser-Agent: probe\r\n\r\n", 200 },
    { "GET /healthz HTTP/1.1\r\n\r\n", 403 },
    { "GET /healthz HTTP/1.0\r\nHost: evil.example\r\n\r\n", 403 },
    { "GET /healthz HTTP/1.0\r\nHost: \r\n\r\n", 403 },
    { "GET /healthz HTTP/1.0\r\nOrigin: http://evil.example\r\n\r\n", 403 },
    { "GET /healthz HTTP/1.0\r\nReferer: http://evil.example/\r\n\r\n", 403 },
    { "GET /healthz HTTP/1.0\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403 },
    { "GET http://evil.example/healthz HTTP/1.0\r\n\r\n", 403 },
    { "GET /readyz HTTP/1.0\r\n\r\n", 403 },
    { "GET /metrics HTTP/1.0\r\n\r\n", 403 },
    { "GET /healthz/../profile HTTP/1.0\r\n\r\n", 403 },
    { "GET /healthz?x HTTP/1.0\r\n\r\n", 403 },
    { "GET /profile?pid=1000&seconds=0.1 HTTP/1.0\r\n\r\n", 403 },
    { "GET / HTTP/1.0\r\n\r\n", 403 },
};

START_TEST(health_alone_needs_no_host)
{
    _cleanup_reply_ struct reply r = { 0 };
    int fd = client_connect_tcp(port);

    client_send(fd, OLD[_i].request, strlen(OLD[_i].request));
    ck_assert(client_read(fd, false, &r));
    ck_assert_uint_eq(r.status, OLD[_i].status);
    if (r.status == 403 && !strchr(OLD[_i].request, ':')) /* without any header */
        ck_assert_ptr_nonnull(strstr(r.body.p, "by HTTP/1.0 too, such as Host: localhost"));
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
    close(fd);
}
END_TEST

/* What another program left in a browser asks for a new version of itself, at any path. */
START_TEST(a_service_worker_gets_one_that_ends_itself)
{
    static const char *const PATHS[] = { "/worker.js", "/profile?pid=1000&seconds=60", "/" };
    _cleanup_reply_ struct reply r, foreign;

    ask("GET", PATHS[_i], "Service-Worker: script\r\nSec-Fetch-Site: same-origin\r\n", &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_str_eq(header(&r, "Content-Type"), "text/javascript");
    ck_assert_str_eq(header(&r, "Service-Worker-Allowed"), "/");
    ck_assert_ptr_nonnull(strstr(r.body.p, "registration.unregister()"));
    ask("GET", PATHS[_i], "Service-Worker: script\r\nSec-Fetch-Site: cross-site\r\n", &foreign);
    ck_assert_uint_eq(foreign.status, 403);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}
END_TEST

/* Over TLS, with a certificate for flamed.example.com and for all names below wild.example.com. */
static const struct {
    const char *host, *origin;
    bool ours;
} OVER_TLS[] = {
    { "flamed.example.com:7980", "https://flamed.example.com:7980", true },
    { "FLAMED.example.com:7980", "https://flamed.EXAMPLE.com:7980", true },
    { "a.wild.example.com", "https://a.wild.example.com", true },
    { "a.wild.example.com", "https://a.wild.example.com:443", true },
    { "a.wild.example.com:443", "https://a.wild.example.com", true },
    { "a.wild.example.com", "https://b.wild.example.com", false },
    { "a.wild.example.com:7980", "https://b.wild.example.com:7980", false },
    { "flamed.example.com:7980", "https://a.wild.example.com:7980", false },
    { "flamed.example.com:7980", "https://flamed.example.com", false },
    { "flamed.example.com:7980", "https://flamed.example.com:8443", false },
    { "flamed.example.com:7980", "http://flamed.example.com:7980", false },
    { "localhost:7980", "https://flamed.example.com:7980", false },
    { "localhost:7980", "https://localhost:7980", true },
    { "localhost:7980", "http://localhost:7980", false },
    { "[::1]:7980", "https://[::1]:7980", true },
    { "[::1]:7980", "https://[::1]", false },
    { "proxy.example.com", "https://proxy.example.com", true },
    { "localhost:7980", "https://proxy.example.com", true }, /* a proxy that sends another Host */
    { "localhost:7980", "https://proxy.example.com:8443", false },
};

START_TEST(same_origin_is_scheme_host_and_port)
{
    static const char *const NAMES[] = { "flamed.example.com", "*.wild.example.com" },
                             *const ALLOWED[] = { "proxy.example.com" };
    struct origin_facts f = { .host = span_of(OVER_TLS[_i].host),
                              .host_count = 1,
                              .tls = true,
                              .local_address = "127.0.0.1",
                              .allowed = ALLOWED,
                              .allowed_count = 1,
                              .certificate = NAMES,
                              .certificate_count = ARRAY_SIZE(NAMES) };
    struct error err = ERROR_NULL;

    ck_assert_int_eq(origin_check(&f, &err), 0);
    f.origin = span_of(OVER_TLS[_i].origin);
    f.origin_count = 1;
    ck_assert_int_eq(origin_check(&f, &err), OVER_TLS[_i].ours ? 0 : -EACCES);
    f.referer = f.origin;
    f.origin = SPAN_NULL;
    f.origin_count = 0;
    f.referer_count = 1;
    ck_assert_int_eq(origin_check(&f, &err), OVER_TLS[_i].ours ? 0 : -EACCES);
    f.unix_socket = true; /* a proxy before the socket may have ended TLS */
    f.tls = false;
    f.host = SPAN("any.example:8443");
    f.referer = SPAN("https://any.example:8443/x");
    ck_assert_int_eq(origin_check(&f, &err), 0);
    f.referer = SPAN("https://any.example:8444/x");
    ck_assert_int_eq(origin_check(&f, &err), -EACCES);
}
END_TEST

START_TEST(a_unix_socket_takes_any_host)
{
    _cleanup_close_ int a = client_connect_unix(socket_path), b = client_connect_unix(socket_path);
    _cleanup_reply_ struct reply r, foreign;

    ask_on(a, "GET", "/profile?pid=1000&seconds=0.1", "Host: whatever.example\r\n");
    client_read(a, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    ask_on(b, "GET", "/profile?pid=1000&seconds=0.1",
           "Host: whatever.example\r\nSec-Fetch-Site: cross-site\r\n");
    client_read(b, /* head_only= */ false, &foreign);
    ck_assert_uint_eq(foreign.status, 403);
}
END_TEST

static const struct access_rules *rules_at_start; /* when the HTTP server began */

int __real_http_start(struct serve *s, struct error *err);
int __wrap_http_start(struct serve *s, struct error *err);

int __wrap_http_start(struct serve *s, struct error *err)
{
    rules_at_start = serve_access(s);
    return __real_http_start(s, err);
}

/* The first request may come before serve_start() returns. */
START_TEST(the_first_request_has_rules)
{
    struct serve_opts o = USUAL;

    o.access = calloc(1, sizeof(*o.access));
    ck_assert_ptr_nonnull(o.access);
    start_with(&o);
    ck_assert_ptr_eq(rules_at_start, o.access);
    stop();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_access");
    TCase *served = tcase_create("served"), *pure = tcase_create("pure");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_add_loop_test(served, only_its_own_page_may_ask, 0, ARRAY_SIZE(ACCESS));
    tcase_add_loop_test(served, health_alone_needs_no_host, 0, ARRAY_SIZE(OLD));
    tcase_add_loop_test(served, a_service_worker_gets_one_that_ends_itself, 0, 3);
    tcase_add_test(served, a_unix_socket_takes_any_host);
    tcase_add_test(pure, the_first_request_has_rules);
    tcase_add_loop_test(pure, same_origin_is_scheme_host_and_port, 0, ARRAY_SIZE(OVER_TLS));
    suite_add_tcase(s, served);
    suite_add_tcase(s, pure);
    return run_suite(s);
}
