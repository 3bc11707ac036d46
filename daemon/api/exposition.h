/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lines of Prometheus text. Each function appends to @out; out->error is set if there is no
 * room. Thread: any. */
#pragma once

#include "base/buf.h"
#include "discover/discover.h"

/* Appends the two lines before a family: a counter if @name ends in _total, else a gauge. */
void metric_head(struct buf *out, const char *name, const char *help);
/* Appends the two lines before a family of histograms. */
void metric_head_histogram(struct buf *out, const char *name, const char *help);
/* Appends @value and the end of the line. */
void metric_value(struct buf *out, double value);
/* Appends @ns in seconds and the end of the line. */
void metric_seconds(struct buf *out, uint64_t ns);
/* Appends a family of one line without labels. */
#define metric(out, name, help, value) metric_family(out, name, help, (double)(value))
void metric_family(struct buf *out, const char *name, const char *help, double value);
/* Appends a family with one line for each { text, number }: the value of @label, and the number. */
#define metric_by(out, name, help, label, ...)                                                     \
    metric_family_by(out, name, help, label, (const struct metric_line[]){ __VA_ARGS__ },          \
                     ARRAY_SIZE(((struct metric_line[]){ __VA_ARGS__ })))
struct metric_line {
    const char *text;
    uint64_t count;
};
void metric_family_by(struct buf *out, const char *name, const char *help, const char *label,
                      const struct metric_line *lines, size_t n);
/* Appends one label with its value, escaped. */
void metric_label(struct buf *out, const char *name, const char *value);
/* Appends the labels of JVM @p: pid, main, container, pod, namespace, service. Thread: the
 * engine's. */
void metric_jvm_labels(struct buf *out, const struct process *p);
