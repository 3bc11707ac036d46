/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /openapi.json: the embedded file openapi.json, completed from the tables of routes,
 * parameters and formats.
 */
#include "base/embed.h"
#include "render/render.h"
#include "serve/params/param_parse.h"
#include "serve/params/param_schema.h"
#include "serve/routes/handlers.h"

#include <jansson.h>
#include <stdatomic.h>

EMBED(openapi_rest, FLAMED_OPENAPI_FILE);

/* Variables in paths. */
static const struct {
    const char *name, *text, *schema;
} PATH_PARAMS[] = {
    { "pid", "Its process id as the host sees it.",
      JSON({ "type" : "integer", "minimum" : 1, "maximum" : 2147483647 }) },
    { "id", "The capture's id.", JSON({ "type" : "string", "pattern" : "^[0-9a-f]{32}$" }) },
    { "name", "The name in the configuration.", JSON({ "type" : "string" }) },
    { "file", "A file of the page.", JSON({ "type" : "string" }) },
};

/* Header fields of an answer with a profile. */
static const struct {
    const char *name, *type, *text;
} PROFILE_HEADERS[] = {
    { "X-Flamed-Samples", "integer", "Samples in this answer." },
    { "X-Flamed-Lost", "integer",
      "Samples of this profile that were lost before flamed could read them." },
    { "X-Flamed-Unknown", "integer", "Samples with a frame that has no name." },
    { "X-Flamed-Truncated", "integer", "Samples whose stack is incomplete." },
    { "X-Flamed-Inferred", "integer",
      "Samples whose Java leaf is inferred by the loop that it ran in." },
    { "X-Flamed-Unsure", "integer", "Samples whose Java leaf is unsure: `[inlined in X]`." },
    { "X-Flamed-Symbols", "string",
      "Where Java names came from (`memory`, `agent`, `perfmap`, `none`), a colon, and why from "
      "there." },
    { "X-Flamed-Warning", "string",
      "What limited this profile and what to do about it. Repeatable." },
    { "Content-Disposition", "string", "A name to save it under." },
    { "X-Flamed-Capture", "string", "The id of the capture in the store." },
};

/* State of building the document. failed: memory ran out. */
struct making {
    bool failed;
};

/* Sets member @key of @object to @value, which it takes. Returns @value; NULL: failed. */
static json_t *put(struct making *m, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return value;
    m->failed = true;
    return NULL;
}

/* Sets member @key to a text; NULL: adds no member. */
static void put_text(struct making *m, json_t *object, const char *key, const char *text)
{
    if (text)
        put(m, object, key, json_string(text));
}

static void append(struct making *m, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        m->failed = true;
}

static json_t *ref_to(const char *kind, const char *name)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/%s/%s", kind, name));
}

static json_t *typed(const char *type)
{
    return json_pack("{s:s}", "type", type);
}

static const char *key_of(const struct param *p)
{
    return p->key ? p->key : p->name;
}

/* Takes the next word of @list. False: none is left. */
static bool take_word(struct span *list, char *word, size_t size)
{
    struct span one;

    if (!span_take_word(list, &one))
        return false;
    span_copy(one, word, size);
    return true;
}

static json_t *schema_of_formats(void)
{
    json_t *list = json_array(), *uses = json_object();
    const struct render_format *formats;
    size_t count;

    formats = render_formats(&count);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_string(formats[i].name));
        json_object_set_new(uses, formats[i].name, json_string(formats[i].use));
    }
    if (json_array_size(list) == count && json_object_size(uses) == count)
        return json_pack("{s:s, s:o, s:o}", "type", "string", "enum", list, "x-uses", uses);
    json_decref(list);
    json_decref(uses);
    return NULL;
}

static json_t *parameters(struct making *m)
{
    json_t *all = json_object(), *one;

    for (unsigned id = 0; id < PARAM_COUNT; id++) {
        const struct param *p = param_row(id);

        one = put(m, all, key_of(p),
                  json_pack("{s:s, s:s, s:s, s:o}", "name", p->name, "in", "query", "description",
                            p->text, "schema",
                            p->parse == param_format ? schema_of_formats() : param_schema(p)));
        put_text(m, one, "example", p->example);
        if (p->repeatable) {
            put_text(m, one, "style", "form");
            put(m, one, "explode", json_true());
        }
    }
    return all;
}

/* Returns the parameters of the path and of the query of @r. */
static json_t *parameters_of(struct making *m, const struct route *r)
{
    json_t *list = json_array();
    struct span path = span_of(r->path), name;

    if (span_take_until(&path, '{', &name) && span_take_until(&path, '}', &name)) {
        for (size_t i = 0; i < ARRAY_SIZE(PATH_PARAMS); i++) {
            if (span_eq_str(name, PATH_PARAMS[i].name))
                append(m, list,
                       json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", PATH_PARAMS[i].name, "in",
                                 "path", "required", true, "description", PATH_PARAMS[i].text,
                                 "schema", json_loads(PATH_PARAMS[i].schema, 0, NULL)));
        }
    }
    for (unsigned id = 0; id < PARAM_COUNT && r->body != BODY_PARAMS; id++) {
        if (r->params & PARAM_BIT(id))
            append(m, list, ref_to("parameters", key_of(param_row(id))));
    }
    return list;
}

