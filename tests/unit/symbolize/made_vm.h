/* SPDX-License-Identifier: Apache-2.0 */
/* A fake JVM in place of hotspot/. It has one piece of code, and counts its calls. */
#pragma once

#include "hotspot/code/code.h"
#include "hotspot/hotspot.h"

/* Calls that read the memory of a JVM, and so may have no answer. */
enum made_call {
    MADE_NONE,
    MADE_STILL,
    MADE_FIND,
    MADE_LOCATE,
    MADE_METHOD,
    MADE_LINE,
    MADE_BCI,
    MADE_CALLS,
};

#define MADE_NATIVE 0x500 /* address of its native method */

extern struct made_vm {
    struct hotspot_code code;
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    bool jvmci; /* true: a JVMCI compiler made its level-4 code */
    int locations;
    bool gone, empty;
    enum made_call late; /* it has no answer in time */
    uint64_t unanswered;
    const char *class_name;
    uint64_t const_method;
    const char *route; /* of each method; NULL: they have no annotations */
    int route_error;
    int list_result; /* < 0: the list of threads cannot be read */
    unsigned finds, stills, locates, reads, route_reads, lists, singles, prepared, prepared_code,
        checks;
    bool counts; /* true: it counts unloaded classes */
    uint64_t unloads;
    bool redefines; /* true: it redefines classes, or may */
} jvm;

extern struct made_thread {
    int32_t ns_tid;
    const char *name;
} threads[4];

extern struct hotspot_vm *const VM; /* the address of jvm */
