/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs that are loaded beside those of sampler.h, once an event asks for them: one row
 * of the table each. Their maps are the sampler's.
 */
#pragma once

#include "event/event_kind.h"
#include "sample/sampler_shared.h"

struct error;
struct loader;
struct sampler;

struct program_type {
    /* Checks whether this kernel can load it. 0, or -errno with @err. NULL: nothing to check. */
    int (*check)(const struct sampler *s, struct error *err);
    /* Loads, which takes about a second; borrows @shared. Thread: the loader's. */
    int (*load)(const struct sampler_shared *shared, void **ret, struct error *err);
    void (*free)(void *loaded);
    /* Hands it to @s, which frees it. @loader: takes probes out later. */
    void (*take)(struct sampler *s, void *loaded, struct loader *loader);
};

/* Without a row for those that are loaded otherwise. */
extern const struct program_type PROGRAMS[PROGRAM_COUNT];
