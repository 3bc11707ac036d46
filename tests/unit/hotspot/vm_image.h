/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a made-up JVM: zeros that a test fills, at one address. Nothing else is mapped, and
 * no layout is known.
 */
#pragma once

#include "hotspot/vm.h"

#define VM_IMAGE UINT64_C(0x7f0000000000) /* address */
#define VM_IMAGE_BYTES ((size_t)0x9000)

/* Starts a test: clears the memory. Returns a JVM of that memory, to free by vm_unref(). */
struct hotspot_vm *vm_image_new(void);
/* Returns the byte at @address. */
uint8_t *vm_image_at(uint64_t address);
/* Puts a word, or 4 bytes, at @address. */
void vm_image_put(uint64_t address, uint64_t word);
void vm_image_put_int(uint64_t address, uint32_t value);
/* Puts the Symbol @name at @address: its length in 2 bytes, and @gap bytes behind the length the
 * text. */
void vm_image_symbol(uint64_t address, const char *name, size_t gap);
/* Returns the description of a field of @width bytes at @offset. */
struct layout_field vm_image_field(int32_t offset, uint8_t width);
