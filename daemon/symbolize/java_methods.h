/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of one JVM by their addresses, with their names and routes, read through hotspot/ and
 * then kept. An address alone does not identify a method. Thread: the engine's.
 */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/hotspot.h"
#include "profile/frame.h"

/* A class that is loaded after another was unloaded often lies in the same memory. So a method's
 * name is valid only for samples up to this time after its reading. */
#define JAVA_METHOD_TRUST_NS (3 * NSEC_PER_MSEC)
/* How long results are valid while the JVM unloads no class and can redefine none. The name of a
 * permanent stub is valid for the same time. */
#define JAVA_STEADY_NS (300 * NSEC_PER_SEC)
/* How long a method's route is valid. Loading a subclass may change it. */
#define JAVA_ROUTE_TRUST_NS (10 * NSEC_PER_SEC)
/* The shortest time between two requests for routes of methods at one address. */
#define JAVA_ROUTE_RETRY_NS NSEC_PER_SEC
/* How long after the time of a sample its JVM's unloaded classes were counted, at most. */
#define JAVA_COUNTED_NS (50 * NSEC_PER_MSEC)
#define JAVA_METHODS_MAX (1u << 17) /* methods of one JVM; when full, all are read again */

/* Private to java_methods.c, except @named, the number of methods that were named. */
struct java_methods {
    struct frame_table *frames; /* borrowed */
    struct u64_cache index;     /* Method* -> list */
    struct java_method *list;   /* [count] */
    size_t count, cap;
    uint64_t named;
    uint64_t unloads; /* classes that the JVM had unloaded at both of these times: */
    uint64_t steady_from_ns, steady_to_ns;
    bool uncounted; /* the JVM does not count unloaded classes, or may redefine classes */
};

/* Whether a known result has to be read again. */
enum java_want {
    JAVA_KNOWN,
    JAVA_EXPIRED, /* it has to, unless java_methods_check_steady() confirms it */
    JAVA_UNKNOWN,
};

void java_methods_init(struct java_methods *t, struct frame_table *frames);
void java_methods_deinit(struct java_methods *t);

/* Returns the function id of the method at @method at @at_ns; 0: none. Reads the method again if
 * the last reading is not recent; @vm may be NULL. The names show whether the same method is still
 * at that address. */
uint32_t java_methods_function(struct java_methods *t, struct hotspot_vm *vm, uint64_t method,
                               uint64_t at_ns, uint64_t now_ns);
/* Returns whether the method at @method must be read again for a sample of @at_ns. */
enum java_want java_methods_want(const struct java_methods *t, uint64_t method, uint64_t at_ns);
/* Notes that the JVM had unloaded @unloads classes soon after @at_ns, the time of a sample, and
 * could redefine none. While the number is unchanged, earlier results are valid up to that time. */
void java_methods_see_unloads(struct java_methods *t, uint64_t unloads, uint64_t at_ns);
/* Reads how many classes the JVM has unloaded, at @at_ns or later. If the number has not changed,
 * earlier results are valid up to that time. Returns false if this JVM does not count unloaded
 * classes. */
bool java_methods_check_steady(struct java_methods *t, struct hotspot_vm *vm, uint64_t at_ns,
                               uint64_t now_ns);
