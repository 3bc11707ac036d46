/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lines of Prometheus text. Each function appends to @out, which has the error if there is
 * no room. Thread: any. */
#pragma once

#include "base/buf.h"
#include "discover/discover.h"

/* Appends the two lines before a family; @type: "gauge", "counter". */
void metric_head(struct buf *out, const char *name, const char *type, const char *help);
/* Appends @value and the end of the line. */
void metric_value(struct buf *out, double value);
/* Appends @ns in seconds and the end of the line. */
void metric_seconds(struct buf *out, uint64_t ns);
/* Appends a family of one line without labels. */
void metric(struct buf *out, const char *name, const char *type, const char *help, double value);
/* Appends one label with its value, escaped. */
void metric_label(struct buf *out, const char *name, const char *value);
/* Appends the labels of JVM @p: pid, main, container, pod, namespace, service. Thread: the
 * engine's. */
void metric_jvm_labels(struct buf *out, const struct process *p);
