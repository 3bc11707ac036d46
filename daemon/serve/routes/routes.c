/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/params/values.h"
#include "serve/routes/handlers.h"

#define BIT(name) PARAM_BIT(PARAM_##name)

static const struct route ROUTES[] = {
    { "/", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_page },
    { "/ui/{file}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_page_file },
    { "/login", METHOD_GET, ROLE_HEALTH, BIT(TICKET), .asks = true, .cookies_alone = true,
      .handle = handle_login, .audit = AUDIT_LOGIN },
    { "/logout", METHOD_POST, ROLE_HEALTH, PARAMS_NONE, .asks = true, .cookies_alone = true,
      .handle = handle_logout, .audit = AUDIT_LOGOUT },
    { "/profile", METHOD_GET, ROLE_PROFILE, PARAMS_PROFILE, .negotiates = true, .streams = true,
      .waits = true, .handle = handle_profile, .finish = finish_profile, .audit = AUDIT_CAPTURE },
    { "/top", METHOD_GET, ROLE_PROFILE, PARAMS_TOP, .streams = true, .waits = true,
      .handle = handle_top, .finish = finish_top, .audit = AUDIT_CAPTURE },

    { "/api/v1/jvms", METHOD_GET, ROLE_VIEW, PARAMS_TARGET, .waits = true, .handle = handle_jvms },
    { "/api/v1/jvms/{pid}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_jvm },
    { "/api/v1/jvms/{pid}/preflight", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_preflight },
    { "/api/v1/jvms/{pid}/heap", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_heap },
    { "/api/v1/jvms/{pid}/perf-map", METHOD_GET, ROLE_PROFILE, BIT(MAP_SYMBOLS) | BIT(UNFOLD),
      .waits = true, .heavy = true, .handle = handle_perf_map, .audit = AUDIT_CAPTURE },
    { "/api/v1/events", METHOD_GET, ROLE_VIEW, BIT(PID) | BIT(MATCH), .waits = true,
      .handle = handle_events },
    { "/api/v1/captures", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(EVENT) | BIT(STATE) | BIT(SCHEDULE) | BIT(LIMIT) |
          BIT(CURSOR),
      .waits = true, .handle = handle_captures },
    { "/api/v1/captures", METHOD_POST, ROLE_PROFILE, PARAMS_CAPTURE | PARAMS_RENDER,
      .body = BODY_PARAMS, .waits = true, .handle = handle_capture_create, .audit = AUDIT_CAPTURE },
    { "/api/v1/captures/{id}", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_capture },
    { "/api/v1/captures/{id}", METHOD_DELETE, ROLE_PROFILE, PARAMS_NONE, .waits = true,
      .handle = handle_capture_delete, .audit = AUDIT_DELETE },
    { "/api/v1/captures/{id}/profile", METHOD_GET, ROLE_VIEW, BIT(EVENT) | PARAMS_RENDER,
      .negotiates = true, .waits = true, .heavy = true, .handle = handle_capture_profile },
    { "/api/v1/captures/{id}/stop", METHOD_POST, ROLE_PROFILE, PARAMS_NONE, .waits = true,
      .handle = handle_capture_stop, .audit = AUDIT_STOP },
    { "/api/v1/captures/{id}/stream", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_capture_stream },
    { "/api/v1/query", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(EVENT) | PARAMS_RENDER, .negotiates = true, .waits = true,
      .heavy = true, .handle = handle_query },
    { "/api/v1/diff", METHOD_GET, ROLE_VIEW, PARAMS_DIFF, .waits = true, .heavy = true,
      .handle = handle_diff },
    { "/api/v1/timeline", METHOD_GET, ROLE_VIEW,
      PARAMS_TARGET | PARAMS_RANGE | BIT(BUCKETS) | BIT(BY), .waits = true, .heavy = true,
      .handle = handle_timeline },
    { "/api/v1/schedules", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true,
      .handle = handle_schedules },
    { "/api/v1/audit", METHOD_GET, ROLE_MANAGE, BIT(LIMIT), .waits = true, .handle = handle_audit },
    { "/api/v1/whoami", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .asks = true,
      .handle = handle_whoami },
    { "/api/v1/logins", METHOD_POST, ROLE_VIEW, PARAMS_NONE, .handle = handle_login_ticket,
      .audit = AUDIT_LOGIN },
    { "/api/v1/triggers/{name}", METHOD_POST, ROLE_MANAGE, PARAMS_NONE, .body = BODY_IGNORED,
      .waits = true, .handle = handle_trigger, .audit = AUDIT_TRIGGER },

    { "/debug/pprof/", METHOD_GET, ROLE_VIEW, PARAMS_LENIENT, .handle = handle_pprof_index },
    { "/debug/pprof/profile", METHOD_GET, ROLE_PROFILE,
      PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT, .waits = true, .handle = handle_pprof_profile,
      .finish = finish_pprof, .audit = AUDIT_CAPTURE },
    { "/debug/pprof/heap", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE },
    { "/debug/pprof/allocs", METHOD_GET, ROLE_PROFILE,
      PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT, .waits = true, .handle = handle_pprof_event,
      .finish = finish_pprof, .audit = AUDIT_CAPTURE },
    { "/debug/pprof/block", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE },
    { "/debug/pprof/mutex", METHOD_GET, ROLE_PROFILE, PARAMS_TARGET | BIT(SECONDS) | PARAMS_LENIENT,
      .waits = true, .handle = handle_pprof_event, .finish = finish_pprof, .audit = AUDIT_CAPTURE },
    { "/debug/pprof/goroutine", METHOD_GET, ROLE_VIEW, PARAMS_LENIENT,
      .handle = handle_pprof_empty },
    { "/sd", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .waits = true, .handle = handle_sd },
    { "/metrics", METHOD_GET, ROLE_VIEW, BIT(PID), .waits = true, .health = true,
      .at_once = metrics_at_once, .handle = handle_metrics },

    { "/healthz", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .health = true, .handle = handle_health },
    { "/readyz", METHOD_GET, ROLE_HEALTH, PARAMS_NONE, .waits = true, .health = true,
      .handle = handle_ready },
    { "/openapi.json", METHOD_GET, ROLE_VIEW, PARAMS_NONE, .handle = handle_openapi },
};

_Static_assert(ARRAY_SIZE(ROUTES) <= SERVE_ROUTES_MAX, "each has a row of counters");

const struct route *routes(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(ROUTES);
    return ROUTES;
}

static bool method_fits(const struct route *r, const char *method)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return r->methods & METHOD_GET;
    if (strcmp(method, "POST") == 0)
        return r->methods & METHOD_POST;
    return strcmp(method, "DELETE") == 0 && (r->methods & METHOD_DELETE);
}

/* Matches segment by segment. 0, ROUTE_NONE or ROUTE_BAD_PID. */
static int route_match(const struct route *r, struct span path, struct route_args *ret)
{
    struct span pattern = span_from(span_of(r->path), 1), wanted, given;
    int result = 0;

    if (span_eq_str(path, r->path))
        return 0;
    if (!span_take_char(&path, '/'))
        return ROUTE_NONE;
    while (pattern.n || path.n) {
        size_t slash = span_find(path, '/');

        if (!span_take_until(&pattern, '/', &wanted))
            return ROUTE_NONE;
        given = (struct span){ path.p, slash };
        path = span_from(path, slash);
        if (given.n == 0)
            return ROUTE_NONE;
        if (wanted.n && wanted.p[0] == '{') {
            ret->text = given;
            if (span_eq_str(wanted, "{pid}") && !params_parse_pid(given, &ret->pid))
                result = ROUTE_BAD_PID;
        } else if (!span_eq(wanted, given)) {
            return ROUTE_NONE;
        }
        if (pattern.n && !span_take_char(&path, '/'))
            return ROUTE_NONE;
    }
    return result;
}

int route_find(struct span path, const char *method, const struct route **ret,
               struct route_args *ret_args)
{
    int result = ROUTE_NONE;

    for (size_t i = 0; i < ARRAY_SIZE(ROUTES); i++) {
        struct route_args args = { 0 };
        int r = route_match(&ROUTES[i], path, &args);

        if (r == ROUTE_NONE)
            continue;
        *ret = &ROUTES[i];
        *ret_args = args;
        if (method_fits(&ROUTES[i], method))
            return r;
        result = ROUTE_METHOD;
    }
    return result;
}

const char *route_nearest(struct span path)
{
    const char *names[ARRAY_SIZE(ROUTES)];

    for (size_t i = 0; i < ARRAY_SIZE(ROUTES); i++)
        names[i] = ROUTES[i].path;
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return value_nearest(path, names, ARRAY_SIZE(names));
}

const char *route_allow(const struct route *r, char *buf, size_t size)
{
    unsigned methods = 0;

    for (size_t i = 0; i < ARRAY_SIZE(ROUTES); i++) {
        if (strcmp(ROUTES[i].path, r->path) == 0)
            methods |= ROUTES[i].methods;
    }
    snprintf(buf, size, "%s%s%s%s%s", methods & METHOD_GET ? "GET, HEAD" : "",
             methods & METHOD_GET && methods & METHOD_POST ? ", " : "",
             methods & METHOD_POST ? "POST" : "",
             methods & METHOD_DELETE && methods & ~(unsigned)METHOD_DELETE ? ", " : "",
             methods & METHOD_DELETE ? "DELETE" : "");
    return buf;
}
