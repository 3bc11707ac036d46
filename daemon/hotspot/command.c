/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of the JVM, as it keeps it: main class or jar with arguments, and its own
 * arguments.
 */
#include "hotspot/vm.h"

#define ARGUMENTS_MAX 4096
#define STRING_STEP 512

/* Appends the C string at @at, cut to @max bytes. Returns its bytes, or -errno. */
static ssize_t command_string(struct hotspot_vm *vm, uint64_t at, size_t max, struct buf *ret)
{
    size_t total = 0;

    while (total < max) {
        char part[STRING_STEP + 1];
        size_t size = MIN(max - total, (size_t)STRING_STEP) + 1;
        ssize_t n = memory_string(&vm->memory, at + total, part, size);

        if (n < 0)
            return n;
        buf_add(ret, part, (size_t)n);
        total += (size_t)n;
        if ((size_t)n + 1 < size)
            break;
    }
    return (ssize_t)total;
}

static int command_outcome(int r, const struct buf *b)
{
    if (r == -ESRCH)
        return HOTSPOT_GONE;
    if (r < 0)
        return -ENOENT;
    return b->error;
}

int hotspot_vm_command(struct hotspot_vm *vm, size_t max, struct buf *ret)
{
    uint64_t at;
    int r;

    if (vm_is_left(vm))
        return -ENOENT;
    memory_begin(&vm->memory);
    r = memory_u64(&vm->memory, vm->layout.java_command_at, &at);
    if (r == 0 && at == 0)
        r = -ENOENT;
    if (r == 0)
        r = (int)MIN(command_string(vm, at, max, ret), 0);
    return command_outcome(r, ret);
}

int hotspot_vm_arguments(struct hotspot_vm *vm, size_t max, struct buf *ret)
{
    uint64_t array, at;
    uint32_t count;
    int r;

    if (vm_is_left(vm))
        return -ENOENT;
    memory_begin(&vm->memory);
    r = memory_u64(&vm->memory, vm->layout.jvm_args_at, &array)
            ?: memory_u32(&vm->memory, vm->layout.jvm_arg_count_at, &count);
    if (r == 0 && (array == 0 || count > INT32_MAX))
        count = 0;
    for (uint32_t i = 0; r == 0 && i < MIN(count, (uint32_t)ARGUMENTS_MAX) && max > 0; i++) {
        ssize_t n;

        if (i > 0) {
            buf_add_char(ret, '\0');
            max--;
        }
        r = memory_u64(&vm->memory, array + (uint64_t)i * 8, &at);
        if (r < 0)
            break;
        n = command_string(vm, at, max, ret);
        r = (int)MIN(n, 0);
        max -= (size_t)MAX(n, 0);
    }
    return command_outcome(r, ret);
}
