/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds loaded classes by their names. One walk over the VM's class loaders finds all of them.
 * Internal to hotspot/. Call inside a reading of the VM (call.c).
 */
#pragma once

#include "hotspot/vm.h"

#define CLASSES_WANTED_MAX 64
#define CLASSES_NAME_MAX 160
#define CLASSES_SAME_MAX 4 /* classes with the same name, by different loaders */

/* A class to find. */
struct class_wanted {
    char name[CLASSES_NAME_MAX]; /* in internal form, with slashes */
    uint64_t klasses[CLASSES_SAME_MAX];
    unsigned count;
};

struct classes {
    struct class_wanted wanted[CLASSES_WANTED_MAX];
    unsigned count;
    bool partial; /* the last walk did not read all: classes changed or were freed, or there are
                     more than its limits */
};

/* Adds @name, unless it is already wanted. Returns its index, or -ENOSPC if there is no room or the
 * name is too long. */
int classes_want(struct classes *c, const char *name);
/* Finds all wanted classes, and sets c->partial. A class that is being loaded may be missing.
 * Returns 0, -ESRCH or -errno. */
int classes_find(struct hotspot_vm *vm, struct classes *c);
