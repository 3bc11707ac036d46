/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the places for the probes of event safepoint in a libjvm.so: eleven marks (USDT), found by
 * name. Pure but for reads of the file; thread: any.
 */
#pragma once

#include "sample/sampler_moments.h"

/* Finds the places in the file @fd, which is borrowed. Return: 0 and *ret_count. BROKER_ABSENT: the
 * file lacks required marks. -errno with @err. */
int moment_places_find(int fd, struct moment_probe ret[MOMENT_PLACES_MAX], uint32_t *ret_count,
                       struct error *err);
