/* SPDX-License-Identifier: Apache-2.0 */
/* What serve/ does to a request before anything waits: query strings, parameters, negotiation,
 * routes; and the OpenAPI document held against the tables. */
#include "base/cleanup.h"
#include "serve/negotiate.h"
#include "serve/params.h"
#include "serve/route.h"
#include "serve/serve.h"
#include "serve/values.h"

#include <check.h>
#include <grp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- query strings ---- */

static const struct {
    const char *raw, *decoded; /* "name=value;..." */
    int r;
} QUERIES[] = {
    { "", "", 0 },
    { "a=1", "a=1;", 0 },
    { "a=1&b=2", "a=1;b=2;", 0 },
    { "a=1&&b=2&", "a=1;b=2;", 0 },
    { "&&&", "", 0 },
    { "a", "a;", 0 },
    { "a=", "a=;", 0 },
    { "=1", "=1;", 0 },
    { "a=b=c", "a=b=c;", 0 },
    { "a=%41+%2b", "a=A +;", 0 },
    { "%61=%61", "a=a;", 0 },
    { "a=%e2%82%ac", "a=\xe2\x82\xac;", 0 },
    { "a=%26%3d", "a=&=;", 0 },
    { "a=%", "", -EINVAL },
    { "a=%4", "", -EINVAL },
    { "a=%4&b=1", "", -EINVAL },
    { "a=%4g", "", -EINVAL },
    { "%zz=1", "", -EINVAL },
    { "a=%00", "", -EINVAL },
    { "a=%c0%80", "", -EINVAL },
    { "a=%e2%82", "", -EINVAL },
    { "a=\xff", "", -EINVAL },
};

START_TEST(splits_and_decodes_a_query)
{
    struct query q = { 0 };
    struct error err = ERROR_NULL;
    char text[128] = "";

    ck_assert_int_eq(query_parse(span_of(QUERIES[_i].raw), &q, &err), QUERIES[_i].r);
    if (QUERIES[_i].r < 0)
        ck_assert_str_ne(err.msg, "");
    for (size_t i = 0; i < q.count; i++) {
        size_t n = strlen(text);

        ck_assert_int_eq(q.items[i].name.p[q.items[i].name.n], 0);
        ck_assert_int_eq(q.items[i].value.p[q.items[i].value.n], 0);
        snprintf(text + n, sizeof(text) - n, "%s%s%s;", q.items[i].name.p,
                 q.items[i].has_value ? "=" : "", q.items[i].value.p);
    }
    ck_assert_str_eq(text, QUERIES[_i].decoded);
    query_deinit(&q);
}
END_TEST

START_TEST(a_query_has_a_limit)
{
    char raw[QUERY_ITEMS_MAX * 2 + 3] = "";
    struct error err = ERROR_NULL;
    struct query q = { 0 };

    for (size_t i = 0; i < QUERY_ITEMS_MAX; i++)
        memcpy(raw + i * 2, "a&", 3);
    ck_assert_int_eq(query_parse(span_of(raw), &q, &err), 0);
    ck_assert_uint_eq(q.count, QUERY_ITEMS_MAX);
    query_deinit(&q);
    memcpy(raw + (size_t)QUERY_ITEMS_MAX * 2, "a", 2);
    ck_assert_int_eq(query_parse(span_of(raw), &q, &err), -E2BIG);
}
END_TEST

START_TEST(decodes_a_path)
{
    struct error err = ERROR_NULL;
    char *path = NULL;

    ck_assert_int_eq(query_decode_path(SPAN("/a%20b+c"), &path, &err), 0);
    ck_assert_str_eq(path, "/a b+c"); /* only queries have plus for blank */
    free(path);
    path = NULL;
    ck_assert_int_eq(query_decode_path(SPAN("/%"), &path, &err), -EINVAL);
    ck_assert_ptr_null(path);
}
END_TEST

