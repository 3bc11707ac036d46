/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a PMU by terms ("cpu/event=0x3c,umask=1/"), which the kernel describes in
 * /sys/bus/event_source/devices: the number of the PMU, and the bits of each term. Thread: any.
 */
#pragma once

#include "base/error.h"
#include "event/event_form.h"

#include <linux/perf_event.h>

#define PMU_DEVICES "/sys/bus/event_source/devices"

/* Fills type, config, config1 and config2 of @attr for @form, an EVENT_PMU, from the folder
 * @devices_fd. Return: 0. -ENOENT: there is no such PMU, term or event. -EINVAL: a value is too
 * large for its bits. -EOPNOTSUPP: the PMU counts the whole machine, and not one processor. Each
 * with @err. */
int pmu_resolve(int devices_fd, const struct event_form *form, struct perf_event_attr *attr,
                struct error *err);
