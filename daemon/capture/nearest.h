/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the names that are most similar to a wanted one. Names are the container's choice, so the
 * work is bounded for any. Pure. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NEAREST_TEXTS_MAX 5
#define NEAREST_NAMES_MAX 256 /* compared names; further ones must contain the wanted name */

/* Initialize as { .wanted = ... }. The nearest names come first. */
struct nearest {
    const char *wanted; /* NULL: all names are equally near */
    unsigned found;
    struct {
        unsigned distance;
        char text[128];
    } best[NEAREST_TEXTS_MAX];
    struct {
        uint64_t hash;
        unsigned distance;
    } names[NEAREST_NAMES_MAX];
    unsigned name_count;
    unsigned computed; /* number of distances computed, of names and of their parts */
};

/* Keeps @text if @name or @other is among the nearest to the wanted name. */
void nearest_keep(struct nearest *n, const char *text, const char *name, const char *other);
/* Writes the nearest with commas between them, as far as @buf has room. */
void nearest_text(const struct nearest *n, char *buf, size_t size);
