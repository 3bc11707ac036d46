/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as class files spell them: descriptors of methods, names of classes. Readers parse names by
 * these rules and fail on others, so every name that is written must follow them.
 */
#include "render/jfr/jfr.h"

static void add_type_name(struct buf *out, struct span type)
{
    static const struct {
        const char *name;
        char letter;
    } PRIMITIVES[] = {
        { "boolean", 'Z' }, { "byte", 'B' }, { "char", 'C' }, { "double", 'D' },
        { "float", 'F' },   { "int", 'I' },  { "long", 'J' }, { "short", 'S' },
    };
    unsigned dimensions = 0;

    while (span_ends_with(type, "[]")) {
        type.n -= 2;
        if (dimensions++ < 255) /* the JVM's limit */
            buf_add_char(out, '[');
    }
    for (size_t i = 0; i < ARRAY_SIZE(PRIMITIVES); i++) {
        if (span_eq_str(type, PRIMITIVES[i].name)) {
            buf_add_char(out, PRIMITIVES[i].letter);
            return;
        }
    }
    buf_add_char(out, 'L');
    if (!type.n)
        buf_add_char(out, '_');
    for (size_t i = 0; i < type.n; i++) {
        char c = type.p[i];

        buf_add_char(out, c == '.' ? '/' : strchr(";[()", c) ? '_' : c);
    }
    buf_add_char(out, ';');
}

void jfr_add_descriptor(struct buf *out, struct span signature)
{
    struct span types = span_trim(signature), type;

    if (span_starts_with(types, "("))
        types = span_from(types, 1);
    if (span_ends_with(types, ")"))
        types.n--;
    buf_add_char(out, '(');
    types = span_trim(types);
    while (span_take_until(&types, ',', &type))
        add_type_name(out, span_trim(type));
    buf_add_str(out, ")V");
}

void jfr_add_class_name(struct buf *out, struct span name)
{
    if (span_ends_with(name, "[]")) {
        add_type_name(out, name);
        return;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        buf_add_char(out, c == '.' ? '/' : c == ';' || (c == '[' && i == 0) ? '_' : c);
    }
}

struct span jfr_file_class(struct span path)
{
    size_t slash = span_rfind(path, '/');
    struct span name = slash < path.n ? span_from(path, slash + 1) : path;

    if (span_starts_with(name, "[")) { /* "[kernel]" */
        name = span_from(name, 1);
        name.n -= span_ends_with(name, "]");
    }
    while (span_starts_with(name, "["))
        name = span_from(name, 1);
    return name;
}
