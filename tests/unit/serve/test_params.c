/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a request, read from its query. */
#include "suite.h"

#include "serve/params/params.h"

static int parse(const char *raw, param_set allowed, struct params *p, struct error *err)
{
    struct span unknown = SPAN_NULL;
    static struct query q; /* must outlive the call: the parameters point into it */
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
    ck_assert_uint_eq(p.capture.duration_ns, 10 * NSEC_PER_SEC);
    ck_assert_uint_eq(p.capture.events[0].period, 10101010);
    ck_assert_str_eq(p.events.names, "cpu");
    ck_assert_int_eq(p.capture.symbols, SYMBOLS_AUTO);
    ck_assert_uint_eq(p.capture.target.pid_count, 0);
    ck_assert_ptr_null(p.picture.format);
    ck_assert(!p.view.no_user && !p.view.no_kernel && !p.view.threads && p.view.depth == 0);
    ck_assert_str_eq(p.picture.title, "");
}
END_TEST

START_TEST(reads_every_parameter)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_msg(
        parse("pid=4242,7&container=web&nspid=3&pod=p&namespace=n&jvm=a.c&service=shop&seconds=2.5&"
              "event=wall,"
              "a:b&filter=c%20%3e%201&"
              "symbols=memory&source=probe&force=1&hz=997&format=json&threads=1&user=0&kernel=1&"
              "include=x&"
              "include=y&"
              "exclude=z&depth=64&names=signature&lines=1&annotate=1&total=1&title=a%0Ab&"
              "calls=%5Ea&over=1.5ms&"
              "state=blocked,running&idle=0&operation=%5EGET&span=00f067aa0ba902b7&spans=1&"
              "trace=4BF92f3577b34da6a3ce929d0e0e4736&"
              "reverse=1&inverted=1&minwidth=0.25%25&width=800&top=7&"
              "from=2026-01-02T03:04:05Z&to=2026-01-02T05:04:05.5%2B01:00",
              PARAMS_PROFILE, &p, &err) == 0,
        "%s", err.msg);
    ck_assert_uint_eq(p.capture.target.pid_count, 2);
    ck_assert_int_eq(p.capture.target.pids[0], 4242);
    ck_assert_int_eq(p.capture.target.pids[1], 7);
    ck_assert_str_eq(p.capture.target.container, "web");
    ck_assert_int_eq(p.capture.target.ns_pid, 3);
    ck_assert_str_eq(p.capture.target.pod, "p");
    ck_assert_str_eq(p.capture.target.pod_namespace, "n");
    ck_assert_str_eq(p.capture.target.jvm, "a.c");
    ck_assert_str_eq(p.capture.target.service, "shop");
    ck_assert_uint_eq(p.capture.duration_ns, 2500 * NSEC_PER_MSEC);
    ck_assert_int_eq(p.capture.source, ALLOC_SOURCE_PROBE);
    ck_assert(p.capture.forced);
    ck_assert_str_eq(p.events.names, "wall,a:b{c > 1}");
    ck_assert_int_eq(p.capture.symbols, SYMBOLS_MEMORY);
    ck_assert_uint_eq(p.capture.events[0].period, 1003009);
    ck_assert_str_eq(p.picture.format->name, "json");
    ck_assert(p.view.threads && p.view.no_user && !p.view.no_kernel);
    ck_assert_uint_eq(match_count(p.view.include), 2);
    ck_assert_uint_eq(match_count(p.view.exclude), 1);
    ck_assert_uint_eq(p.view.depth, 64);
    ck_assert_int_eq(p.view.names, VIEW_NAMES_SIGNATURE);
    ck_assert_uint_eq(p.view.states, STATE_BIT(STATE_BLOCKED) | STATE_BIT(STATE_RUNNING));
    ck_assert(p.view.no_idle);
    ck_assert(p.view.lines && p.view.annotate && p.view.total && p.picture.reverse &&
              p.picture.inverted);
    ck_assert_str_eq(p.picture.title, "a\xef\xbf\xbd"
                                      "b");
    ck_assert(p.picture.minwidth > 0.2499 && p.picture.minwidth < 0.2501);
    ck_assert_uint_eq(p.picture.width, 800);
    ck_assert_uint_eq(p.picture.top, 7);
    ck_assert_uint_eq(p.range.from_ns, UINT64_C(1767323045000000000));
    ck_assert_uint_eq(p.range.to_ns, UINT64_C(1767326645500000000));
    ck_assert_uint_eq(match_count(p.view.operation), 1);
    ck_assert_uint_eq(match_count(p.view.calls), 1);
    ck_assert_uint_eq(p.view.over_ns, 1500000);
    ck_assert(p.view.trace_high == UINT64_C(0x4bf92f3577b34da6));
    ck_assert(p.view.trace_low == UINT64_C(0xa3ce929d0e0e4736));
    ck_assert(p.view.span == UINT64_C(0x00f067aa0ba902b7));
    ck_assert(p.picture.spans);
    ck_assert(params_want_context(&p));
    /* Three parameters are synonyms of others. */
    ck_assert_uint_eq(p.given | PARAM_BIT(PARAM_INTERVAL) | PARAM_BIT(PARAM_VIEW_BY) |
                          PARAM_BIT(PARAM_AT),
                      PARAMS_PROFILE | PARAM_BIT(PARAM_INTERVAL));
    params_deinit(&p);
}
END_TEST

