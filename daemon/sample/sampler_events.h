/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the perf events that make samples: one per CPU, never per thread. Inside sample/ only. */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "event/event_form.h"
#include "event/events.h"
#include "sample/point_abi.h"

#include <linux/perf_event.h>

#define SAMPLER_CPUS_MAX 4096

/* An event as the kernel wants it described. */
struct sampler_event {
    const struct event_info *info;
    bool picks;      /* the BPF program counts to the period, and not the kernel */
    bool everywhere; /* one event sees all CPUs: a tracepoint */
    char name[EVENT_NAME_BYTES];
    char filter[EVENT_FILTER_MAX + 1]; /* of a tracepoint; "": none */
    struct perf_event_attr attr;       /* but for the period */
};

/* Describes the event @text, or, where that is empty, the row @kind. @devices_fd: PMU_DEVICES, or
 * -1. Return: 0. -EINVAL, -ENOENT, -EOPNOTSUPP with @err. May read files of sysfs and tracefs. */
int sampler_describe(enum event_kind kind, struct span text, int devices_fd,
                     struct sampler_event *ret, struct error *err);

/* Translates the filter of @event, if it has one, for the BPF program. *ret is for the caller to
 * free. 0; -EINVAL: it is no filter, as @err says. */
int sampler_translate_filter(const struct sampler_event *event, struct point_filter **ret,
                             struct error *err);

/* Parses a CPU list ("0-3,8\n") into @ret_cpus (room for SAMPLER_CPUS_MAX). Number of CPUs, or
 * -EBADMSG. */
int sampler_parse_cpus(struct span text, uint32_t *ret_cpus);
/* Gets the CPUs that are online now. Number, or -errno. */
int sampler_online_cpus(uint32_t *ret_cpus, struct error *err);

/* 0 if the kernel delivers a sample every @period, in the event's unit, without throttling; -ERANGE
 * with the limit and its remedy in @err. */
int sampler_check_period(const struct sampler_event *event, uint64_t period, struct error *err);
/* Opens the event on @cpu, disabled until a program is attached and it is enabled. Return: an fd
 * the caller owns. -ENODEV: the CPU is offline. -ENOENT: the machine does not have the event.
 * -EINVAL also where the kernel does not take its filter. -errno with a remedy. */
int sampler_open_event(const struct sampler_event *event, uint32_t cpu, uint64_t period,
                       struct error *err);
