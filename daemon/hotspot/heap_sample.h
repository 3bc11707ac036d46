/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classes of the objects in some pages of the Java heap: a histogram from outside, while the
 * JVM runs. Objects that are dead but not yet collected count, too. Only headers are used, and
 * copies of pages do not outlive the call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HEAP_SAMPLE_PAGES 256                   /* pages read for one sample */
#define HEAP_SAMPLE_CLASSES 16                  /* named classes: those with the most bytes */
#define HEAP_SAMPLE_BEFORE_BYTES (16UL << 10)   /* read before a page: an object may begin there */
#define HEAP_SAMPLE_PAGE_BYTES_MAX (64UL << 10) /* with larger pages there is no sample */
#define HEAP_CLASS_NAME_BYTES 160 /* raw, as hotspot_class_name(); longer ones are cut */

/* A page in memory. @before_bytes: number of bytes right before it that are in memory, too. */
struct heap_page {
    uint64_t at;
    uint32_t before_bytes; /* a multiple of 8; up to HEAP_SAMPLE_BEFORE_BYTES */
};

struct heap_sample_class {
    char name[HEAP_CLASS_NAME_BYTES];
    uint64_t bytes; /* bytes of the class's objects within the pages */
};

struct heap_sample {
    uint32_t pages;       /* pages read; 0: there is no sample */
    uint64_t bytes;       /* bytes of the pages read */
    uint64_t known;       /* bytes of all objects found; the rest is free, or inside large arrays */
    uint32_t class_count; /* number of classes; the class with the most bytes comes first */
    struct heap_sample_class classes[HEAP_SAMPLE_CLASSES];
};

struct hotspot_vm;

/* Reads the @count pages at @pages in one reading, HEAP_SAMPLE_PAGES at most. Pages that are gone
 * by then are left out. Return: 0; -ENOENT: the tables of this VM lack a needed field; -ETIMEDOUT:
 * the reading has not returned; HOTSPOT_GONE; -errno. Thread: the owner of @vm. */
int hotspot_vm_heap_sample(struct hotspot_vm *vm, const struct heap_page *pages, size_t count,
                           size_t page_bytes, struct heap_sample *ret);
