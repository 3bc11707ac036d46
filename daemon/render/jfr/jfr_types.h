/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording's descriptions of its types: the rows of the metadata event. Private to render/jfr/.
 */
#pragma once

#include "render/jfr/jfr.h"

#define JFR_FIELDS_MAX 11

enum field_flags {
    FIELD_POOL = 1,  /* holds a key of the type's constant pool */
    FIELD_ARRAY = 2, /* a count, followed by that number of values */
};

struct jfr_field {
    const char *name, *label; /* NULL name: no more fields */
    enum jfr_type type;
    unsigned flags;
    enum jfr_type unit;     /* annotation for the unit of the number; JFR_METADATA: none */
    const char *unit_value; /* "TICKS" */
};

struct jfr_type_info {
    enum jfr_type id;
    const char *name, *super, *label, *category[2], *description;
    bool simple; /* readers show its only field instead of an object */
    struct jfr_field fields[JFR_FIELDS_MAX];
};

extern const struct jfr_type_info JFR_TYPES[];
extern const size_t JFR_TYPE_COUNT;
