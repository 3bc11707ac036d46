/* SPDX-License-Identifier: Apache-2.0 */
/* Reads value, width and sign for the rows of layout.h from the VM's tables. */
#include "hotspot/layout_rows.h"

#include "base/fnv1a.h"
#include "hotspot/dynsym.h"
#include "hotspot/vm.h"
#include "hotspot/vmstructs.h"

static uint64_t layout_hash(const char *s)
{
    return fnv1a(FNV1A_START, s, strlen(s));
}

/* Sets width and sign of a C type, which is spelled as in the tables. Width 0: no known number. */
static void layout_explain(const struct layout_scan *s, const char *type, struct layout_hit *hit)
{
    static const struct {
        const char *name;
        uint8_t width;
        bool sign;
    } KNOWN[] = {
        { "int", 4, true },
        { "jint", 4, true },
        { "int16_t", 2, true },
        { "signed char", 1, true },
        { "unsigned char", 1, false },
        { "u1", 1, false },
        { "u2", 2, false },
        { "u4", 4, false },
        { "int64_t", 8, true },
        { "uint", 4, false },
        { "unsigned short", 2, false },
        { "unsigned int", 4, false },
        { "uint32_t", 4, false },
        { "size_t", 8, false },
        { "bool", 1, false },
        { "pid_t", 4, true },
        { "address", 8, false },
        { "oop", 8, false },
        { "OopHandle", 8, false },
        { "CompLevel", 1, true },
        { "narrowOop", 4, false },
        { "narrowKlass", 4, false },
    };
    uint64_t hash;

    hit->width = 0;
    hit->sign = false;
    if (strchr(type, '*')) {
        hit->width = 8;
        return;
    }
    for (;;) {
        if (strncmp(type, "const ", 6) == 0)
            type += 6;
        else if (strncmp(type, "volatile ", 9) == 0)
            type += 9;
        else
            break;
    }
    for (size_t i = 0; i < ARRAY_SIZE(KNOWN); i++) {
        if (strcmp(type, KNOWN[i].name) == 0) {
            hit->width = KNOWN[i].width;
            hit->sign = KNOWN[i].sign;
            return;
        }
    }
    hash = layout_hash(type);
    for (size_t i = 0; i < s->type_count; i++) {
        uint32_t bytes = s->types[i].bytes;

        if (s->types[i].hash == hash && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)) {
            hit->width = (uint8_t)bytes;
            return;
        }
    }
}

static int layout_see_type(void *cookie, const struct vmstructs_entry *e)
{
    struct layout_scan *s = cookie;

    if (s->type_count < LAYOUT_TYPES_MAX)
        s->types[s->type_count++] =
            (struct layout_type){ layout_hash(e->type), (uint32_t)MIN(e->value, UINT32_MAX) };
    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_SIZE_ROWS); i++) {
        if (strcmp(LAYOUT_SIZE_ROWS[i].name, e->type) == 0)
            s->sizes[i] = (struct layout_hit){ .found = true, .value = e->value };
    }
    return 0;
}

static int layout_see_field(void *cookie, const struct vmstructs_entry *e)
{
    const struct layout_row *rows = e->is_static ? LAYOUT_STATIC_ROWS : LAYOUT_FIELD_ROWS;
    size_t n = e->is_static ? ARRAY_SIZE(LAYOUT_STATIC_ROWS) : ARRAY_SIZE(LAYOUT_FIELD_ROWS);
    struct layout_scan *s = cookie;
    struct layout_hit *hits = e->is_static ? s->statics : s->fields;

    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i].field, e->field) == 0 && strcmp(rows[i].type, e->type) == 0) {
            hits[i] = (struct layout_hit){ .found = true, .value = e->value };
            if (!e->is_static)
                layout_explain(s, e->type_string, &hits[i]);
        }
    }
    return 0;
}

static int layout_see_constant(void *cookie, const struct vmstructs_entry *e)
{
    struct layout_scan *s = cookie;

    for (size_t i = 0; i < ARRAY_SIZE(LAYOUT_CONSTANT_ROWS); i++) {
        if (strcmp(LAYOUT_CONSTANT_ROWS[i].name, e->type) == 0)
            s->constants[i] = (struct layout_hit){ .found = true, .value = e->value };
    }
    return 0;
}

int layout_scan(const struct dynsym *d, struct layout_scan *s, struct error *err)
{
    int r = vmstructs_walk(d, VMSTRUCTS_TYPES, layout_see_type, s) ?:
            vmstructs_walk(d, VMSTRUCTS_FIELDS, layout_see_field, s) ?:
            vmstructs_walk(d, VMSTRUCTS_INTS, layout_see_constant, s);

    if (r == 0) /* long constants are optional */
        r = vmstructs_walk(d, VMSTRUCTS_LONGS, layout_see_constant, s) == -ESRCH ? -ESRCH : 0;
    if (r == -ENOENT)
        return hotspot_refuse(
            err, "this libjvm does not export the tables that HotSpot keeps for tools, so it is of "
                 "another VM; native code has names, Java code has none");
    return r;
}
