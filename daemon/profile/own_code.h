/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Java code is an application's own, and which is of the JDK, a language or a framework. The
 * page has the same rule (web/shared/packages.js). Pure; thread: any.
 */
#pragma once

#include "profile/profile.h"

#define OWN_CODE_MAINS_MAX 16
#define OWN_CODE_PARTS 3 /* of a main class's package: org.apache.kafka is of Kafka */

/* Packages that are an application's own although a library has them: of main classes. */
struct own_code {
    struct span mains[OWN_CODE_MAINS_MAX]; /* point into the profile */
    size_t count;
};

/* Collects them of the processes of @p, which outlives *ret. Beyond the limit the others count as a
 * library's. */
void own_code_init(const struct profile *p, struct own_code *ret);
/* Returns whether class @class_name, such as "shop.Cart", is an application's own. */
bool own_code_has(const struct own_code *own, struct span class_name);
