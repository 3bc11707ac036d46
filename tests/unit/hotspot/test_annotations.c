/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations of classes and methods as routes: what frameworks would make of them, and what has no
 * route for sure. */
#include "hotspot/annotations.h"

#include "base/buf.h"

#include "suite.h"

#define CONSTANTS_MAX 64

/* Constants of a class, by index from 1 on. */
static struct {
    struct span texts[CONSTANTS_MAX];
    uint16_t count;
    char types[8192]; /* the texts of types, one after the other */
    size_t types_n;
} pool;

static int text_of(void *cookie, uint16_t index, char *buf, size_t max)
{
    (void)cookie;
    if (!index || index > pool.count)
        return -EFAULT;
    span_copy(pool.texts[index - 1], buf, max);
    return (int)MIN(pool.texts[index - 1].n, max);
}

static void add_u2(struct buf *out, size_t n)
{
    buf_add_char(out, (char)(n >> 8));
    buf_add_char(out, (char)n);
}

static void add_constant(struct buf *out, struct span text)
{
    ck_assert_uint_lt(pool.count, CONSTANTS_MAX);
    pool.texts[pool.count++] = text;
    add_u2(out, pool.count);
}

/* Adds a string, or a constant of an enum: "^GET". */
static void add_value(struct buf *out, struct span value)
{
    bool is_enum = span_take_char(&value, '^');

    buf_add_char(out, is_enum ? 'e' : 's');
    if (is_enum)
        add_constant(out, SPAN("LEnum;"));
    add_constant(out, value);
}

static size_t parts_of(struct span s, char between)
{
    size_t n = 1;

    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == between;
    return n;
}

/* Adds an element such as "value=/x", or "value=[/x,/y]" for an array. */
static void add_element(struct buf *out, struct span element)
{
    struct span name = SPAN_NULL, value;

    span_take_until(&element, '=', &name);
    add_constant(out, name);
    if (!span_take_char(&element, '[')) {
        add_value(out, element);
        return;
    }
    element.n--; /* the bracket at its end */
    buf_add_char(out, '[');
    add_u2(out, element.n ? parts_of(element, ',') : 0);
    while (span_take_until(&element, ',', &value))
        add_value(out, value);
}

/* Adds an annotation such as "S/GetMapping value=/x". A type's first letter stands for a package.
 */
static void add_annotation(struct buf *out, struct span line)
{
    static const struct {
        char letter;
        const char *package;
    } PACKAGES[] = { { 'S', "org/springframework/web/bind/annotation" },
                     { 'E', "org/springframework/web/service/annotation" },
                     { 'J', "jakarta/ws/rs" },
                     { 'X', "javax/ws/rs" },
                     { 'M', "io/micronaut/http/annotation" } };
    char *to = pool.types + pool.types_n;
    struct span type = SPAN_NULL, element;
    const char *package = "";

    span_take_until(&line, ' ', &type);
    for (size_t i = 0; i < ARRAY_SIZE(PACKAGES) && !*package; i++) {
        if (type.p[0] == PACKAGES[i].letter && type.p[1] == '/')
            package = PACKAGES[i].package;
    }
    if (*package)
        type = span_from(type, 1);
    snprintf(to, sizeof(pool.types) - pool.types_n, "L%s%.*s;", package, (int)type.n, type.p);
    pool.types_n += strlen(to) + 1;
    add_constant(out, span_of(to));
    add_u2(out, line.n ? parts_of(line, ' ') : 0);
    while (span_take_until(&line, ' ', &element))
        add_element(out, element);
}

/* Reads the annotations @text, one on a line. */
static void read_lines(const char *text, struct annotated *ret)
{
    _cleanup_buf_ struct buf out = BUF_UPTO(4096);
    struct span rest = span_of(text), line;

    pool.count = 0;
    pool.types_n = 0;
    add_u2(&out, rest.n ? parts_of(rest, '\n') : 0);
    while (span_take_until(&rest, '\n', &line))
        add_annotation(&out, line);
    ck_assert_int_eq(
        annotations_read(buf_span(&out), text_of, NULL, &(struct annotations_used){ 0 }, ret), 0);
}