START_TEST(groups_by_requests)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(parse("threads=1", PARAMS_PROFILE, &p, &err), 0);
    ck_assert(!params_want_context(&p));
    params_deinit(&p);
    ck_assert_int_eq(parse("by=operation", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_int_eq(p.view.by[0], VIEW_BY_OPERATION);
    ck_assert(params_want_context(&p));
    params_deinit(&p);
    ck_assert_int_eq(parse("by=trace&trace=a3ce929d0e0e4736", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_int_eq(p.view.by[0], VIEW_BY_TRACE);
    ck_assert(!p.view.trace_high && p.view.trace_low == UINT64_C(0xa3ce929d0e0e4736));
    params_deinit(&p);
    ck_assert_int_eq(parse("format=json", PARAMS_PROFILE, &p, &err), 0);
    ck_assert(!params_want_context(&p));
    params_deinit(&p);
    ck_assert_int_eq(parse("format=requests", PARAMS_PROFILE, &p, &err), 0);
    ck_assert(params_want_context(&p)); /* the format is empty without them */
    params_deinit(&p);
}
END_TEST

START_TEST(calls_are_of_waits)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(parse("calls=a&hz=50", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_str_eq(p.events.names, "wall");
    ck_assert_uint_eq(p.capture.events[0].period, 20 * NSEC_PER_MSEC);
    params_deinit(&p);
    ck_assert_int_eq(parse("event=cpu,wall&calls=a", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.event_count, 2);
    params_deinit(&p);
}
END_TEST

START_TEST(groups_in_the_order_of_the_query)
{
    static const uint8_t ALL[VIEW_BY_MAX] = { VIEW_BY_VERSION, VIEW_BY_SERVICE, VIEW_BY_STATE,
                                              VIEW_BY_POOL, VIEW_BY_THREAD };
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(
        parse("by=version&by=service&by=state&by=pool&by=thread", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_mem_eq(p.view.by, ALL, sizeof(ALL));
    ck_assert(!p.view.threads && !params_want_context(&p));
    params_deinit(&p);
    ck_assert_int_eq(parse("by=thread", PARAMS_PROFILE, &p, &err), 0);
    ck_assert(p.view.threads && !p.view.by[0]);
    params_deinit(&p);
    ck_assert_int_eq(parse("by=pool&by=span", PARAMS_PROFILE, &p, &err), 0);
    ck_assert(params_want_context(&p));
    params_deinit(&p);
    ck_assert_int_eq(parse("by=kind", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.view.by[0], VIEW_BY_KIND);
    params_deinit(&p);
    ck_assert_int_lt(parse("by=kinds", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_msg(strstr(err.msg, "state, kind, operation"), "%s", err.msg);
    params_deinit(&p);
}
END_TEST

/* The names of parameters that a route takes: all, or up to a whole name. */
START_TEST(a_list_of_names_ends_with_a_whole_name)
{
    static const char REST[] = ", ... (GET /openapi.json lists all)";
    struct error err = ERROR_NULL;
    struct params p;
    size_t n, k;

    ck_assert_int_lt(parse("nonsense=1", PARAMS_PROFILE, &p, &err), 0);
    params_deinit(&p);
    n = strlen(err.remedy);
    ck_assert_uint_gt(n, sizeof(REST));
    ck_assert_msg(strcmp(err.remedy + n - strlen(REST), REST) == 0, "%s", err.remedy);
    err.remedy[n - strlen(REST)] = '\0';
    for (k = 0; k < PARAM_COUNT; k++) {
        if (strcmp(strrchr(err.remedy, ' ') + 1, param_name((enum param_id)k)) == 0)
            break;
    }
    ck_assert_msg(k < PARAM_COUNT, "%s", err.remedy);

    ck_assert_int_lt(parse("nonsense=1", PARAM_BIT(PARAM_PID) | PARAM_BIT(PARAM_POD), &p, &err), 0);
    ck_assert_str_eq(err.remedy, "it takes pid, pod");
    params_deinit(&p);
}
END_TEST

START_TEST(takes_several_events)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(
        parse("event=page-faults,cpu,context-switches&interval=7,,9", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.event_count, 3);
    ck_assert_str_eq(p.capture.events[0].name, "page-faults");
    ck_assert_uint_eq(p.capture.events[0].period, 7);
    ck_assert_str_eq(p.capture.events[1].name, "cpu");
    ck_assert_uint_eq(p.capture.events[1].period, 10101010);
    ck_assert_uint_eq(p.capture.events[2].period, 9);
    params_deinit(&p);
    ck_assert_int_eq(parse("event=page-faults,cpu&hz=50", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.events[0].period, 32);
    ck_assert_uint_eq(p.capture.events[1].period, 20 * NSEC_PER_MSEC);
    params_deinit(&p);
    ck_assert_int_eq(parse("event=cycles,sched:sched_switch&hz=50", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.events[0].period, EVENT_PACED | 20 * NSEC_PER_MSEC);
    ck_assert_uint_eq(p.capture.events[1].period, EVENT_PACED | 20 * NSEC_PER_MSEC);
    params_deinit(&p);
    ck_assert_int_eq(parse("event=nativemem,cpu&interval=64k,", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.events[0].period, 64 << 10);
    params_deinit(&p);
    ck_assert_int_eq(
        parse("source=malloc&event=cpu,nativemem&interval=,64k", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_str_eq(p.capture.events[1].name, "malloc");
    ck_assert_str_eq(p.events.names, "cpu,malloc");
    ck_assert_uint_eq(p.capture.events[1].period, 65536);
    ck_assert(!p.capture.forced);
    ck_assert_int_eq(parse("event=nativemem", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.events[0].period, 128 << 10);
    params_deinit(&p);
    ck_assert_int_eq(parse("event=pmu/a=1,b=2/,r1a8", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.event_count, 2);
    ck_assert_str_eq(p.capture.events[0].name, "pmu/a=1,b=2/");
    params_deinit(&p);
    ck_assert_int_eq(
        parse("filter=a%20==%201,2&event=cpu,x:y&interval=,9", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_str_eq(p.events.names, "cpu,x:y{a == 1,2}");
    ck_assert_str_eq(p.capture.events[1].name, "x:y{a == 1,2}");
    ck_assert_uint_eq(p.capture.events[1].period, 9);
    params_deinit(&p);
    ck_assert_int_eq(parse("event=x:y{a%20==%201,2},z:y{b/},cpu", PARAMS_PROFILE, &p, &err), 0);
    ck_assert_uint_eq(p.capture.event_count, 3);
    ck_assert_str_eq(p.capture.events[1].name, "z:y{b/}");
    params_deinit(&p);
}
END_TEST

static const struct {
    const char *raw, *parameter;
} WRONG_LISTS[] = {
    { "event=cpu,", "event" },
    { "filter=cpu%20==%201", "filter" },
    { "event=cpu&filter=cpu%20==%201", "filter" },
    { "event=a:b,c:d&filter=x", "filter" },
    { "event=a:b{x}&filter=y", "filter" },
    { "event=a:b&filter=x{y", "filter" },
    { "event=a:b&filter=%0a", "filter" },
    { "event=a%20b:c", "event" },
    { "event=,cpu", "event" },
    { "event=cpu,cpu", "event" },
    { "event=a:b{x},a:b", "event" },
    { "event=a:b{x},a:b{y}", "event" },
    { "event=a,b,c,d,e", "event" },
    { "event=cpu,page-faults&interval=10ms", "interval" },
    { "event=cpu,page-faults&interval=32,10ms", "interval" },
    { "event=cpu,page-faults&interval=10ms,32,", "interval" },
    { "event=page-faults,alloc&hz=9", "hz" },
    { "event=page-faults&hz=99&interval=9", "interval" },
    { "event=nativemem&interval=5000", "interval" },
    { "event=cpu&source=malloc", "source" },
    { "event=malloc,nativemem&source=malloc", "source" },
    { "event=malloc&force=2", "force" },
    { "event=nativemem&interval=1", "interval" },
    { "event=nativemem&interval=4.5k", "interval" },
    { "event=nativemem&interval=10ms", "interval" },
    { "event=nativemem&interval=9223372036854775807k", "interval" },
    { "event=alloc&hz=99", "hz" },
    { "event=malloc&hz=99", "hz" },
    { "event=nativelive&hz=99", "hz" },
    { "event=nativemem&source=malloc&hz=99", "hz" },
    { "state=blocked,", "state" },
    { "state=blocked,blocked", "state" },
    { "state=done", "state" },
    { "to=-10s", "to" },
    { "idle=no", "idle" },
    { "by=jvm", "by" },
    { "by=thread,pool", "by" },
    { "by=state&by=pool&by=state", "by" },
    { "by=operation&threads=1", "by" },
    { "operation=(", "operation" },
    { "trace=xyz", "trace" },
    { "trace=4bf92f3577b34da", "trace" },
    { "trace=4bf92f3577b34da6a3ce929d0e0e47361", "trace" },
    { "trace=0000000000000000", "trace" },
    { "calls=(", "calls" },
    { "calls=", "calls" },
    { "calls=a&event=cpu", "calls" },
    { "calls=a&calls=b", "calls" },
    { "over=1s", "over" },
    { "calls=a&over=10", "over" },
    { "calls=a&over=0ms", "over" },
    { "calls=a&over=3601s", "over" },
    { "spans=yes", "spans" },
    { "span=00f067aa0ba902bg", "span" },
    { "span=4bf92f3577b34da6a3ce929d0e0e4736", "span" },
};

START_TEST(refuses_lists_that_do_not_fit)
{
    struct error err = ERROR_NULL;
    struct params p;

    ck_assert_int_eq(parse(WRONG_LISTS[_i].raw, PARAMS_PROFILE, &p, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, WRONG_LISTS[_i].parameter);
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
    ck_assert_uint_eq(p.capture.target.pid_count, BACKEND_PIDS_MAX);
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

int main(void)
{
    TCase *tc = tcase_create("params");

    tcase_add_test(tc, fills_in_what_was_not_said);
    tcase_add_test(tc, reads_every_parameter);
    tcase_add_test(tc, groups_by_requests);
    tcase_add_test(tc, calls_are_of_waits);
    tcase_add_test(tc, groups_in_the_order_of_the_query);
    tcase_add_test(tc, a_list_of_names_ends_with_a_whole_name);
    tcase_add_test(tc, takes_several_events);
    tcase_add_loop_test(tc, refuses_lists_that_do_not_fit, 0, ARRAY_SIZE(WRONG_LISTS));
    tcase_add_test(tc, bounds_lists_and_texts);
    tcase_add_test(tc, knows_only_what_a_route_takes);
    return suite_run_case("params", tc);
}
