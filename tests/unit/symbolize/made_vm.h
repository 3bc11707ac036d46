/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM of our own making, in place of hotspot/: it has one piece of code, and counts what it is
 * asked for. */
#pragma once

#include "hotspot/code/code.h"
#include "hotspot/hotspot.h"

extern struct made_vm {
    struct hotspot_code code;
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    bool jvmci; /* its code of level 4 is compiled so */
    int locations;
    bool gone, empty;
    const char *class_name;
    uint64_t const_method;
    unsigned finds, stills, locates, reads, lists, singles, prepared, prepared_code, checks;
    bool counts; /* the classes that it unloads: */
    uint64_t unloads;
    bool redefines; /* or may */
} jvm;

extern struct made_thread {
    int32_t ns_tid;
    const char *name;
} threads[4];

extern struct hotspot_vm *const VM; /* stands for jvm */
