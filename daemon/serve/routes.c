/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/impl.h"
#include "serve/values.h"

static const struct route ROUTES[] = {
    { "/", METHOD_GET, PARAMS_NONE, .waits = true, .handle = handle_index },
    { "/profile", METHOD_GET, PARAMS_PROFILE, .negotiates = true, .waits = true,
      .handle = handle_profile },
    { "/api/v1/jvms", METHOD_GET, PARAMS_TARGET, .waits = true, .handle = handle_jvms },
    { "/api/v1/jvms/{pid}", METHOD_GET, PARAMS_NONE, .waits = true, .handle = handle_jvm },
    { "/api/v1/events", METHOD_GET, PARAM_BIT(PARAM_PID), .waits = true, .handle = handle_events },
    { "/healthz", METHOD_GET, PARAMS_NONE, .handle = handle_health },
    { "/readyz", METHOD_GET, PARAMS_NONE, .waits = true, .handle = handle_ready },
    { "/openapi.json", METHOD_GET, PARAMS_NONE, .handle = handle_openapi },
};

const struct route *routes(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(ROUTES);
    return ROUTES;
}

/* Matches segment by segment. 0, ROUTE_NONE or ROUTE_BAD_PID. */
static int route_match(const struct route *r, struct span path, int32_t *ret_pid,
                       struct span *ret_text)
{
    struct span pattern = span_from(span_of(r->path), 1), wanted, given;
    int result = 0;

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
        if (span_eq_str(wanted, "{pid}")) {
            if (!params_parse_pid(given, ret_pid)) {
                *ret_text = given;
                result = ROUTE_BAD_PID;
            }
        } else if (!span_eq(wanted, given)) {
            return ROUTE_NONE;
        }
        if (pattern.n && !span_take_char(&path, '/'))
            return ROUTE_NONE;
    }
    return result;
}

int route_find(struct span path, const struct route **ret, int32_t *ret_pid, struct span *ret_text)
{
    for (size_t i = 0; i < ARRAY_SIZE(ROUTES); i++) {
        int r = route_match(&ROUTES[i], path, ret_pid, ret_text);

        if (r == ROUTE_NONE)
            continue;
        *ret = &ROUTES[i];
        return r;
    }
    return ROUTE_NONE;
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

const char *route_allow(const struct route *r)
{
    return r->methods & METHOD_GET ? "GET, HEAD" : "";
}

bool route_takes(const struct route *r, const char *method)
{
    return (r->methods & METHOD_GET) && (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0);
}
