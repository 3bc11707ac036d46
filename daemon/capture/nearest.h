/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of many names, those that are most alike one that was asked for. Names are a container's to
 * choose: the work is bounded whatever they are. Pure. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NEAREST_TEXTS_MAX 5
#define NEAREST_NAMES_MAX 256 /* compared; further ones count only if they hold what is wanted */

/* { .wanted = ... } is an empty one. The nearest come first. */
struct nearest {
    const char *wanted; /* NULL: nothing is nearer than another */
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
    unsigned computed; /* distances, of a name or a part of it */
};

/* Keeps @text if it is among the nearest; @name, @other: what it may have been meant by. */
void nearest_keep(struct nearest *n, const char *text, const char *name, const char *other);
/* Writes the nearest with commas between them, as far as @buf has room. */
void nearest_text(const struct nearest *n, char *buf, size_t size);
