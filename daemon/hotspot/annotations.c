/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/annotations.h"

#include "base/list.h"
#include "profile/own_code.h"

static const char *const VERBS[] = { "GET",   "POST", "PUT",     "DELETE",
                                     "PATCH", "HEAD", "OPTIONS", "TRACE" };

/* Packages of annotations. */
static const struct {
    const char *package;
    enum annotations_api api;
} APIS[] = {
    { "Lorg/springframework/web/bind/annotation/", MAPPING_SPRING },
    { "Lorg/springframework/web/service/annotation/", MAPPING_EXCHANGE },
    { "Ljakarta/ws/rs/", MAPPING_JAX_RS },
    { "Ljavax/ws/rs/", MAPPING_JAX_RS },
    { "Lio/micronaut/http/annotation/", MAPPING_MICRONAUT },
};

#define STRINGS_MAX 9 /* strings read of an element: one more than there are HTTP methods */

struct reader {
    struct span left;
    annotations_text_fn text;
    void *cookie;
    struct annotations_used *used;
    int error; /* what @text returned, if negative; else 0 */
};

/* The constants of an element's value: one, or those of an array. */
struct constants {
    uint16_t at[STRINGS_MAX];
    unsigned count;
};

/* ---- annotations ---- */

/* Takes a number of two bytes, the high one first. */
static bool take_u2(struct reader *r, uint16_t *ret)
{
    struct span two;

    if (!span_take_bytes(&r->left, 2, &two))
        return false;
    *ret = (uint16_t)((uint8_t)two.p[0] << 8 | (uint8_t)two.p[1]);
    return true;
}

/* Gets the text of constant @index in @buf. Returns false if the text is unreadable, or exceeds the
 * limit of bytes. */
static bool text_of(struct reader *r, uint16_t index, char buf[ANNOTATIONS_TEXT_MAX],
                    struct span *ret)
{
    int n = r->text(r->cookie, index, buf, ANNOTATIONS_TEXT_MAX);

    r->error = MIN(n, 0);
    *ret = (struct span){ buf, (size_t)MAX(n, 0) };
    r->used->bytes += ret->n;
    return n >= 0 && r->used->bytes <= ANNOTATIONS_BYTES_MAX;
}

/* Returns the HTTP method @name, in upper or lower case, as a bit; 0: none. */
static uint16_t verb_named(struct span name)
{
    for (size_t i = 0; i < ARRAY_SIZE(VERBS); i++) {
        if (strlen(VERBS[i]) == name.n && strncasecmp(VERBS[i], name.p, name.n) == 0)
            return (uint16_t)(1U << i);
    }
    return 0;
}

static bool is_spring(enum annotations_api api)
{
    return api == MAPPING_SPRING || api == MAPPING_EXCHANGE;
}

/* Returns whether annotation @name of @api is a mapping. *ret_verb: its HTTP method; 0: none. */
static bool is_mapping(enum annotations_api api, struct span name, uint16_t *ret_verb)
{
    static const char
        *const ENDS[] = { [MAPPING_SPRING] = "Mapping", [MAPPING_EXCHANGE] = "Exchange" },
               *const WITHOUT_VERB[] = { [MAPPING_SPRING] = "Request",
                                         [MAPPING_EXCHANGE] = "Http",
                                         [MAPPING_JAX_RS] = "Path",
                                         [MAPPING_MICRONAUT] = "Controller" };

    if (is_spring(api)) {
        if (!span_ends_with(name, ENDS[api]))
            return false;
        name.n -= strlen(ENDS[api]);
    }
    *ret_verb = verb_named(name);
    return *ret_verb || span_eq_str(name, WITHOUT_VERB[api]);
}

bool annotations_is_own(struct span type)
{
    char name[ANNOTATIONS_TEXT_MAX];

    span_take_char(&type, 'L');
    type.n = MIN(type.n, sizeof(name));
    for (size_t i = 0; i < type.n; i++)
        name[i] = type.p[i] == '/' ? '.' : type.p[i];
    return own_code_has(&(struct own_code){ 0 }, (struct span){ name, type.n });
}

/* Adds an annotation of type @type to @m. Returns its API if the annotation is a mapping. */
static enum annotations_api add_annotation(struct annotated *m, struct span type)
{
    uint16_t verb = 0;

