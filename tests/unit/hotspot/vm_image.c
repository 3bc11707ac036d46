/* SPDX-License-Identifier: Apache-2.0 */
#include "vm_image.h"
#include "suite.h"

static uint64_t words[VM_IMAGE_BYTES / 8];

static ssize_t read_image(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    if (address < VM_IMAGE || address - VM_IMAGE >= sizeof(words))
        return -EIO;
    n = MIN(n, sizeof(words) - (address - VM_IMAGE));
    memcpy(buf, vm_image_at(address), n);
    return (ssize_t)n;
}

struct hotspot_vm *vm_image_new(void)
{
    struct hotspot_vm *vm = calloc(1, sizeof(*vm));

    ck_assert_ptr_nonnull(vm);
    memset(words, 0, sizeof(words));
    atomic_init(&vm->users, 1);
    memory_init(&vm->memory, read_image, NULL);
    return vm;
}

uint8_t *vm_image_at(uint64_t address)
{
    ck_assert(address >= VM_IMAGE && address - VM_IMAGE < VM_IMAGE_BYTES);
    return (uint8_t *)words + (address - VM_IMAGE);
}

void vm_image_put(uint64_t address, uint64_t word)
{
    memcpy(vm_image_at(address), &word, sizeof(word));
}

void vm_image_put_int(uint64_t address, uint32_t value)
{
    memcpy(vm_image_at(address), &value, sizeof(value));
}

void vm_image_symbol(uint64_t address, const char *name, size_t gap)
{
    uint16_t n = (uint16_t)strlen(name);

    memcpy(vm_image_at(address), &n, sizeof(n));
    memcpy(vm_image_at(address) + sizeof(n) + gap, name, n);
}

struct layout_field vm_image_field(int32_t offset, uint8_t width)
{
    return (struct layout_field){ .offset = offset, .width = width };
}
