/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in its memory a JVM keeps what, by the VM's own tables: bounds, and nothing of what is in
 * them. The JVM may say anything: a range is only a claim. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define VM_AREAS_CODE_MAX 8        /* HotSpot has one to four code heaps */
#define VM_AREAS_METASPACE_MAX 512 /* ranges; what is beyond is not known as metaspace */
#define VM_AREAS_STACKS_MAX 4096   /* of Java threads; what is beyond is counted */

struct vm_range {
    uint64_t start, end; /* equal: not known */
};

struct vm_areas {
    struct vm_range heap;                    /* reserved; not told by ZGC */
    struct vm_range cards;                   /* the collector's card table, reserved; 11 and up */
    struct vm_range code[VM_AREAS_CODE_MAX]; /* code heaps, reserved */
    size_t code_count;
    /* Around what classes point to, ascending; the files of archives may lie there, too. */
    struct vm_range metaspace[VM_AREAS_METASPACE_MAX];
    size_t metaspace_count;
    uint64_t class_base;                         /* of compressed class pointers; 0: not known */
    uint64_t class_space;                        /* bytes reserved; 0: none */
    struct vm_range stacks[VM_AREAS_STACKS_MAX]; /* of Java threads, in no order */
    size_t stack_count;
    size_t left_out; /* Java threads beyond them */
};

struct hotspot_vm;

/* Reads them now, in one reading: a page for each Java thread. @classes: a number that is another
 * one once classes came or went, so that metaspace is looked for then alone; 0: each time. 0;
 * -ETIMEDOUT: it has not come back; HOTSPOT_GONE; -errno. Thread: that of @vm. */
int hotspot_vm_areas(struct hotspot_vm *vm, uint64_t classes, struct vm_areas *ret);
