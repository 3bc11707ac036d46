/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of /proc/PID/pagemap, eight bytes for each page (Linux 4.2 and up). Pure; thread:
 * any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page_counts {
    uint64_t resident; /* in memory; private to the process, or of a file */
    uint64_t lone;     /* in memory, not of a file, and shared: the kernel's page of zeros, or a
                        * page shared by a fork */
    uint64_t swapped;
};

/* Returns whether the page of @entry is `resident`. */
bool pagemap_is_resident(uint64_t entry);
/* Adds the @n pages of @entries to *@c. */
void pagemap_count(const uint64_t *entries, size_t n, struct page_counts *c);
