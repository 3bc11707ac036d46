/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods of one JVM by their addresses, with their names and routes, read through hotspot/ and
 * kept. An address alone does not identify a method. Thread: the engine's.
 */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/hotspot.h"
#include "profile/frame.h"

/* A class that is loaded after another was unloaded often lies in the very same memory. A method's
 * name holds for samples until this long after it was read. */
#define JAVA_METHOD_TRUST_NS (3 * NSEC_PER_MSEC)
/* How long results hold while the JVM unloads no class and can redefine none. The name of a
 * permanent stub holds this long, too. */
#define JAVA_STEADY_NS (300 * NSEC_PER_SEC)
/* How long a method's route holds: it ends if a subclass is loaded. */
#define JAVA_ROUTE_TRUST_NS (10 * NSEC_PER_SEC)
/* The shortest time between questions for routes of methods at one address. */
#define JAVA_ROUTE_RETRY_NS NSEC_PER_SEC
#define JAVA_METHODS_MAX (1u << 17) /* of one JVM; when full, all are read again */

/* Private to java_methods.c but for @named, the number of methods that were named. */
struct java_methods {
    struct frame_table *frames; /* borrowed */
    struct u64_cache index;     /* Method* -> list */
    struct java_method *list;   /* [count] */
    size_t count, cap;
    uint64_t named;
    uint64_t unloads; /* classes that the JVM had unloaded, as read first and last: */
    uint64_t steady_from_ns, steady_to_ns;
    bool uncounted; /* the JVM does not count unloaded classes, or may redefine classes */
};

/* Whether a known result must be read again. */
enum java_want {
    JAVA_KNOWN,
    JAVA_EXPIRED, /* unless java_methods_check_steady() confirms it */
    JAVA_UNKNOWN,
};

void java_methods_init(struct java_methods *t, struct frame_table *frames);
void java_methods_deinit(struct java_methods *t);

/* Returns the function id of the method at @method at @at_ns; 0: none. Reads the method again if
 * the last reading is not recent; @vm may be NULL. Its names show whether the memory still is that
 * method. */
uint32_t java_methods_function(struct java_methods *t, struct hotspot_vm *vm, uint64_t method,
                               uint64_t at_ns, uint64_t now_ns);
/* Returns whether the method at @method must be read again for a sample of @at_ns. */
enum java_want java_methods_want(const struct java_methods *t, uint64_t method, uint64_t at_ns);
/* Reads how many classes the JVM has unloaded, at @at_ns or later. Results read from @now_ns on are
 * then known to be of that time or later. Returns false if this JVM does not count
 * them. */
bool java_methods_check_steady(struct java_methods *t, struct hotspot_vm *vm, uint64_t at_ns,
                               uint64_t now_ns);
