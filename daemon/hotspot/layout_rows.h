/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to layout: the rows of layout.h as tables, and the entries of the VM's own tables for
 * these rows. Thread: any.
 */
#pragma once

#include "hotspot/layout.h"

#define LAYOUT_TYPES_MAX 4096
#define LAYOUT_TYPE_BYTES_MAX 65536 /* bytes of the largest struct that is read */

struct layout_row {
    size_t member; /* offset in struct hotspot_layout */
    const char *type, *field;
    uint8_t widths, from, to;
};

struct layout_name_row {
    size_t member;
    const char *name;
    uint8_t from, to;
};

#define X(member, ...) { offsetof(struct hotspot_layout, member), __VA_ARGS__ },
#define A X
static const struct layout_row LAYOUT_FIELD_ROWS[] = { LAYOUT_FIELDS(X, A) };
static const struct layout_name_row LAYOUT_CONSTANT_ROWS[] = { LAYOUT_CONSTANTS(X, A) };
#undef X
#define X(member, type, field, ...)                                                                \
    { offsetof(struct hotspot_layout, member##_at), type, field, W8, __VA_ARGS__ },
static const struct layout_row LAYOUT_STATIC_ROWS[] = { LAYOUT_STATICS(X, A) };
#undef X
#define X(member, ...) { offsetof(struct hotspot_layout, sizeof_##member), __VA_ARGS__ },
static const struct layout_name_row LAYOUT_SIZE_ROWS[] = { LAYOUT_SIZES(X) };
#undef X
#undef A

/* The table entry for a row. */
struct layout_hit {
    bool found;
    uint64_t value;
    uint8_t width;
    bool sign;
};

struct layout_type {
    uint64_t hash;
    uint32_t bytes;
};

struct layout_scan {
    struct layout_type types[LAYOUT_TYPES_MAX];
    size_t type_count;
    struct layout_hit fields[ARRAY_SIZE(LAYOUT_FIELD_ROWS)];
    struct layout_hit statics[ARRAY_SIZE(LAYOUT_STATIC_ROWS)];
    struct layout_hit sizes[ARRAY_SIZE(LAYOUT_SIZE_ROWS)];
    struct layout_hit constants[ARRAY_SIZE(LAYOUT_CONSTANT_ROWS)];
};

struct dynsym;

/* Reads the tables of the libjvm that @d opened into @ret, which must be zero. Return: 0;
 * HOTSPOT_UNSUPPORTED with @err; the error of vmstructs_walk(). */
int layout_scan(const struct dynsym *d, struct layout_scan *ret, struct error *err);
