/* SPDX-License-Identifier: Apache-2.0 */
#include "push/partial.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { FIELD_PARTIAL = 1, FIELD_REJECTED = 1, FIELD_WHY = 2 };

struct field {
    uint64_t number, value; /* value: of a WIRE_VARINT */
    struct span bytes;      /* of a WIRE_BYTES */
    unsigned wire;
};

static bool take_varint(struct span *s, uint64_t *ret)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64 && s->n; shift += 7) {
        uint8_t byte = (uint8_t)s->p[0];

        *s = span_from(*s, 1);
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool take_field(struct span *s, struct field *ret)
{
    uint64_t tag, n = 0;

    if (!take_varint(s, &tag))
        return false;
    *ret = (struct field){ .number = tag >> 3, .wire = tag & 7 };
    switch (ret->wire) {
    case WIRE_VARINT:
        return take_varint(s, &ret->value);
    case WIRE_64:
        n = 8;
        break;
    case WIRE_32:
        n = 4;
        break;
    case WIRE_BYTES:
        if (!take_varint(s, &n))
            return false;
        break;
    default:
        return false;
    }
    if (n > s->n)
        return false;
    ret->bytes = (struct span){ s->p, (size_t)n };
    *s = span_from(*s, (size_t)n);
    return true;
}

bool partial_parse(struct span body, uint64_t *ret_rejected, struct span *ret_why)
{
    struct span inner = SPAN_NULL, why = SPAN_NULL;
    uint64_t rejected = 0;
    struct field f;

    while (body.n) {
        if (!take_field(&body, &f))
            return false;
        if (f.number == FIELD_PARTIAL && f.wire == WIRE_BYTES)
            inner = f.bytes;
    }
    while (inner.n) {
        if (!take_field(&inner, &f))
            return false;
        if (f.number == FIELD_REJECTED && f.wire == WIRE_VARINT)
            rejected = f.value > INT64_MAX ? 0 : f.value;
        if (f.number == FIELD_WHY && f.wire == WIRE_BYTES)
            why = f.bytes;
    }
    *ret_rejected = rejected;
    *ret_why = why;
    return true;
}