START_TEST(shows_foreign_text_harmlessly)
{
    char buf[QUERY_SHOW_MAX], long_text[500];

    memset(long_text, 'x', sizeof(long_text));
    ck_assert_uint_le(strlen(query_show((struct span){ long_text, sizeof(long_text) }, buf)), 64);
    ck_assert_str_eq(query_show(SPAN("a\x1b[2J\n\xff"), buf),
                     "a\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

/* ---- values ---- */

static const struct {
    const char *text;
    uint64_t scale;
    bool good;
    uint64_t value;
} SCALED[] = {
    { "0", 1000, true, 0 },
    { "2.5", 1000, true, 2500 },
    { "0.001", 1000, true, 1 },
    { "0.0019", 1000, true, 1 },
    { "3600", NSEC_PER_SEC, true, 3600 * NSEC_PER_SEC },
    { "9223372036", NSEC_PER_SEC, true, UINT64_C(9223372036000000000) },
    { "9223372037", NSEC_PER_SEC, false, 0 },
    { "18446744073709551615", 1, false, 0 },
    { "", 1, false, 0 },
    { ".5", 10, false, 0 },
    { "5.", 10, false, 0 },
    { "-5", 10, false, 0 },
    { "+5", 10, false, 0 },
    { " 5", 10, false, 0 },
    { "5 ", 10, false, 0 },
    { "1e3", 10, false, 0 },
    { "0x10", 10, false, 0 },
    { "1.2.3", 10, false, 0 },
};

START_TEST(reads_a_number)
{
    uint64_t v = 0;

    ck_assert_msg(value_scaled(span_of(SCALED[_i].text), SCALED[_i].scale, &v) == SCALED[_i].good,
                  "%s", SCALED[_i].text);
    ck_assert_uint_eq(v, SCALED[_i].value);
}
END_TEST

static const struct {
    const char *text;
    bool good;
    uint64_t ns;
} INTERVALS[] = {
    { "10ms", true, 10 * NSEC_PER_MSEC },
    { "100us", true, 100 * NSEC_PER_USEC },
    { "1s", true, NSEC_PER_SEC },
    { "0.5s", true, NSEC_PER_SEC / 2 },
    { "10", false, 0 },
    { "ms", false, 0 },
    { "10 ms", false, 0 },
    { "10m", false, 0 },
    { "10ns", false, 0 },
    { "", false, 0 },
    { "s", false, 0 },
    { "-1s", false, 0 },
};

START_TEST(reads_an_interval)
{
    uint64_t ns = 0;

    ck_assert_msg(value_interval(span_of(INTERVALS[_i].text), &ns) == INTERVALS[_i].good, "%s",
                  INTERVALS[_i].text);
    ck_assert_uint_eq(ns, INTERVALS[_i].ns);
}
END_TEST

START_TEST(guesses_what_was_meant)
{
    static const char *const NAMES[] = { "seconds", "symbols", "pid", "pod", "interval" };
    static const struct {
        const char *word, *near;
    } CASES[] = {
        { "secnods", "seconds" },
        { "second", "seconds" },
        { "symbol", "symbols" },
        { "pidd", "pid" },
        { "intervall", "interval" },
        { "xyz", NULL },
        { "", NULL },
        { "banana", NULL },
        { "a-very-long-word-that-is-nothing-at-all", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        const char *near = value_nearest(span_of(CASES[i].word), NAMES, ARRAY_SIZE(NAMES));

        ck_assert_msg(CASES[i].near ? near && strcmp(near, CASES[i].near) == 0 : near == NULL,
                      "%s: %s", CASES[i].word, near ? near : "-");
    }
}
END_TEST

/* ---- parameters ---- */

static int parse(const char *raw, uint64_t allowed, struct params *p, struct error *err)
{
    struct span unknown = SPAN_NULL;
    static struct query q; /* outlives the call: the parameters point into it */
    int r;

    query_deinit(&q);
    ck_assert_int_eq(query_parse(span_of(raw), &q, err), 0);
    r = params_parse(&q, allowed, p, &unknown, err);
    if (r != 0) {
        params_deinit(p);
        query_deinit(&q);
    }
    return r;
}

START_TEST(fills_in_what_was_not_said)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(parse("", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.duration_ns, 10 * NSEC_PER_SEC);
    ck_assert_uint_eq(p.period_ns, 10101010);
    ck_assert_str_eq(p.event, "cpu");
    ck_assert_int_eq(p.symbols, SYMBOLS_AUTO);
    ck_assert_uint_eq(p.target.pid_count, 0);
    ck_assert_ptr_null(p.format);
    ck_assert(!p.view.no_user && !p.view.no_kernel && !p.view.threads && p.view.depth == 0);
    ck_assert_str_eq(p.title, "");
}
END_TEST

START_TEST(reads_every_parameter)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_msg(
        parse("pid=4242,7&container=web&nspid=3&pod=p&namespace=n&jvm=a.c&seconds=2.5&event=wall&"
              "symbols=memory&hz=997&format=json&threads=1&user=0&kernel=1&include=x&include=y&"
              "exclude=z&depth=64&names=signature&lines=1&annotate=1&total=1&title=a%0Ab&"
              "reverse=1&inverted=1&minwidth=0.25%25&width=800&top=7&"
              "from=2026-01-02T03:04:05Z&to=2026-01-02T05:04:05.5%2B01:00",
              PARAMS_PROFILE, &p, &err) == 0,
        "%s", err.msg);
    ck_assert_uint_eq(p.target.pid_count, 2);
    ck_assert_int_eq(p.target.pids[0], 4242);
    ck_assert_int_eq(p.target.pids[1], 7);
    ck_assert_str_eq(p.target.container, "web");
    ck_assert_int_eq(p.target.ns_pid, 3);
    ck_assert_str_eq(p.target.pod, "p");
    ck_assert_str_eq(p.target.pod_namespace, "n");
    ck_assert_str_eq(p.target.jvm, "a.c");
    ck_assert_uint_eq(p.duration_ns, 2500 * NSEC_PER_MSEC);
    ck_assert_str_eq(p.event, "wall");
    ck_assert_int_eq(p.symbols, SYMBOLS_MEMORY);
    ck_assert_uint_eq(p.period_ns, 1003009);
    ck_assert_str_eq(p.format->name, "json");
    ck_assert(p.view.threads && p.view.no_user && !p.view.no_kernel);
    ck_assert_uint_eq(match_count(p.view.include), 2);
    ck_assert_uint_eq(match_count(p.view.exclude), 1);
    ck_assert_uint_eq(p.view.depth, 64);
    ck_assert_int_eq(p.view.names, VIEW_NAMES_SIGNATURE);
    ck_assert(p.view.lines && p.view.annotate && p.view.total && p.reverse && p.inverted);
    ck_assert_str_eq(p.title, "a\xef\xbf\xbd"
                              "b");
    ck_assert(p.minwidth > 0.2499 && p.minwidth < 0.2501);
    ck_assert_uint_eq(p.width, 800);
    ck_assert_uint_eq(p.top, 7);
    ck_assert_uint_eq(p.range.from_ns, UINT64_C(1767323045000000000));
    ck_assert_uint_eq(p.range.to_ns, UINT64_C(1767326645500000000));
    ck_assert_uint_eq(p.given & ~PARAM_BIT(PARAM_INTERVAL),
                      PARAMS_PROFILE & ~PARAM_BIT(PARAM_INTERVAL));
    params_deinit(&p);
}
END_TEST

START_TEST(bounds_lists_and_texts)
{
    struct error err = ERROR_NULL;
    char raw[8192] = "pid=1";
    struct params p;

    for (int i = 2; i <= BACKEND_PIDS_MAX; i++) {
        size_t n = strlen(raw);

        snprintf(raw + n, sizeof(raw) - n, ",%d", i);
    }
    ck_assert_int_eq(parse(raw, PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.target.pid_count, BACKEND_PIDS_MAX);
    snprintf(raw + strlen(raw), sizeof(raw) - strlen(raw), ",100000");
    ck_assert_int_eq(parse(raw, PARAMS_PROFILE, &p, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, "pid");

    for (int i = 0; i < 4; i++) {
        static const char *const NAMES[] = { "title", "container", "event", "jvm" };

        snprintf(raw, sizeof(raw), "%s=", NAMES[i]);
        memset(raw + strlen(raw), 'a', 1100);
        raw[1100] = '\0';
        ck_assert_int_eq(parse(raw, PARAMS_PROFILE, &p, &err), -EINVAL);
        ck_assert_str_eq(err.parameter, NAMES[i]);
    }
}
END_TEST

START_TEST(knows_only_what_a_route_takes)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(parse("seconds=1", PARAMS_TARGET, &p, &err), -EINVAL);
    ck_assert_ptr_null(err.parameter);
    ck_assert_ptr_nonnull(strstr(err.remedy, "container"));
    ck_assert_int_eq(parse("seconds=1", PARAMS_NONE, &p, &err), -EINVAL);
}
END_TEST

/* ---- negotiation ---- */

static const struct {
    const char *accept, *format; /* NULL: none sent; none fits */
} ACCEPTS[] = {
    { NULL, "html" },
    { "", "html" },
    { "*/*", "html" },
    { "text/html", "html" },
    { "text/*", "html" },
    { "text/plain", "collapsed" },
    { "TEXT/PLAIN", "collapsed" },
    { "application/json", "json" },
    { "application/*", "json" },
    { "application/json;q=0.5, text/plain;q=0.9", "collapsed" },
    { "text/html;q=0.1, */*;q=0.5", "collapsed" },
    { "text/html;q=0, */*", "collapsed" },
    { "application/json, text/plain, */*", "json" },
    { "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", "html" },
    { "image/png", NULL },
    { "text/html;q=0", NULL },
    { "text/plain;charset=utf-8", "collapsed" },
    { ", ,;q=1,text/plain", "collapsed" },
    { "application/json;q=nonsense", NULL },
};

START_TEST(chooses_a_format)
{
    size_t count;
    const struct render_format *formats = render_formats(&count);
    const struct render_format *f = negotiate_format(span_of(ACCEPTS[_i].accept), formats, count);

    if (ACCEPTS[_i].format) {
        ck_assert_msg(f != NULL, "%s", ACCEPTS[_i].accept);
        ck_assert_msg(strcmp(f->name, ACCEPTS[_i].format) == 0, "%s: %s", ACCEPTS[_i].accept,
                      f->name);
    } else {
        ck_assert_msg(f == NULL, "%s", ACCEPTS[_i].accept);
    }
}
END_TEST

START_TEST(chooses_a_coding)
{
    static const struct {
        const char *accept;
        enum content_coding coding;
    } CASES[] = {
        { NULL, CODING_IDENTITY },
        { "", CODING_IDENTITY },
        { "gzip, deflate, br, zstd", CODING_GZIP },
        { "GZIP", CODING_GZIP },
        { "deflate", CODING_DEFLATE },
        { "gzip;q=0", CODING_IDENTITY },
        { "gzip;q=0.5, deflate;q=0.9", CODING_DEFLATE },
        { "br", CODING_IDENTITY },
        { "*", CODING_GZIP },
        { "*;q=0", CODING_IDENTITY },
        { "identity, gzip;q=0.5", CODING_IDENTITY },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        ck_assert_msg(negotiate_coding(span_of(CASES[i].accept)) == CASES[i].coding, "%s",
                      CASES[i].accept);
}
END_TEST

/* ---- routes and their document ---- */

/* The parameter of that name among @allowed: two routes have one of their own meaning. */
static size_t param_of(const char *name, uint64_t allowed)
{
    size_t id = 0;

    while (id < PARAM_COUNT &&
           (!(allowed & PARAM_BIT(id)) || strcmp(param_name((enum param_id)id), name) != 0))
        id++;
    return id;
}

START_TEST(the_document_holds_every_route_and_nothing_else)
{
    struct span text = serve_openapi();
    const json_t *paths, *path, *operation, *list, *one;
    const char *name, *method;
    const struct route *r;
    json_error_t e;
    size_t count, i, operations = 0;
    json_t *doc = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &e);

    ck_assert_msg(doc != NULL, "%s, line %d", e.text, e.line);
    ck_assert_int_eq(text.p[text.n], 0);
    paths = json_object_get(doc, "paths");
    r = routes(&count);
    json_object_foreach((json_t *)(uintptr_t)paths, name, path) operations +=
        json_object_size(path);
    ck_assert_uint_eq(operations, count);
    for (size_t k = 0; k < count; k++) {
        uint64_t found = 0;
        bool in_body = r[k].body == BODY_PARAMS;

        path = json_object_get(paths, r[k].path);
        ck_assert_msg(path != NULL, "%s is not in the document", r[k].path);
        method = r[k].methods & METHOD_GET ? "get" : r[k].methods & METHOD_POST ? "post" : "delete";
        operation = json_object_get(path, method);
        ck_assert_msg(operation != NULL, "%s has no %s", r[k].path, method);
        list = json_object_get(operation, "parameters");
        json_array_foreach(list, i, one)
        {
            const char *ref = json_string_value(json_object_get(one, "$ref"));
            size_t id;

            if (!ref) { /* a part of the path */
                ck_assert_str_eq(json_string_value(json_object_get(one, "in")), "path");
                continue;
            }
            ck_assert(strncmp(ref, "#/components/parameters/", 24) == 0);
            one = json_object_get(json_object_get(json_object_get(doc, "components"), "parameters"),
                                  ref + 24);
            ck_assert_msg(one != NULL, "%s leads nowhere", ref);
            name = json_string_value(json_object_get(one, "name"));
            ck_assert_str_eq(json_string_value(json_object_get(one, "in")), "query");
            id = param_of(name, r[k].params);
            ck_assert_msg(id < PARAM_COUNT, "%s: the daemon does not know %s", r[k].path, name);
            found |= PARAM_BIT(id);
        }
        list = json_object_get(operation, "requestBody");
        ck_assert_msg((list != NULL) == in_body, "%s", r[k].path);
        list = json_object_get(
            json_object_get(json_object_get(json_object_get(list, "content"), "application/json"),
                            "schema"),
            "properties");
        json_object_foreach((json_t *)(uintptr_t)list, name, one)
        {
            size_t id = param_of(name, r[k].params);

            ck_assert_msg(id < PARAM_COUNT, "%s: the daemon does not know %s", r[k].path, name);
            found |= PARAM_BIT(id);
        }
        ck_assert_msg(found == (r[k].params & ~PARAMS_LENIENT), "%s: document %llx, table %llx",
                      r[k].path, (unsigned long long)found, (unsigned long long)r[k].params);
    }
    ck_assert_uint_eq(
        json_object_size(json_object_get(json_object_get(doc, "components"), "parameters")),
        PARAM_COUNT);
    json_decref(doc);
}
END_TEST

START_TEST(the_document_lists_every_format)
{
    struct span text = serve_openapi();
    json_t *doc = json_loadb(text.p, text.n, 0, NULL), *list;
    const struct render_format *f;
    size_t count;

    list = json_object_get(
        json_object_get(
            json_object_get(json_object_get(json_object_get(doc, "components"), "parameters"),
                            "format"),
            "schema"),
        "enum");
    f = render_formats(&count);
    ck_assert_uint_eq(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(json_string_value(json_array_get(list, i)), f[i].name);
    json_decref(doc);
}
END_TEST

START_TEST(finds_routes)
{
    static const struct {
        const char *path, *route;
        int r;
    } CASES[] = {
        { "/", "/", 0 },
        { "/profile", "/profile", 0 },
        { "/api/v1/jvms", "/api/v1/jvms", 0 },
        { "/api/v1/jvms/1", "/api/v1/jvms/{pid}", 0 },
        { "/api/v1/jvms/x", "/api/v1/jvms/{pid}", ROUTE_BAD_PID },
        { "/api/v1/jvms/2147483648", "/api/v1/jvms/{pid}", ROUTE_BAD_PID },
        { "/api/v1/jvms/", NULL, ROUTE_NONE },
        { "/api/v1/jvms/1/", NULL, ROUTE_NONE },
        { "/api/v1/jvms//", NULL, ROUTE_NONE },
        { "/api/v1", NULL, ROUTE_NONE },
        { "/profile/", NULL, ROUTE_NONE },
        { "/profilex", NULL, ROUTE_NONE },
        { "//", NULL, ROUTE_NONE },
        { "", NULL, ROUTE_NONE },
        { "profile", NULL, ROUTE_NONE },
        { "*", NULL, ROUTE_NONE },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        const struct route *r = NULL;
        struct route_args args = { 0 };

        ck_assert_msg(route_find(span_of(CASES[i].path), "GET", &r, &args) == CASES[i].r, "%s",
                      CASES[i].path);
        if (CASES[i].route)
            ck_assert_str_eq(r->path, CASES[i].route);
    }
}
END_TEST

/* ---- listening ---- */

static const struct {
    const char *address;
    int r;
} ADDRESSES[] = {
    { "127.0.0.1:0", 0 },
    { "127.1.2.3:0", 0 },
    { "localhost:0", 0 },
    { "[::1]:0", 0 },
    { "0.0.0.0:0", -EACCES },
    { "192.0.2.1:0", -EACCES },
    { "[::]:0", -EACCES },
    { "[2001:db8::1]:0", -EACCES },
    { "[::ffff:192.0.2.1]:0", -EACCES },
    { ":7979", -EACCES },
    { "*:7979", -EACCES },
    { "example.com:80", -EINVAL },
    { "127.0.0.1", -EINVAL },
    { "127.0.0.1:", -EINVAL },
    { "127.0.0.1:65536", -EINVAL },
    { "127.0.0.1:-1", -EINVAL },
    { "127.0.0.1:http", -EINVAL },
    { "::1:7979", -EINVAL },
    { "[::1:7979", -EINVAL },
    { "[127.0.0.1]:7979", -EINVAL },
    { "127.1:7979", -EINVAL },
    { "", -EINVAL },
    { "unix:", -EINVAL },
    { "unix:relative", -EINVAL },
    { "unix:/", -EINVAL },
    { "unix:/nonexistent/a-path-that-is-longer-than-the-hundred-and-seven-bytes"
      "-which-the-address-of-a-socket-has-room-for-whatever-its-file-system-says",
      -ENAMETOOLONG },
};

START_TEST(listens_on_loopback_alone)
{
    _cleanup_close_ int fd = -1;
    struct error err = ERROR_NULL;
    int r = listen_open(ADDRESSES[_i].address, &fd, &err);

    if (r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT) /* a machine without IPv6 */
        return;
    ck_assert_msg(r == ADDRESSES[_i].r, "%s: %s", ADDRESSES[_i].address, err.msg);
    if (r < 0)
        ck_assert_msg(err.msg[0] && (r != -EACCES || strstr(err.msg, "loopback")), "%s", err.msg);
    else
        ck_assert_int_ge(fd, 0);
}
END_TEST

START_TEST(replaces_a_stale_socket_only)
{
    char folder[] = "/tmp/test_listen.XXXXXX", address[96], path[80];
    struct error err = ERROR_NULL;
    int first = -1, second = -1;
    struct group *group = getgrnam("flamed");
    struct stat st;
    FILE *f;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/sub/s", folder);
    snprintf(address, sizeof(address), "unix:%s", path);
    ck_assert_msg(listen_open(address, &first, &err) == 0, "%s",
                  err.msg); /* makes the folder, too */
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    if (group && geteuid() == 0)
        ck_assert_uint_eq(st.st_gid, group->gr_gid);

    ck_assert_int_eq(listen_open(address, &second, &err), -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(err.msg, "another program"));
    close(first); /* as when it was killed: the file stays */
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_msg(listen_open(address, &second, &err) == 0, "%s", err.msg);
    close(second);
    unlink(path);

    f = fopen(path, "w");
    fputs("precious", f);
    fclose(f);
    ck_assert_int_eq(listen_open(address, &second, &err), -EEXIST);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_size, 8);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(listen_open(address, &second, &err), -EEXIST);
    unlink(path);
    snprintf(path, sizeof(path), "%s/sub", folder);
    rmdir(path);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("request");
    TCase *tc = tcase_create("request");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tc, splits_and_decodes_a_query, 0, ARRAY_SIZE(QUERIES));
    tcase_add_test(tc, a_query_has_a_limit);
    tcase_add_test(tc, decodes_a_path);
    tcase_add_test(tc, shows_foreign_text_harmlessly);
    tcase_add_loop_test(tc, reads_a_number, 0, ARRAY_SIZE(SCALED));
    tcase_add_loop_test(tc, reads_an_interval, 0, ARRAY_SIZE(INTERVALS));
    tcase_add_test(tc, guesses_what_was_meant);
    tcase_add_test(tc, fills_in_what_was_not_said);
    tcase_add_test(tc, reads_every_parameter);
    tcase_add_test(tc, bounds_lists_and_texts);
    tcase_add_test(tc, knows_only_what_a_route_takes);
    tcase_add_loop_test(tc, chooses_a_format, 0, ARRAY_SIZE(ACCEPTS));
    tcase_add_test(tc, chooses_a_coding);
    tcase_add_test(tc, the_document_holds_every_route_and_nothing_else);
    tcase_add_test(tc, the_document_lists_every_format);
    tcase_add_test(tc, finds_routes);
    tcase_add_loop_test(tc, listens_on_loopback_alone, 0, ARRAY_SIZE(ADDRESSES));
    tcase_add_test(tc, replaces_a_stale_socket_only);
    suite_add_tcase(s, tc);
    runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