    if (!span_take_char(&type, 'L') || !span_ends_with(type, ";"))
        return MAPPING_NONE;
    for (size_t i = 0; i < ARRAY_SIZE(APIS); i++) {
        const char *package = APIS[i].package + 1;
        struct span name = type;

        if (!span_take_str(&name, package))
            continue;
        name.n--;
        if (!is_mapping(APIS[i].api, name, &verb))
            return MAPPING_NONE;
        m->unsure |= m->api && (m->api != APIS[i].api || is_spring(m->api));
        m->api = APIS[i].api;
        m->verbs |= verb;
        return APIS[i].api;
    }
    m->foreign |= annotations_is_own(type);
    return MAPPING_NONE;
}

static bool take_annotation(struct reader *r, unsigned depth, struct annotated *m);

/* Takes a value and, if it is an array, the values in it. Adds its constants to @c. */
static bool take_value(struct reader *r, unsigned depth, struct constants *c)
{
    uint16_t n;
    uint8_t tag;

    if (depth > ANNOTATIONS_DEPTH_MAX || ++r->used->values > ANNOTATIONS_VALUES_MAX ||
        !span_take_u8(&r->left, &tag))
        return false;
    if (tag == '@')
        return take_annotation(r, depth + 1, NULL);
    if (!tag || !strchr("[eBCDFIJSZsc", tag) || !take_u2(r, &n) || (tag == 'e' && !take_u2(r, &n)))
        return false;
    if (tag == '[')
        return n <= ANNOTATIONS_ARRAY_MAX && ALL_OF(i, n, take_value(r, depth + 1, c));
    if (c->count < STRINGS_MAX)
        c->at[c->count] = n;
    c->count++;
    return true;
}

/* Sets the path of @m to @path. A path with placeholders of a configuration counts as unknown. */
static void set_path(struct annotated *m, struct span path)
{
    bool same = m->has_path && span_eq((struct span){ m->path, m->path_n }, path);

    if (path.n > sizeof(m->path) || memmem(path.p, path.n, "${", 2) ||
        memmem(path.p, path.n, "#{", 2) || (m->has_path && !same)) {
        m->unsure = true;
        return;
    }
    if (path.n)
        memcpy(m->path, path.p, path.n);
    m->path_n = (uint16_t)path.n;
    m->has_path = true;
}

/* Adds element @name of an annotation of @api to @m. */
static bool add_element(struct reader *r, struct annotated *m, enum annotations_api api,
                        struct span name, const struct constants *c)
{
    char buf[ANNOTATIONS_TEXT_MAX];
    struct span text;

    if (is_spring(api) && span_eq_str(name, "method")) {
        for (unsigned i = 0; i < MIN(c->count, (unsigned)STRINGS_MAX); i++) {
            if (!text_of(r, c->at[i], buf, &text))
                return false;
            if (!text.n) /* @HttpExchange has an empty method by default */
                continue;
            m->verbs |= verb_named(text);
            m->unsure |= !verb_named(text);
        }
        m->unsure |= c->count > STRINGS_MAX;
        return true;
    }
    if (api == MAPPING_MICRONAUT && span_eq_str(name, "uris"))
        m->unsure = true;
    if (!span_eq_str(name, "value") && !span_eq_str(name, "path") &&
        !span_eq_str(name, api == MAPPING_EXCHANGE ? "url" : "uri"))
        return true;
    m->unsure |= c->count > 1;
    if (c->count != 1)
        return true;
    if (!text_of(r, c->at[0], buf, &text))
        return false;
    set_path(m, text);
    return true;
}

/* Takes an annotation, and adds it to @m. @m is NULL if the annotation is only the value of an
 * element. */
static bool take_annotation(struct reader *r, unsigned depth, struct annotated *m)
{
    char buf[ANNOTATIONS_TEXT_MAX];
    enum annotations_api api = MAPPING_NONE;
    uint16_t type, elements, name;
    struct span text;

    if (!take_u2(r, &type) || !take_u2(r, &elements) || elements > ANNOTATIONS_MAX ||
        (m && !text_of(r, type, buf, &text)))
        return false;
    if (m)
        api = add_annotation(m, text);
    for (uint16_t i = 0; i < elements; i++) {
        struct constants c = { .count = 0 };

        if (!take_u2(r, &name) || !take_value(r, depth, &c))
            return false;
        if (api && (!text_of(r, name, buf, &text) || !add_element(r, m, api, text, &c)))
            return false;
    }
    return true;
}

