/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds of the memory areas of a JVM, from the VM's own tables; contents are not read. The tables
 * are foreign: a range is only a claim. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define VM_AREAS_CODE_MAX 8        /* HotSpot has one to four code heaps */
#define VM_AREAS_METASPACE_MAX 512 /* ranges; further blocks count as no metaspace */
#define VM_AREAS_STACKS_MAX 4096   /* stacks of Java threads; further ones are counted */

struct vm_range {
    uint64_t start, end; /* equal: unknown */
};

struct vm_areas {
    struct vm_range heap;                    /* reserved; unknown with ZGC */
    struct vm_range cards;                   /* the collector's card table, reserved; 11 and up */
    struct vm_range code[VM_AREAS_CODE_MAX]; /* code heaps, reserved */
    size_t code_count;
    /* Blocks around the metadata that classes point to, ascending. Files of archives may lie there,
     * too. */
    struct vm_range metaspace[VM_AREAS_METASPACE_MAX];
    size_t metaspace_count;
    uint64_t class_base;                         /* base of compressed class pointers; 0: unknown */
    uint64_t class_space;                        /* bytes reserved; 0: none */
    struct vm_range stacks[VM_AREAS_STACKS_MAX]; /* of Java threads, in no order */
    size_t stack_count;
    size_t left_out; /* Java threads beyond VM_AREAS_STACKS_MAX */
};

struct hotspot_vm;

/* Reads the areas in one reading: a page for each Java thread. @classes is a number that changes
 * when classes are loaded or unloaded; metaspace is then searched again. 0: metaspace is searched
 * always. Return: 0; -ETIMEDOUT: the reading has not returned; HOTSPOT_GONE; -errno. Thread: the
 * owner of @vm. */
int hotspot_vm_areas(struct hotspot_vm *vm, uint64_t classes, struct vm_areas *ret);
