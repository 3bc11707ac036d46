/* SPDX-License-Identifier: Apache-2.0 */
#include "discover/tracer_info.h"

static const struct {
    const char *key, *attribute;
} KEYS[] = {
    { "service_name", "service.name=" },
    { "service_version", "service.version=" },
    { "service_env", "deployment.environment.name=" },
    { "runtime_id", "service.instance.id=" },
};

/* One value: its text if it is a text, and the number of nested values that follow. */
struct value {
    struct span text;
    uint64_t inside;
    bool map;
};

/* Takes a number of @bytes bytes, the highest first. */
static bool take_number(struct span *s, unsigned bytes, uint64_t *ret)
{
    uint8_t byte;

    *ret = 0;
    for (unsigned i = 0; i < bytes; i++) {
        if (!span_take_u8(s, &byte))
            return false;
        *ret = *ret << 8 | byte;
    }
    return true;
}

static bool take_sized(struct span *s, unsigned bytes, uint64_t more, struct span *ret)
{
    uint64_t n;

    return take_number(s, bytes, &n) && n + more <= s->n &&
           span_take_bytes(s, (size_t)(n + more), ret);
}

/* Takes a value that begins with @type, 0xc0 to 0xdf. */
static bool take_long(struct span *s, uint8_t type, struct value *ret)
{
    static const uint8_t FIXED[] = {
        [0xca - 0xca] = 4, 8, 1, 2, 4, 8, 1, 2, 4, 8
    }; /* up to 0xd3 */
    struct span skipped;

    if (type == 0xc0 || type == 0xc2 || type == 0xc3) /* nil, false, true */
        return true;
    if (type >= 0xc4 && type <= 0xc6) /* bytes */
        return take_sized(s, 1u << (type - 0xc4), 0, &skipped);
    if (type >= 0xc7 && type <= 0xc9) /* an extension, with a byte for its kind */
        return take_sized(s, 1u << (type - 0xc7), 1, &skipped);
    if (type >= 0xca && type <= 0xd3)
        return span_take_bytes(s, FIXED[type - 0xca], &skipped);
    if (type >= 0xd4 && type <= 0xd8)
        return span_take_bytes(s, 1 + (1u << (type - 0xd4)), &skipped);
    if (type >= 0xd9 && type <= 0xdb)
        return take_sized(s, 1u << (type - 0xd9), 0, &ret->text);
    ret->map = type >= 0xde;
    return type >= 0xdc && take_number(s, type & 1 ? 4 : 2, &ret->inside);
}

static bool take_value(struct span *s, struct value *ret)
{
    uint8_t type;

    *ret = (struct value){ 0 };
    if (!span_take_u8(s, &type))
        return false;
    if (type < 0x80 || type >= 0xe0) /* a small number */
        return true;
    if (type >= 0xc0) {
        if (!take_long(s, type, ret))
            return false;
    } else if (type >= 0xa0) {
        return span_take_bytes(s, type & 0x1f, &ret->text);
    } else {
        ret->inside = type & 0x0f;
        ret->map = type < 0x90;
    }
    ret->inside *= ret->map ? 2 : 1;
    return true;
}

/* Takes the @count values that follow, with all values nested in them. */
static int skip(struct span *s, uint64_t count, unsigned *left)
{
    struct value v;

    for (; count; count--) {
        if (*left == 0)
            return -E2BIG;
        --*left;
        if (!take_value(s, &v))
            return -EBADMSG;
        count += v.inside;
    }
    return 0;
}

/* Takes a key and its value. */
static int take_pair(struct span *s, struct span values[ARRAY_SIZE(KEYS)], unsigned *left)
{
    struct value key, value;
    struct span text;
    int r;

    if (*left < 2)
        return -E2BIG;
    *left -= 2;
    if (!take_value(s, &key) || !key.text.p)
        return -EBADMSG;
    if (!take_value(s, &value))
        return -EBADMSG;
    r = skip(s, value.inside, left);
    text = value.text;
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(KEYS); i++) {
        if (span_eq_str(key.text, KEYS[i].key) && text.n <= TRACER_INFO_VALUE_BYTES_MAX &&
            span_find(text, '\0') == text.n)
            values[i] = text;
    }
    return r;
}

int tracer_info_attributes(struct span info, struct buf *out)
{
    struct span values[ARRAY_SIZE(KEYS)] = { 0 };
    unsigned left = TRACER_INFO_VALUES_MAX;
    struct value all;

    if (!take_value(&info, &all) || !all.map)
        return -EBADMSG;
    for (uint64_t i = 0; i < all.inside / 2; i++) {
        int r = take_pair(&info, values, &left);

        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (values[i].n) {
            buf_add_str(out, KEYS[i].attribute);
            buf_add_span(out, values[i]);
            buf_add_char(out, '\0');
        }
    }
    return 0;
}
