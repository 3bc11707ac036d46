/* SPDX-License-Identifier: Apache-2.0 */
/* Operations by rules on frames: the method that a framework calls, and stacks without an
 * operation. */
#include "profile/changes.h"
#include "profile/handlers.h"

#include "recorded.h"

#include "suite.h"

#define FRAMES_MAX 8

/* A stack, root first, and its operation. */
static const struct {
    const char *frames[FRAMES_MAX]; /* "class method" */
    const char *operation;          /* "": none */
} STACKS[] = {
    /* Spring MVC: through reflection, also with an interceptor above it */
    { { "java.lang.Thread run", "jakarta.servlet.http.HttpServlet service",
        "org.springframework.web.servlet.FrameworkServlet service",
        "org.springframework.web.method.support.InvocableHandlerMethod doInvoke",
        "java.lang.reflect.Method invoke", "shop.Orders get", "shop.Rules match" },
      "[shop.Orders.get()]" },
    /* a proxy of the class counts as the class */
    { { "org.springframework.web.method.support.InvocableHandlerMethod doInvoke",
        "shop.Orders$$SpringCGLIB$$0 get", "org.springframework.aop.framework.Cglib intercept",
        "shop.Timing around", "shop.Orders get" },
      "[shop.Orders.get()]" },
    /* a proxy of an interface does not count as its class, and its first callee may be no handler
     */
    { { "org.springframework.web.method.support.InvocableHandlerMethod doInvoke",
        "jdk.proxy2.$Proxy45 get", "shop.Timing around", "shop.Orders get" },
      "" },
    /* an interceptor of a framework below a servlet is no handler */
    { { "jakarta.servlet.http.HttpServlet service",
        "org.springframework.web.servlet.DispatcherServlet doDispatch", "shop.Login preHandle" },
      "" },
    { { "org.apache.catalina.core.ApplicationFilterChain doFilter",
        "javax.servlet.http.HttpServlet service", "javax.servlet.http.HttpServlet service",
        "shop.Cart doGet", "shop.Prices lookup" },
      "[shop.Cart.doGet()]" },
    /* the JDK's own server */
    { { "sun.net.httpserver.ServerImpl$Exchange run",
        "com.sun.net.httpserver.Filter$Chain doFilter", "sun.net.httpserver.AuthFilter doFilter",
        "com.sun.net.httpserver.Filter$Chain doFilter", "shop.Slow handle", "shop.Slow burn" },
      "[shop.Slow.handle()]" },
    /* a lambda gets the name of the method that contains it */
    { { "com.sun.net.httpserver.Filter$Chain doFilter", "shop.Main$$Lambda/0x0123 handle",
        "shop.Main lambda$main$0", "shop.Slow burn" },
      "[shop.Main.lambda$main$0()]" },
    { { "org.glassfish.jersey.server.model.internal.ResourceMethodInvocationHandlerFactory$1 "
        "invoke",
        "jdk.internal.reflect.DirectMethodHandleAccessor invoke", "shop.Api list" },
      "[shop.Api.list()]" },
    { { "io.grpc.stub.ServerCalls$UnaryServerCallHandler$UnaryServerCallListener onHalfClose",
        "shop.OrdersGrpc$MethodHandlers invoke", "shop.OrdersService place" },
      "[shop.OrdersService.place()]" },
    /* Spring Kafka */
    { { "org.springframework.messaging.handler.invocation.InvocableHandlerMethod doInvoke",
        "java.lang.reflect.Method invoke", "shop.Listener onOrder" },
      "[shop.Listener.onOrder()]" },
    { { "org.springframework.scheduling.support.ScheduledMethodRunnable runInternal",
        "java.lang.reflect.Method invoke", "shop.Nightly clean" },
      "[shop.Nightly.clean()]" },
    /* of two handlers, the outer one counts */
    { { "org.springframework.web.method.support.InvocableHandlerMethod doInvoke", "shop.Outer get",
        "org.springframework.web.method.support.InvocableHandlerMethod doInvoke",
        "shop.Inner get" },
      "[shop.Outer.get()]" },
    /* a handler of the configuration */
    { { "com.acme.Router dispatch", "com.acme.jobs.Import run" }, "[com.acme.jobs.Import.run()]" },
    { { "com.acme.Router other", "com.acme.jobs.Import run" }, "" },
    { { "java.lang.Thread run", "shop.Main work" }, "" },
};

static uint32_t frame_named(const char *text)
{
    char class_name[160];
    struct span s = span_of(text);
    size_t blank = span_find(s, ' ');

    span_copy((struct span){ s.p, blank }, class_name, sizeof(class_name));
    return recorded_frame(class_name, text + blank + 1, FRAME_C2, 0);
}

/* Records a sample of stack number @i. Its request has state @state. */
static void sample(size_t i, enum profile_context_state state)
{
    struct profile_context c = { .state = state };
    struct profile_sample s = { .thread = main_thread, .count = 1 };
    uint32_t frames[FRAMES_MAX], id = 0;
    size_t n = 0;

    while (n < FRAMES_MAX && STACKS[i].frames[n])
        n++;
    for (size_t k = 0; k < n; k++)
        frames[n - 1 - k] = frame_named(STACKS[i].frames[k]);
    if (state != PROFILE_CONTEXT_UNASKED)
        ck_assert_int_eq(record_context(rec, main_thread, &c, SPAN_NULL, 0, &id), 0);
    s.context = id;
    ck_assert_int_eq(record_sample(rec, &s, frames, n), 0);
}

