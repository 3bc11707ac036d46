/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the route of a path. */
#include "serve/params/params.h"
#include "serve/params/values.h"
#include "serve/serve_impl.h"

static bool method_fits(const struct route *r, const char *method)
{
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return r->methods & METHOD_GET;
    if (strcmp(method, "POST") == 0)
        return r->methods & METHOD_POST;
    return strcmp(method, "DELETE") == 0 && (r->methods & METHOD_DELETE);
}

/* Matches @path segment by segment. Returns 0, ROUTE_NONE or ROUTE_BAD_PID. */
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
    size_t count;
    const struct route *all = routes(&count);

    for (size_t i = 0; i < count; i++) {
        struct route_args args = { 0 };
        int r = route_match(&all[i], path, &args);

        if (r == ROUTE_NONE)
            continue;
        *ret = &all[i];
        *ret_args = args;
        if (method_fits(&all[i], method))
            return r;
        result = ROUTE_METHOD;
    }
    return result;
}

const char *route_nearest(struct span path)
{
    const char *names[SERVE_ROUTES_MAX];
    size_t count;
    const struct route *all = routes(&count);

    for (size_t i = 0; i < count; i++)
        names[i] = all[i].path;
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return value_nearest(path, names, count);
}

const char *route_allow(const struct route *r, char *buf, size_t size)
{
    unsigned methods = 0;
    size_t count;
    const struct route *all = routes(&count);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(all[i].path, r->path) == 0)
            methods |= all[i].methods;
    }
    snprintf(buf, size, "%s%s%s%s%s", methods & METHOD_GET ? "GET, HEAD" : "",
             methods & METHOD_GET && methods & METHOD_POST ? ", " : "",
             methods & METHOD_POST ? "POST" : "",
             methods & METHOD_DELETE && methods & ~(unsigned)METHOD_DELETE ? ", " : "",
             methods & METHOD_DELETE ? "DELETE" : "");
    return buf;
}
