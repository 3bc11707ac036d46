/* SPDX-License-Identifier: Apache-2.0 */
/* The routes, compared with the OpenAPI document. */
#include "suite.h"

#include "serve/params/params.h"
#include "serve/route.h"
#include "serve/serve.h"

#include <jansson.h>

/* Returns the parameter @name among @allowed. Two routes have a parameter of this name with another
 * meaning. */
static size_t param_of(const char *name, param_set allowed)
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
        param_set found = 0;
        bool in_body = r[k].body == BODY_PARAMS || r[k].body == BODY_MESSAGE;

        path = json_object_get(paths, r[k].path);
        ck_assert_msg(path != NULL, "%s is not in the document", r[k].path);
        method = r[k].methods & METHOD_GET ? "get" : r[k].methods & METHOD_POST ? "post" : "delete";
        operation = json_object_get(path, method);
        ck_assert_msg(operation != NULL, "%s has no %s", r[k].path, method);
        name = json_string_value(json_object_get(operation, "x-flamed-role"));
        ck_assert_msg(name && r[k].role != ROLE_UNSET && strcmp(name, role_name(r[k].role)) == 0,
                      "%s: the document says '%s', the table '%s'", r[k].path, name ? name : "none",
                      role_name(r[k].role));
        list = json_object_get(operation, "parameters");
        json_array_foreach(list, i, one)
        {
            const char *ref = json_string_value(json_object_get(one, "$ref"));
            size_t id;

            if (!ref) { /* a parameter in the path */
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

/* Checks each reference in @node. */
static void check_references(const json_t *doc, const json_t *node, const char *under)
{
    const char *ref = json_string_value(json_object_get(node, "$ref")), *key;
    const json_t *at = doc, *inner;
    struct span path = span_from(span_of(ref ? ref : ""), 2), part;
    char name[64];
    size_t i;

    while (span_take_until(&path, '/', &part)) {
        span_copy(part, name, sizeof(name));
        at = json_object_get(at, name);
    }
    ck_assert_msg(at != NULL, "%s: %s leads nowhere", under, ref);
    json_object_foreach((json_t *)(uintptr_t)node, key, inner) check_references(doc, inner, key);
    json_array_foreach(node, i, inner) check_references(doc, inner, under);
}

START_TEST(each_reference_of_the_document_leads_somewhere)
{
    struct span text = serve_openapi();
    json_t *doc = json_loadb(text.p, text.n, 0, NULL);

    ck_assert_ptr_eq(serve_openapi().p, text.p);
    check_references(doc, doc, "");
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

START_TEST(each_number_has_a_range)
{
    struct span text = serve_openapi();
    json_t *doc = json_loadb(text.p, text.n, 0, NULL), *one;
    const char *key;

    json_object_foreach(json_object_get(json_object_get(doc, "components"), "parameters"), key, one)
    {
        const json_t *schema = json_object_get(one, "schema"),
                     *most = json_object_get(schema, "maximum");

        if (most)
            ck_assert_msg(json_number_value(most) >
                              json_number_value(json_object_get(schema, "minimum")),
                          "%s", key);
    }
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

int main(void)
{
    TCase *tc = tcase_create("routes");

    tcase_add_test(tc, the_document_holds_every_route_and_nothing_else);
    tcase_add_test(tc, each_reference_of_the_document_leads_somewhere);
    tcase_add_test(tc, the_document_lists_every_format);
    tcase_add_test(tc, each_number_has_a_range);
    tcase_add_test(tc, finds_routes);
    return suite_run_case("routes", tc);
}