/* Annotations of a class and of a method, and the route; "": none. */
static const struct {
    const char *of_class, *of_method, *route;
} CASES[] = {
    /* Spring: prefix and path get a slash between them, and before them */
    { "S/RequestMapping value=[/shop]", "S/GetMapping value=[/x/{id}]", "GET /shop/x/{id}" },
    { "S/RequestMapping path=[shop]", "S/PutMapping path=[x]", "PUT /shop/x" },
    { "S/RequestMapping value=[/shop/]", "S/PatchMapping value=[/x]", "PATCH /shop/x" },
    { "S/RequestMapping value=[/]", "S/GetMapping value=[/x]", "GET /x" },
    { "S/RequestMapping value=[/shop]", "S/DeleteMapping", "DELETE /shop" },
    { "S/RequestMapping value=[/shop]", "S/PostMapping value=[/]", "POST /shop/" },
    { "S/RequestMapping value=[/shop]", "S/PostMapping value=[]", "POST /shop" },
    { "org/springframework/stereotype/Controller", "S/GetMapping value=[/x/**]", "GET /x/**" },
    { "", "S/GetMapping", "GET /" },
    { "", "S/GetMapping value=[/x] path=[/x]", "GET /x" },
    { "", "S/GetMapping value=[/x] path=[/y]", "" },
    { "", "S/GetMapping value=[/x,/y]", "" },
    { "S/RequestMapping value=[/a,/b]", "S/GetMapping value=[/x]", "" },
    { "", "S/GetMapping value=[/${path}]", "" },
    { "S/RequestMapping value=[#{@paths.shop}]", "S/GetMapping value=[/x]", "" },
    { "S/RequestMapping value=[/*]", "S/GetMapping value=[/x]", "" },
    { "S/RequestMapping value=[/sho?]", "S/GetMapping value=[/x]", "" },
    { "S/RequestMapping value=[/x]", "S/GetMapping value=[/x]", "GET /x/x" },
    { "S/RequestMapping value=[/x]", "S/GetMapping value=[/x/]", "" }, /* the same, to Spring */
    /* HTTP methods */
    { "", "S/RequestMapping value=[/x] method=[^GET]", "GET /x" },
    { "", "S/RequestMapping value=[/x] method=[^GET,^HEAD]", "/x" },
    { "", "S/RequestMapping value=[/x] method=[^BREW]", "" },
    { "", "S/RequestMapping value=[/x]", "/x" },
    { "S/RequestMapping method=[^GET]", "S/RequestMapping value=[/x]", "GET /x" },
    { "S/RequestMapping method=[^GET]", "S/PostMapping value=[/x]", "/x" },
    /* several mappings; one that another annotation may have */
    { "", "S/GetMapping value=[/x]\nS/PostMapping value=[/x]", "" },
    { "shop/V1", "S/GetMapping value=[/x]", "" },
    { "shop/V1\nS/RequestMapping value=[/shop]", "shop/Timed\nS/GetMapping value=[/x]",
      "GET /shop/x" },
    { "J/Path value=/orders", "S/GetMapping value=[/x]", "" },
    { "S/ResponseBody", "S/MessageMapping value=[/x]", "" },
    { "", "", "" },
    /* Spring's exchanges: on a server since 6.1, where a prefix by them is one of other mappings,
       too */
    { "E/HttpExchange url=/shop", "E/GetExchange value=/x", "GET /shop/x" },
    { "E/HttpExchange value=/shop", "E/PostExchange", "POST /shop" },
    { "", "E/HttpExchange url=x method=PUT", "PUT /x" },
    { "", "E/HttpExchange url=/x method=", "/x" },
    { "", "E/HttpExchange url=/x value=/y", "" },
    { "", "E/HttpExchange url=/${x}", "" },
    { "", "E/GetExchange value=/x\nS/GetMapping value=/x", "" },
    { "S/RequestMapping value=[/shop]", "E/GetExchange value=/x", "GET /shop/x" },
    { "E/HttpExchange url=/shop", "S/GetMapping value=[/x]", "" },
    { "shop/V1", "E/GetExchange value=/x", "" },
    /* JAX-RS */
    { "J/Path value=/orders/", "J/GET\nJ/Path value={id:[0-9]+}", "GET /orders/{id:[0-9]+}" },
    { "X/Path value=orders", "X/DELETE", "DELETE /orders" },
    { "X/Path value=/", "X/GET\nX/Path value=/", "GET /" },
    { "X/Path value=/orders", "X/Path value=parts", "" },
    { "X/Path value=/orders", "X/GET\nX/POST", "" },
    { "", "J/GET\nJ/Path value=/x", "" },
    { "J/Path value=/orders", "J/GET\nJ/PathParam value=/x", "GET /orders" },
    /* Micronaut */
    { "M/Controller value=/orders", "M/Get value=/{id}", "GET /orders/{id}" },
    { "M/Controller", "M/Post uri=/x", "POST /x" },
    { "M/Controller value=/orders", "M/Get value={?max,offset}", "" },
    { "M/Controller value=/orders", "M/Get uris=[/x,/y]", "" },
    { "", "M/Get value=/x", "" },
};

