/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The VM's table of -XX flags: name, type and address of the value. The type is a name in JDK 8..15
 * ("bool", "intx") and a number since 16, in the same order.
 */
#include "hotspot/vm.h"

#define FLAGS_MAX 8192     /* about 1,500 exist */
#define FLAG_BYTES_MAX 128 /* sizeof(JVMFlag) is 24..40 */
#define FLAG_NAME_MAX 96

static const struct {
    const char *name;
    uint8_t width; /* bytes of the value; 0: flamed does not read this type */
    bool sign;
} FLAG_TYPES[] = {
    { "bool", 1, false },      { "int", 4, true },     { "uint", 4, false },
    { "intx", 8, true },       { "uintx", 8, false },  { "uint64_t", 8, false },
    { "size_t", 8, false },    { "double", 0, false }, { "ccstr", 0, false },
    { "ccstrlist", 0, false },
};

/* Returns the index in FLAG_TYPES of the flag's type, or -errno. */
static int flag_type(struct hotspot_vm *vm, const uint8_t *row, size_t n)
{
    uint64_t v = (uint64_t)layout_get(vm->layout.flag_type, row, n);
    char text[16];
    ssize_t r;

    if (vm->layout.flag_type.width == 4)
        return v < ARRAY_SIZE(FLAG_TYPES) ? (int)v : -EBADMSG;
    r = memory_string(&vm->memory, v, text, sizeof(text));
    if (r < 0)
        return (int)r;
    for (size_t i = 0; i < ARRAY_SIZE(FLAG_TYPES); i++) {
        if (strcmp(text, FLAG_TYPES[i].name) == 0)
            return (int)i;
    }
    return -EBADMSG;
}

/* Gets the value of the flag in @row. Return: 0; -ENOENT: flamed does not read its type; -errno. */
static int flag_value(struct hotspot_vm *vm, const uint8_t *row, size_t n, uint64_t *ret)
{
    struct layout_field address = { vm->layout.flag_address.offset, 8, false };
    int type = flag_type(vm, row, n), r;
    unsigned width = type < 0 ? 0 : FLAG_TYPES[type].width;
    uint64_t v;

    if (type < 0 || !width)
        return type < 0 ? type : -ENOENT;
    r = memory_number(&vm->memory, (uint64_t)layout_get(address, row, n), width, &v);
    if (r < 0)
        return r;
    *ret = FLAG_TYPES[type].sign && width == 4 ? (uint64_t)(int64_t)(int32_t)v : v;
    return 0;
}

/* Sets the flags of @asked that have the name @name. Returns how many of @n are still unknown. */
static size_t take_flag(struct hotspot_vm *vm, const char *name, const uint8_t *row, size_t size,
                        struct hotspot_flag *asked, size_t n)
{
    size_t unknown = 0;

    for (size_t i = 0; i < n; i++) {
        if (!asked[i].known && strcmp(name, asked[i].name) == 0)
            asked[i].known = flag_value(vm, row, size, &asked[i].value) == 0;
        unknown += !asked[i].known;
    }
    return unknown;
}

static int flags_find(struct hotspot_vm *vm, struct hotspot_flag *asked, size_t n)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t size = l->sizeof_Flag ? l->sizeof_Flag : l->sizeof_JVMFlag;
    uint64_t table, count;
    int r;

    memory_begin(&vm->memory);
    if (size > FLAG_BYTES_MAX)
        return -EBADMSG;
    r = memory_u64(&vm->memory, l->flags_at, &table)
            ?: memory_u64(&vm->memory, l->flag_count_at, &count);
    for (uint64_t i = 0; r == 0 && i < MIN(count, (uint64_t)FLAGS_MAX); i++) {
        char name[FLAG_NAME_MAX];
        uint8_t row[FLAG_BYTES_MAX];
        uint64_t name_at;

        r = memory_read(&vm->memory, table + i * size, row, size);
        if (r < 0)
            return r;
        name_at = (uint64_t)layout_get(l->flag_name, row, size);
        if (name_at == 0) /* the end of the table */
            break;
        r = (int)MIN(memory_string(&vm->memory, name_at, name, sizeof(name)), 0);
        if (r == 0 && take_flag(vm, name, row, size, asked, n) == 0)
            return 0;
    }
    return r;
}

struct flags_question {
    struct hotspot_flag asked[HOTSPOT_FLAGS_MAX]; /* the names are constants */
    size_t n;
};

static int run_flags(struct hotspot_vm *vm, void *arg)
{
    struct flags_question *q = arg;

    return flags_find(vm, q->asked, q->n);
}

int hotspot_vm_flags(struct hotspot_vm *vm, struct hotspot_flag *flags, size_t n)
{
    struct flags_question q = { .n = MIN(n, ARRAY_SIZE(q.asked)) };
    int r;

    memcpy(q.asked, flags, q.n * sizeof(*flags));
    r = vm_call(vm, run_flags, &q, sizeof(q));
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    if (r != 0 && r != -EBADMSG && r != -EFAULT) /* no statement about the table */
        return -EAGAIN;
    memcpy(flags, q.asked, q.n * sizeof(*flags));
    return 0;
}

int hotspot_vm_flag(struct hotspot_vm *vm, const char *name, uint64_t *ret)
{
    struct hotspot_flag flag = { .name = name };
    int r = hotspot_vm_flags(vm, &flag, 1);

    if (r == 0 && flag.known)
        *ret = flag.value;
    return r == 0 && !flag.known ? -ENOENT : r;
}
