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
    enum hotspot_flag_type type;
    uint8_t width;
    bool sign;
} FLAG_TYPES[] = {
    { "bool", HOTSPOT_FLAG_BOOL, 1, false },    { "int", HOTSPOT_FLAG_INT, 4, true },
    { "uint", HOTSPOT_FLAG_UINT, 4, false },    { "intx", HOTSPOT_FLAG_INT, 8, true },
    { "uintx", HOTSPOT_FLAG_UINT, 8, false },   { "uint64_t", HOTSPOT_FLAG_UINT, 8, false },
    { "size_t", HOTSPOT_FLAG_UINT, 8, false },  { "double", HOTSPOT_FLAG_DOUBLE, 8, false },
    { "ccstr", HOTSPOT_FLAG_STRING, 8, false }, { "ccstrlist", HOTSPOT_FLAG_STRING, 8, false },
};

/* Index in FLAG_TYPES of what the flag's type column holds, or -errno. */
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

static int flag_value(struct hotspot_vm *vm, int type, uint64_t at, uint64_t *ret)
{
    unsigned width = FLAG_TYPES[type].width;
    uint64_t v;
    int r = memory_number(&vm->memory, at, width, &v);

    if (r < 0)
        return r;
    *ret = FLAG_TYPES[type].sign && width == 4 ? (uint64_t)(int64_t)(int32_t)v : v;
    return 0;
}

/* @only: reads the value of that flag alone. */
static int flags_walk(struct hotspot_vm *vm, const char *only, hotspot_flag_fn fn, void *cookie)
{
    const struct hotspot_layout *l = &vm->layout;
    size_t size = l->sizeof_Flag ? l->sizeof_Flag : l->sizeof_JVMFlag;
    uint64_t table, count;
    int r;

    if (vm_is_left(vm))
        return -ETIMEDOUT;
    memory_begin(&vm->memory);
    if (size > FLAG_BYTES_MAX)
        return -EBADMSG;
    r = memory_u64(&vm->memory, l->flags_at, &table);
    if (r == 0)
        r = memory_u64(&vm->memory, l->flag_count_at, &count);
    for (uint64_t i = 0; r == 0 && i < MIN(count, FLAGS_MAX); i++) {
        char name[FLAG_NAME_MAX];
        struct hotspot_flag f = { .name = name };
        uint8_t row[FLAG_BYTES_MAX];
        uint64_t name_at;
        int type;

        r = memory_read(&vm->memory, table + i * size, row, size);
        if (r < 0)
            return r;
        name_at = (uint64_t)layout_get(l->flag_name, row, size);
        if (name_at == 0) /* the last one */
            break;
        r = (int)MIN(memory_string(&vm->memory, name_at, name, sizeof(name)), 0);
        if (r < 0)
            return r;
        if (only && strcmp(name, only) != 0)
            continue;
        type = flag_type(vm, row, size);
        r = type < 0 ? type
                     : flag_value(vm, type,
                                  (uint64_t)layout_get(
                                      (struct layout_field){ l->flag_address.offset, 8, false },
                                      row, size),
                                  &f.value);
        if (r == -EBADMSG || r == -EFAULT) {
            r = 0;
            continue;
        }
        if (r < 0)
            return r;
        f.type = FLAG_TYPES[type].type;
        r = fn(cookie, &f);
    }
    return r;
}

int hotspot_vm_flags(struct hotspot_vm *vm, hotspot_flag_fn fn, void *cookie)
{
    int r = flags_walk(vm, NULL, fn, cookie);

    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}

struct flag_query {
    uint64_t value;
    bool found;
};

static int flag_see(void *cookie, const struct hotspot_flag *f)
{
    struct flag_query *q = cookie;

    if (f->type == HOTSPOT_FLAG_STRING || f->type == HOTSPOT_FLAG_DOUBLE)
        return 1;
    q->value = f->value;
    q->found = true;
    return 1;
}

int hotspot_vm_flag(struct hotspot_vm *vm, const char *name, uint64_t *ret)
{
    struct flag_query q = { 0 };
    int r = flags_walk(vm, name, flag_see, &q);

    if (r == -ESRCH)
        return HOTSPOT_GONE;
    if (!q.found)
        return -ENOENT;
    *ret = q.value;
    return 0;
}
