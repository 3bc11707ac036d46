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
#define SAMPLER_DETUNED 512 /* share of the period that a timer's differs: 0.2 % */

/* An event in the kernel's terms. */
struct sampler_event {
    const struct event_info *info;
    enum event_program program; /* the event's own, or PROGRAM_YIELDS */
    bool picks;      /* the BPF program, not the kernel, counts events up to the period */
    bool everywhere; /* one event sees all CPUs: a tracepoint */
    char name[EVENT_NAME_BYTES];
    char filter[EVENT_FILTER_MAX + 1]; /* filter of a tracepoint; "": none */
    struct perf_event_attr attr;       /* all attributes but the period */
};

/* Describes the event @text, or the row @kind if @text is empty. @devices_fd: PMU_DEVICES, or -1.
 * Return: 0. -EINVAL, -ENOENT, -EOPNOTSUPP with @err. May read files of sysfs and tracefs. */
int sampler_describe(enum event_kind kind, struct span text, int devices_fd,
                     struct sampler_event *ret, struct error *err);

/* Translates the filter of @event, if it has one, for the BPF program. The caller frees *ret. 0;
 * -EINVAL with @err: it is no filter. */
int sampler_translate_filter(const struct sampler_event *event, struct point_filter **ret,
                             struct error *err);

/* Parses a CPU list (0-3,8 and a line's end) into @ret_cpus (room for SAMPLER_CPUS_MAX). Returns
 * the number of CPUs, or -EBADMSG. */
int sampler_parse_cpus(struct span text, uint32_t *ret_cpus);
/* Gets the CPUs that are online now. Returns their number, or -errno. */
int sampler_online_cpus(uint32_t *ret_cpus, struct error *err);

/* Checks that the kernel delivers a sample every @period, in the event's unit, without throttling.
 * 0; -ERANGE with the limit and its remedy in @err. */
int sampler_check_period(const struct sampler_event *event, uint64_t period, struct error *err);
/* Returns the period with which the kernel samples @event on @cpu instead of @period. A timer gets
 * a slightly longer or shorter one. Else it would keep step with work that repeats in round times,
 * and hit it too often, or never. */
uint64_t sampler_period_on(const struct sampler_event *event, uint32_t cpu, uint64_t period);
/* Opens the event on @cpu, disabled until a program is attached and it is enabled. Return: an fd
 * that the caller owns. -ENODEV: the CPU is offline. -ENOENT: the machine does not have the event.
 * -EINVAL: also if the kernel does not accept its filter. -errno with a remedy. */
int sampler_open_event(const struct sampler_event *event, uint32_t cpu, uint64_t period,
                       struct error *err);