START_TEST(routes_of_annotations)
{
    struct annotated of_class, of_method;
    char route[ANNOTATIONS_ROUTE_MAX];
    size_t n;

    read_lines(CASES[_i].of_class, &of_class);
    read_lines(CASES[_i].of_method, &of_method);
    n = annotations_route(&of_class, &of_method, route);
    if (!span_eq_str((struct span){ route, n }, CASES[_i].route))
        ck_abort_msg("%s, %s: %.*s", CASES[_i].of_class, CASES[_i].of_method, (int)n, route);
}
END_TEST

/* A class or method without a mapping, base types' annotations, and the route of the method. */
static const struct {
    const char *of_class, *of_method;
    const char *above_class[2], *above_method[2];
    const char *route;
} INHERITED[] = {
    { "",
      "",
      { "S/RequestMapping value=[/a]", "" },
      { "", "S/GetMapping value=[/x]" },
      "GET /a/x" },
    { "", "", { "", "" }, { "S/GetMapping value=[/x]", "S/GetMapping value=[/x]" }, "" },
    { "",
      "S/GetMapping value=[/x]",
      { "S/RequestMapping value=[/a]", "S/RequestMapping value=[/b]" },
      { "", "" },
      "" },
    { "", "", { "", "shop/V1" }, { "", "S/GetMapping value=[/x]" }, "" },
    { "shop/V1", "", { "S/RequestMapping value=[/a]", "" }, { "", "S/GetMapping value=[/x]" }, "" },
    { "", "shop/Timed", { "", "" }, { "S/GetMapping value=[/x]", "" }, "" },
    { "", "", { "", "" }, { "S/GetMapping value=[/x]", "shop/Timed" }, "" },
    { "",
      "org/springframework/transaction/annotation/Transactional",
      { "", "" },
      { "S/GetMapping value=[/x]", "" },
      "GET /x" },
    { "", "", { "", "" }, { "", "shop/Timed" }, "" },
    { "", "shop/Timed", { "J/Path value=/a", "" }, { "J/GET", "" }, "GET /a" },
    { "", "", { "M/Controller value=/a", "" }, { "M/Get value=/x", "" }, "" },
    { "M/Controller value=/a", "", { "", "" }, { "M/Get value=/x", "" }, "GET /a/x" },
};

START_TEST(mappings_of_base_types)
{
    struct annotated of_class, of_method, above;
    char route[ANNOTATIONS_ROUTE_MAX];
    size_t n;

    read_lines(INHERITED[_i].of_class, &of_class);
    read_lines(INHERITED[_i].of_method, &of_method);
    for (unsigned i = 0; i < 2; i++) {
        read_lines(INHERITED[_i].above_class[i], &above);
        if (!of_class.api || of_class.inherited)
            annotations_inherit(&of_class, &above);
        read_lines(INHERITED[_i].above_method[i], &above);
        annotations_inherit(&of_method, &above);
    }
    n = annotations_route(&of_class, &of_method, route);
    if (!span_eq_str((struct span){ route, n }, INHERITED[_i].route))
        ck_abort_msg("%d: %.*s", _i, (int)n, route);
}
END_TEST

