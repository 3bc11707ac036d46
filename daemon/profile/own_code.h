/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Separates an application's own Java code from that of the JDK, a language or a framework. The
 * page has the same rule (web/shared/packages.js). Pure; thread: any.
 */
#pragma once

#include "profile/profile.h"

#define OWN_CODE_MAINS_MAX 16
/* parts of a main class's package that count: org.apache.kafka for Kafka */
#define OWN_CODE_PARTS 3

/* Packages of main classes. They are an application's own code even if they are in the list of
 * libraries. */
struct own_code {
    struct span mains[OWN_CODE_MAINS_MAX]; /* point into the profile */
    size_t count;
};

/* Collects the packages of the main classes in @p, which outlives *ret. Packages beyond the limit
 * count as libraries. */
void own_code_init(const struct profile *p, struct own_code *ret);
/* Returns whether class @class_name, such as "shop.Cart", is an application's own. */
bool own_code_has(const struct own_code *own, struct span class_name);