int annotations_read(struct span annotations, annotations_text_fn text, void *cookie,
                     struct annotations_used *used, struct annotated *ret)
{
    struct reader r = { .left = annotations, .text = text, .cookie = cookie, .used = used };
    struct annotated m = { .api = MAPPING_NONE };
    uint16_t count;

    used->bytes += annotations.n;
    if (used->bytes > ANNOTATIONS_BYTES_MAX || !take_u2(&r, &count) || count > ANNOTATIONS_MAX ||
        !ALL_OF(i, count, take_annotation(&r, 1, &m)))
        return r.error ? r.error : -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- routes ---- */

/* Removes slashes from both ends of @s. */
static struct span without_slashes(struct span s)
{
    while (span_take_char(&s, '/')) {
    }
    while (s.n && s.p[s.n - 1] == '/')
        s.n--;
    return s;
}

static bool is_one(uint16_t verbs)
{
    return verbs && !(verbs & (verbs - 1));
}

void annotations_inherit(struct annotated *m, const struct annotated *above)
{
    bool foreign = m->foreign || above->foreign, several = m->api && above->api;

    if (above->api && !m->api) {
        *m = *above;
        m->inherited = true;
    }
    m->foreign = foreign;
    m->unsure |= several;
}

/* Returns whether Spring may use an annotation of the application in place of the mapping of @m. */
static bool may_be_foreign(const struct annotated *m)
{
    return m->foreign && (!m->api || m->inherited);
}

/* Returns whether class @c and method @m together have exactly one known route. */
static bool is_sure(const struct annotated *c, const struct annotated *m)
{
    struct span class_path = { c->path, c->path_n }, path = { m->path, m->path_n };
    bool one_verb = is_one(m->verbs);

    if (!m->api || m->unsure || c->unsure)
        return false;
    if (c->api && c->api != m->api && !(c->api == MAPPING_SPRING && m->api == MAPPING_EXCHANGE))
        return false;
    /* how a wildcard of the class joins depends on the method's path */
    if (memchr(c->path, '*', c->path_n) || memchr(c->path, '?', c->path_n))
        return false;
    switch (m->api) {
    case MAPPING_SPRING: /* Spring does not join a path that equals the class's */
    case MAPPING_EXCHANGE:
        return !may_be_foreign(c) && !may_be_foreign(m) &&
               (path.n == class_path.n || !path.n || !class_path.n ||
                !span_eq(without_slashes(class_path), without_slashes(path)));
    case MAPPING_JAX_RS: /* a method that lacks either of these is a sub-resource, or its locator */
        return c->api && c->has_path && one_verb;
    default: /* a path with an operator of RFC 6570 joins in another way */
        return c->api && !c->inherited && one_verb &&
               !ANY_OF(i, path.n, i > 0 && path.p[i - 1] == '{' && strchr("?&#./;+", path.p[i]));
    }
}

size_t annotations_route(const struct annotated *of_class, const struct annotated *of_method,
                         char ret[ANNOTATIONS_ROUTE_MAX])
{
    uint16_t verbs = of_class->verbs | of_method->verbs;
    struct span prefix = { of_class->path, of_class->path_n },
                path = { of_method->path, of_method->path_n };
    bool one = is_one(verbs), spring = is_spring(of_method->api);
    const char *verb = one ? VERBS[__builtin_ctz(verbs)] : "", *between;
    int n;

    if (!is_sure(of_class, of_method))
        return 0;
    if (spring) { /* Spring distinguishes paths by a slash at their end */
        span_take_char(&prefix, '/');
        span_take_char(&path, '/');
    } else {
        prefix = without_slashes(prefix);
        path = without_slashes(path);
    }
    between = prefix.n && (spring ? of_method->path_n : path.n) && !span_ends_with(prefix, "/")
                  ? "/"
                  : "";
    n = snprintf(ret, ANNOTATIONS_ROUTE_MAX, "%s%s/%.*s%s%.*s", verb, one ? " " : "", (int)prefix.n,
                 prefix.p, between, (int)path.n, path.p);
    return n > 0 && n < ANNOTATIONS_ROUTE_MAX ? (size_t)n : 0;
}
