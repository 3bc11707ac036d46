/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations of a class and of a method, any bytes, and those of a method that inherits both. A
 * route has a path, and no unknown part.
 * Input: u8 count, as many constants (u8 length, bytes), u16 length and bytes of the class's
 * annotations; the rest is the method's.
 */
#include "hotspot/annotations.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct span constants[256];
static uint8_t count;

static int text_of(void *cookie, uint16_t index, char *buf, size_t max)
{
    (void)cookie;
    if (index >= count)
        return -EFAULT;
    span_copy(constants[index], buf, max);
    return (int)MIN(constants[index].n, max);
}

static bool take_input(struct span *s, struct span *ret_class)
{
    uint16_t n;
    uint8_t length;

    if (!span_take_u8(s, &count))
        return false;
    for (uint8_t i = 0; i < count; i++) {
        if (!span_take_u8(s, &length) || !span_take_bytes(s, length, &constants[i]))
            return false;
    }
    return span_take_u16(s, &n) && span_take_bytes(s, n, ret_class);
}

static void check(const struct annotated *c, const struct annotated *m)
{
    char text[ANNOTATIONS_ROUTE_MAX];
    struct span route = { text, annotations_route(c, m, text) };

    if (route.n >= sizeof(text) ||
        (route.n && (span_find(route, '/') > strlen("OPTIONS ") || memmem(text, route.n, "${", 2))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span of_method = { (const char *)data, size }, of_class;
    struct annotations_used used = { 0 };
    struct annotated c, m, none = { .api = MAPPING_NONE };

    if (!take_input(&of_method, &of_class) ||
        annotations_read(of_class, text_of, NULL, &used, &c) < 0 ||
        annotations_read(of_method, text_of, NULL, &used, &m) < 0)
        return 0;
    check(&c, &m);
    annotations_inherit(&none, &m);
    check(&c, &none);
    annotations_inherit(&none, &c);
    check(&c, &none);
    annotations_inherit(&m, &c);
    check(&m, &none);
    return 0;
}
