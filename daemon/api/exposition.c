/* SPDX-License-Identifier: Apache-2.0 */
#include "api/exposition.h"

#include "discover/service.h"

#define WHOLE_MAX 9007199254740992.0 /* doubles hold every whole number up to this one */

static void add_head(struct buf *out, const char *name, const char *type, const char *help)
{
    const char *const parts[] = { "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n" };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        buf_add_str(out, parts[i]);
}

void metric_head(struct buf *out, const char *name, const char *help)
{
    add_head(out, name, span_ends_with(span_of(name), "_total") ? "counter" : "gauge", help);
}

void metric_head_histogram(struct buf *out, const char *name, const char *help)
{
    add_head(out, name, "histogram", help);
}

/* Writes whole numbers, as most values are, without printf(3), which takes ten times as long. */
void metric_value(struct buf *out, double value)
{
    if (value >= 0 && value < WHOLE_MAX && value == (double)(uint64_t)value)
        buf_add_u64(out, (uint64_t)value);
    else
        buf_printf(out, "%.17g", value);
    buf_add_char(out, '\n');
}

void metric_seconds(struct buf *out, uint64_t ns)
{
    char digits[] = ".000000000\n";
    uint64_t rest = ns % NSEC_PER_SEC;

    for (size_t i = 9; i > 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    buf_add_u64(out, ns / NSEC_PER_SEC);
    buf_add_str(out, digits);
}

void metric_family(struct buf *out, const char *name, const char *help, double value)
{
    metric_head(out, name, help);
    buf_add_str(out, name);
    buf_add_char(out, ' ');
    metric_value(out, value);
}

void metric_family_by(struct buf *out, const char *name, const char *help, const char *label,
                      const struct metric_line *lines, size_t n)
{
    metric_head(out, name, help);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s{%s=\"%s\"} ", name, label, lines[i].text);
        buf_add_u64(out, lines[i].count);
        buf_add_char(out, '\n');
    }
}

/* Writes one label, with its value escaped. */
void metric_label(struct buf *out, const char *name, const char *value)
{
    buf_add_str(out, name);
    buf_add_str(out, "=\"");
    for (;;) {
        size_t n = strcspn(value, "\\\"\n");

        buf_add(out, value, n);
        value += n;
        if (!*value)
            break;
        buf_add_char(out, '\\');
        buf_add_char(out, *value == '\n' ? 'n' : *value);
        value++;
    }
    buf_add_char(out, '"');
}

void metric_jvm_labels(struct buf *out, const struct process *p)
{
    char service[SERVICE_NAME_BYTES];

    buf_printf(out, "pid=\"%d\",", p->id.host_pid);
    metric_label(out, "main", p->main ? p->main : "");
    buf_add_char(out, ',');
    metric_label(out, "container", p->container.id);
    buf_add_char(out, ',');
    metric_label(out, "pod", container_pod(&p->container));
    buf_add_char(out, ',');
    metric_label(out, "namespace", p->container.pod_namespace);
    buf_add_char(out, ',');
    service_name_of_process(p, service);
    metric_label(out, "service", service);
}