/* Returns true if the only row of the record begins with @root. */
static bool begins_with(const struct view_opts *o, const char *root)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    _cleanup_buf_ struct buf out = BUF_UPTO(65536);
    struct profile *p = NULL;

    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    recorded_rows(p, o, &out);
    profile_unref(p);
    return out.n && strncmp(out.p, root, strlen(root)) == 0;
}

START_TEST(finds_the_handler)
{
    const char *operation = STACKS[_i].operation;

    ck_assert_int_eq(handlers_set_own(" com.acme.Router.dispatch, com.acme.Jobs.run", NULL), 0);
    sample((size_t)_i, PROFILE_CONTEXT_NO_TRACER);
    ck_assert(begins_with(&(struct view_opts){ .by = { VIEW_BY_OPERATION } },
                          *operation ? operation : "[no tracer];"));
}
END_TEST

START_TEST(a_tracer_knows_better)
{
    sample(0, PROFILE_CONTEXT_NO_REQUEST);
    ck_assert(begins_with(&(struct view_opts){ .by = { VIEW_BY_OPERATION } }, "[no request];"));
}
END_TEST

START_TEST(filters_by_handler)
{
    const char *right = "Orders\\.get\\(\\)$", *wrong = "^POST";
    struct view_opts o = { .by = { VIEW_BY_OPERATION } };

    sample(0, PROFILE_CONTEXT_UNASKED);
    ck_assert_int_eq(match_new(&right, 1, "operation", &o.operation, NULL), 0);
    ck_assert(begins_with(&o, "[shop.Orders.get()];"));
    match_free(o.operation);
    ck_assert_int_eq(match_new(&wrong, 1, "operation", &o.operation, NULL), 0);
    ck_assert(!begins_with(&o, "["));
    match_free(o.operation);
}
END_TEST

/* Sets the route of the handler of stack 0. */
static void set_route(const char *route)
{
    uint32_t function = frame_table_get(table, frame_named("shop.Orders get"))->function;

    frame_table_set_route(table, function, route ? recorded_string(route) : FUNCTION_ROUTE_NONE);
}

START_TEST(a_route_is_the_name)
{
    struct view_opts o = { .by = { VIEW_BY_OPERATION } };

    sample(0, PROFILE_CONTEXT_NO_TRACER);
    set_route("GET /orders/{id}");
    set_route("GET /orders/{id}");
    ck_assert(begins_with(&o, "[GET /orders/{id}];"));
    set_route("GET /api/orders/{id}"); /* of another process */
    ck_assert(begins_with(&o, "[shop.Orders.get()];"));
    set_route("GET /orders/{id}");
    ck_assert(begins_with(&o, "[shop.Orders.get()];"));
}
END_TEST

/* A series keeps the method, so that a change of its operation is not listed twice. */
START_TEST(a_change_knows_the_method)
{
    const struct change_steps steps = { .b_ns = 20, .step_ns = 2, .a = 10, .b = 10 };
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    struct change_set set;
    struct profile *p = NULL;
    struct view *v = NULL;

    sample(0, PROFILE_CONTEXT_NO_TRACER);
    set_route("GET /orders/{id}");
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &(struct view_opts){ .exact = true }, &v, NULL), 0);
    ck_assert_int_eq(change_set_init(&set, &steps), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_OPERATION), 0);
    ck_assert_uint_eq(set.count, 1);
    ck_assert_str_eq(set.series[0].name, "GET /orders/{id}");
    ck_assert_str_eq(set.series[0].method, "shop.Orders.get");
    change_set_deinit(&set);
    view_free(v);
    profile_unref(p);
}
END_TEST

START_TEST(without_a_route_first)
{
    sample(0, PROFILE_CONTEXT_NO_TRACER);
    set_route(NULL);
    set_route("GET /orders/{id}");
    ck_assert(
        begins_with(&(struct view_opts){ .by = { VIEW_BY_OPERATION } }, "[shop.Orders.get()];"));
}
END_TEST

/* A merged profile has routes, too. */
START_TEST(a_merged_profile_has_routes)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 10, false } } };
    _cleanup_buf_ struct buf out = BUF_UPTO(65536);
    struct profile *p = NULL, *merged = NULL;

    sample(0, PROFILE_CONTEXT_NO_TRACER);
    set_route("GET /orders/{id}");
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(profile_merge(&p, 1, NULL, &meta, &merged), 0);
    recorded_rows(merged, &(struct view_opts){ .by = { VIEW_BY_OPERATION } }, &out);
    ck_assert(span_starts_with(buf_span(&out), "[GET /orders/{id}];"));
    profile_unref(p);
    profile_unref(merged);
}
END_TEST

START_TEST(refuses_what_is_no_method)
{
    struct error err = ERROR_NULL;

    ck_assert_int_eq(handlers_set_own("com.acme.Router.dispatch,run", &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "'run'"));
    ck_assert_int_eq(handlers_set_own("", &err), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("handlers");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_loop_test(tc, finds_the_handler, 0, ARRAY_SIZE(STACKS));
    tcase_add_test(tc, a_tracer_knows_better);
    tcase_add_test(tc, filters_by_handler);
    tcase_add_test(tc, a_route_is_the_name);
    tcase_add_test(tc, a_change_knows_the_method);
    tcase_add_test(tc, without_a_route_first);
    tcase_add_test(tc, a_merged_profile_has_routes);
    tcase_add_test(tc, refuses_what_is_no_method);
    return suite_run_case("handlers", tc);
}