static int read_bytes(const char *bytes, size_t n)
{
    struct annotated m;

    pool.count = 2;
    pool.texts[0] = SPAN("Lorg/springframework/web/bind/annotation/GetMapping;");
    pool.texts[1] = SPAN("value");
    return annotations_read((struct span){ bytes, n }, text_of, NULL,
                            &(struct annotations_used){ 0 }, &m);
}
#define BYTES(s) read_bytes((s), sizeof(s) - 1)

START_TEST(refuses_what_is_malformed)
{
    char deep[256] = "\0\1\0\1\0\1\0\2", many[8] = "\0\1\0\1\0\1\0\2";
    _cleanup_free_ char *large = calloc(ANNOTATIONS_BYTES_MAX + 1, 1);
    size_t n = 8;

    ck_assert_int_eq(BYTES("\0\0"), 0);
    ck_assert_int_eq(BYTES("\0\1\0\1\0\1\0\2s\0\2"), 0);
    ck_assert_int_eq(BYTES("\0\1\0\1\0\1\0\2s\0\2 and more, which is no visible one"), 0);
    ck_assert_int_eq(BYTES("\0\1\0\1\0\1\0\2s\0"), -EBADMSG); /* cut short */
    ck_assert_int_eq(BYTES("\0\1\0\1\0\1\0\2?\0\2"), -EBADMSG);
    ck_assert_int_eq(BYTES("\0\1\0\1\0\1\0\2s\0\3"), -EFAULT);  /* no such constant */
    ck_assert_int_eq(BYTES("\0\101\0\1\0\0"), -EBADMSG);        /* too many annotations */
    ck_assert_int_eq(BYTES("\0\1\0\1\0\101"), -EBADMSG);        /* too many elements */
    ck_assert_int_eq(BYTES("\0\1\0\1\0\1\0\2[\4\1"), -EBADMSG); /* too many values */
    ck_assert_int_eq(read_bytes(many, 8), -EBADMSG);
    for (unsigned i = 0; i < ANNOTATIONS_DEPTH_MAX; i++, n += 3)
        memcpy(deep + n, "[\0\1", 3);
    memcpy(deep + n, "s\0\2", 3);
    ck_assert_int_eq(read_bytes(deep, n + 3), -EBADMSG);
    memcpy(deep + n - 3, "s\0\2", 3);
    ck_assert_int_eq(read_bytes(deep, n), 0);
    ck_assert_ptr_nonnull(large);
    ck_assert_int_eq(read_bytes(large, ANNOTATIONS_BYTES_MAX), 0);
    ck_assert_int_eq(read_bytes(large, ANNOTATIONS_BYTES_MAX + 1), -EBADMSG);
}
END_TEST

START_TEST(long_paths_have_no_route)
{
    char text[ANNOTATIONS_ROUTE_MAX + 64] = "S/GetMapping value=[/";
    struct annotated none = { .api = MAPPING_NONE }, m;
    char route[ANNOTATIONS_ROUTE_MAX];
    size_t begin = strlen(text);

    memset(text + begin, 'x', ANNOTATIONS_ROUTE_MAX);
    memcpy(text + begin + ANNOTATIONS_ROUTE_MAX, "]", 2);
    read_lines(text, &m);
    ck_assert_uint_eq(annotations_route(&none, &m, route), 0);
    memcpy(text + begin + ANNOTATIONS_ROUTE_MAX - 4, "]", 2);
    read_lines(text, &m);
    ck_assert_uint_eq(annotations_route(&none, &m, route), 0); /* no room for "GET " */
    memcpy(text + begin + ANNOTATIONS_ROUTE_MAX - 8, "]", 2);
    read_lines(text, &m);
    ck_assert_uint_eq(annotations_route(&none, &m, route), ANNOTATIONS_ROUTE_MAX - 3);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("annotations");

    tcase_add_loop_test(tc, routes_of_annotations, 0, ARRAY_SIZE(CASES));
    tcase_add_loop_test(tc, mappings_of_base_types, 0, ARRAY_SIZE(INHERITED));
    tcase_add_test(tc, refuses_what_is_malformed);
    tcase_add_test(tc, long_paths_have_no_route);
    return suite_run_case("annotations", tc);
}
