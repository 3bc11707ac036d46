/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the exported tables. */
#include "hotspot/vmstructs.h"

/* Columns of a table, exported as variables. */
enum vmstructs_column {
    COLUMN_TABLE,
    COLUMN_STRIDE,
    COLUMN_TYPE,
    COLUMN_FIELD,
    COLUMN_TYPE_STRING,
    COLUMN_IS_STATIC,
    COLUMN_VALUE,
    COLUMN_ADDRESS,
    COLUMN_COUNT,
};

/* Names of these variables; NULL: the table has no such column. */
static const struct {
    const char *names[COLUMN_COUNT];
    unsigned value_width;
} VMSTRUCTS_TABLES[] = {
    [VMSTRUCTS_TYPES] = { { [COLUMN_TABLE] = "gHotSpotVMTypes",
                            [COLUMN_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
                            [COLUMN_TYPE] = "gHotSpotVMTypeEntryTypeNameOffset",
                            [COLUMN_VALUE] = "gHotSpotVMTypeEntrySizeOffset" },
                          8 },
    [VMSTRUCTS_FIELDS] = { { [COLUMN_TABLE] = "gHotSpotVMStructs",
                             [COLUMN_STRIDE] = "gHotSpotVMStructEntryArrayStride",
                             [COLUMN_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
                             [COLUMN_FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
                             [COLUMN_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
                             [COLUMN_IS_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
                             [COLUMN_VALUE] = "gHotSpotVMStructEntryOffsetOffset",
                             [COLUMN_ADDRESS] = "gHotSpotVMStructEntryAddressOffset" },
                           8 },
    [VMSTRUCTS_INTS] = { { [COLUMN_TABLE] = "gHotSpotVMIntConstants",
                           [COLUMN_STRIDE] = "gHotSpotVMIntConstantEntryArrayStride",
                           [COLUMN_TYPE] = "gHotSpotVMIntConstantEntryNameOffset",
                           [COLUMN_VALUE] = "gHotSpotVMIntConstantEntryValueOffset" },
                         4 },
    [VMSTRUCTS_LONGS] = { { [COLUMN_TABLE] = "gHotSpotVMLongConstants",
                            [COLUMN_STRIDE] = "gHotSpotVMLongConstantEntryArrayStride",
                            [COLUMN_TYPE] = "gHotSpotVMLongConstantEntryNameOffset",
                            [COLUMN_VALUE] = "gHotSpotVMLongConstantEntryValueOffset" },
                          8 },
};

/* Gets the value of the exported 64-bit variable @name. @name NULL gives 0. */
static int vmstructs_variable(const struct dynsym *d, const char *name, uint64_t *ret)
{
    uint64_t at;
    int r;

    *ret = 0;
    if (!name)
        return 0;
    r = dynsym_find(d, name, &at);
    return r < 0 ? r : memory_u64(d->m, at, ret);
}

static int vmstructs_columns(const struct dynsym *d, enum vmstructs_table table,
                             uint64_t c[COLUMN_COUNT])
{
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        int r = vmstructs_variable(d, VMSTRUCTS_TABLES[table].names[i], &c[i]);

        if (r < 0)
            return r;
        if (i >= COLUMN_TYPE && c[i] > VMSTRUCTS_STRIDE_MAX - 8)
            return -EBADMSG;
    }
    if (c[COLUMN_TABLE] == 0 || c[COLUMN_STRIDE] == 0)
        return -EAGAIN;
    return c[COLUMN_STRIDE] > VMSTRUCTS_STRIDE_MAX ? -EBADMSG : 0;
}

static uint64_t vmstructs_cell(const uint8_t *row, uint64_t column, unsigned width)
{
    uint64_t v = 0;

    memcpy(&v, row + column, width);
    return v;
}

static int vmstructs_text(const struct dynsym *d, uint64_t at, char *buf)
{
    ssize_t n = at ? memory_string(d->m, at, buf, VMSTRUCTS_NAME_MAX) : 0;

    if (n == 0)
        buf[0] = '\0';
    return n < 0 ? (int)n : 0;
}

int vmstructs_walk(const struct dynsym *d, enum vmstructs_table table, vmstructs_fn fn,
                   void *cookie)
{
    unsigned width = VMSTRUCTS_TABLES[table].value_width;
    bool structs = table == VMSTRUCTS_FIELDS;
    uint64_t c[COLUMN_COUNT];
    int r = vmstructs_columns(d, table, c);

    if (r < 0)
        return r;
    for (unsigned i = 0; i < VMSTRUCTS_ENTRIES_MAX; i++) {
        uint8_t row[VMSTRUCTS_STRIDE_MAX] = { 0 };
        struct vmstructs_entry e = { 0 };
        uint64_t name;

        r = memory_read(d->m, c[COLUMN_TABLE] + i * c[COLUMN_STRIDE], row, c[COLUMN_STRIDE]);
        if (r < 0)
            return r;
        name = vmstructs_cell(row, c[COLUMN_TYPE], 8);
        if (name == 0)
            return i == 0 ? -EAGAIN : 0;
        r = vmstructs_text(d, name, e.type);
        if (r == 0 && structs)
            r = vmstructs_text(d, vmstructs_cell(row, c[COLUMN_FIELD], 8), e.field);
        if (r == 0 && structs)
            r = vmstructs_text(d, vmstructs_cell(row, c[COLUMN_TYPE_STRING], 8), e.type_string);
        if (r < 0)
            return r;
        e.is_static = structs && vmstructs_cell(row, c[COLUMN_IS_STATIC], 4) != 0;
        e.value = vmstructs_cell(row, c[e.is_static ? COLUMN_ADDRESS : COLUMN_VALUE], width);
        if (width == 4)
            e.value = (uint64_t)(int64_t)(int32_t)e.value;
        r = fn(cookie, &e);
        if (r != 0)
            return r;
    }
    return -EBADMSG;
}