/* Returns a body that has the parameters of @r as members. */
static json_t *body_of(struct making *m, const struct route *r)
{
    json_t *members = json_object();

    for (unsigned id = 0; id < PARAM_COUNT; id++) {
        const struct param *p = param_row(id);

        if (r->params & PARAM_BIT(id))
            put(m, members, p->name, json_pack("{s:s}", "description", p->text));
    }
    return json_pack("{s:b, s:{s:{s:{s:s, s:o, s:b}}}}", "required", true, "content",
                     "application/json", "schema", "type", "object", "properties", members,
                     "additionalProperties", false);
}

/* Returns the body of one MCP message; its own specification describes the content. */
static json_t *message_body(void)
{
    return json_pack("{s:b, s:{s:{s:{s:s}}}}", "required", true, "content", "application/json",
                     "schema", "type", "object");
}

static void put_content(struct making *m, json_t *content, const char *type)
{
    bool json = strcmp(type, "application/json") == 0;

    put(m, content, type, json_pack("{s:o}", "schema", typed(json ? "object" : "string")));
}

static json_t *content_of(struct making *m, const struct route *r)
{
    struct span types = span_of(r->doc.types ? r->doc.types : "");
    const struct render_format *formats;
    json_t *content = json_object();
    char type[64];
    size_t count;

    if (r->doc.schema)
        put(m, content, "application/json",
            json_pack("{s:o}", "schema", ref_to("schemas", r->doc.schema)));
    while (take_word(&types, type, sizeof(type)))
        put_content(m, content, type);
    formats = render_formats(&count);
    for (size_t i = 0; i < count && r->negotiates; i++) {
        struct span whole = span_of(formats[i].content_type), bare = whole;

        span_take_until(&whole, ';', &bare);
        span_copy(bare, type, sizeof(type));
        put_content(m, content, type);
    }
    if (r->negotiates && r->streams)
        put_content(m, content, "text/event-stream");
    return content;
}

static json_t *header(const char *type, const char *text)
{
    return json_pack("{s:s, s:o}", "description", text, "schema", typed(type));
}

/* Returns a successful answer: its text, header fields and content. */
static json_t *answer_of(struct making *m, const struct route *r)
{
    json_t *answer = json_pack("{s:s}", "description", r->doc.answer), *content = content_of(m, r),
           *headers = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(PROFILE_HEADERS) && r->negotiates; i++)
        put(m, headers, PROFILE_HEADERS[i].name,
            header(PROFILE_HEADERS[i].type, PROFILE_HEADERS[i].text));
    if (r->doc.status == 201 && r->audit != AUDIT_LOGIN)
        put(m, headers, "Location", header("string", "Where the capture is."));
    if (json_object_size(headers))
        put(m, answer, "headers", json_incref(headers));
    if (json_object_size(content))
        put(m, answer, "content", json_incref(content));
    json_decref(headers);
    json_decref(content);
    return answer;
}

static json_t *responses_of(struct making *m, const struct route *r)
{
    struct span problems = span_of(r->doc.problems ? r->doc.problems : "");
    json_t *all = json_object();
    char status[8];

    snprintf(status, sizeof(status), "%u", r->doc.status ? r->doc.status : 200);
    put(m, all, status, answer_of(m, r));
    if (r->doc.unready)
        put(m, all, "503",
            json_pack("{s:s, s:o}", "description", r->doc.unready, "content", content_of(m, r)));
    while (take_word(&problems, status, sizeof(status)))
        put(m, all, status, ref_to("responses", "Problem"));
    if (!r->health)
        put(m, all, "429", ref_to("responses", "TooMany"));
    put(m, all, "default", ref_to("responses", "Problem"));
    return all;
}

static json_t *operation_of(struct making *m, const struct route *r)
{
    json_t *op = json_pack("{s:s, s:s, s:s}", "operationId", r->doc.id, "x-flamed-role",
                           role_name(r->role), "summary", r->doc.summary);

    put_text(m, op, "description", r->doc.text);
    put(m, op, "parameters", parameters_of(m, r));
    if (r->body == BODY_PARAMS)
        put(m, op, "requestBody", body_of(m, r));
    if (r->body == BODY_MESSAGE)
        put(m, op, "requestBody", message_body());
    put(m, op, "responses", responses_of(m, r));
    return op;
}

static json_t *paths(struct making *m)
{
    json_t *all = json_object(), *path;
    const struct route *rows;
    size_t count;

    rows = routes(&count);
    for (size_t i = 0; i < count; i++) {
        unsigned methods = rows[i].methods;

        path = json_object_get(all, rows[i].path);
        if (!path)
            path = put(m, all, rows[i].path, json_object());
        put(m, path,
            methods & METHOD_GET    ? "get"
            : methods & METHOD_POST ? "post"
                                    : "delete",
            operation_of(m, &rows[i]));
    }
    return all;
}

/* Returns the document, owned by the caller; NULL: out of memory. */
static char *openapi_make(void)
{
    json_t *doc = json_loadb(openapi_rest.p, openapi_rest.n, 0, NULL);
    struct making m = { .failed = doc == NULL };
    char *text = NULL;

    put(&m, doc, "paths", paths(&m));
    put(&m, json_object_get(doc, "components"), "parameters", parameters(&m));
    if (!m.failed)
        text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(doc);
    return text;
}

struct span serve_openapi(void)
{
    static _Atomic(char *) made;
    char *text = atomic_load(&made), *none = NULL;

    if (!text) {
        text = openapi_make();
        if (text && !atomic_compare_exchange_strong(&made, &none, text)) {
            free(text); /* another thread was faster */
            text = none;
        }
    }
    return text ? span_of(text) : SPAN_NULL;
}
