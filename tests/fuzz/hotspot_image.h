/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A piece of a JVM's memory in a file, and everything that hotspot/ can be asked about it. Shared
 * by the fuzz target, the unit test and the program that records such files.
 *
 * The file: "HSI1"; u64 address of libjvm; u32 count and as many u64 program counters (bit 63: a
 * return address); then until the end u64 address, u32 length, bytes. Other bytes of a page that
 * has some are 0; other pages are unmapped.
 */
#pragma once

#include "base/span.h"

#define IMAGE_PAGES_MAX 1024
#define IMAGE_PCS_MAX 64
#define IMAGE_RETURN (UINT64_C(1) << 63)

struct image_page {
    uint64_t address;
    uint8_t bytes[4096];
};

struct image {
    uint64_t base;
    uint64_t pcs[IMAGE_PCS_MAX];
    size_t pc_count;
    struct image_page *pages; /* owned */
    size_t page_count, page_cap;
    int record_fd; /* > 0: /proc/PID/mem, from which missing pages are taken */
};

/* Reads @file; false when it is no image. Owned parts are freed by image_deinit() either way. */
bool image_parse(struct span file, struct image *ret);
void image_deinit(struct image *i);
/* The page at @address (aligned), made when it is not there and @make. */
struct image_page *image_page(struct image *i, uint64_t address, bool make);
/* A memory_read_fn over an image. */
ssize_t image_read(void *cookie, uint64_t address, void *buf, size_t n);

/* Asks for everything and folds all answers into one number: equal images give equal numbers. */
uint64_t image_exercise(struct image *i);
