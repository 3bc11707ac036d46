/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/routes/list_text.h"

#include "base/cleanup.h"
#include "request/json_text.h"

#include <errno.h>

#define MIB 1048576.0
#define SEVERITIES 3

static long long whole_of(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/* Appends the texts of a list, separated by blanks. */
static void add_words(const json_t *list, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_printf(out, "%s%s", i ? " " : "", json_string_value(json_array_get(list, i)));
}

static double cpu_of(const json_t *jvm)
{
    return json_number_value(json_object_get(jvm, "cpu_percent"));
}

static int compare_cpu(const void *a, const void *b)
{
    double of_a = cpu_of(*(json_t *const *)a), of_b = cpu_of(*(json_t *const *)b);

    return (of_a < of_b) - (of_a > of_b);
}

void list_text_jvms(const json_t *answer, struct buf *out)
{
    const json_t *list = json_object_get(answer, "jvms");
    size_t count = json_array_size(list);
    _cleanup_free_ const json_t **jvms = calloc(count + 1, sizeof(*jvms));

    if (!jvms) {
        out->error = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < count; i++)
        jvms[i] = json_array_get(list, i);
    qsort(jvms, count, sizeof(*jvms), compare_cpu);
    buf_printf(out, "%8s %7s %9s %7s  %-24s %-32s %s\n", "PID", "CPU %", "RSS MiB", "THREADS",
               "SERVICE", "MAIN", "SIGNALS");
    for (size_t i = 0; i < count; i++) {
        const json_t *jvm = jvms[i];

        buf_printf(out, "%8lld %7.1f %9.0f %7lld  %-24s %-32s ", whole_of(jvm, "pid"), cpu_of(jvm),
                   json_number_value(json_object_get(jvm, "rss")) / MIB, whole_of(jvm, "threads"),
                   json_text(json_object_get(jvm, "service"), "name"), json_text(jvm, "main"));
        add_words(json_object_get(jvm, "signals"), out);
        buf_add_char(out, '\n');
    }
}

void list_text_services(const json_t *answer, struct buf *out)
{
    const json_t *list = json_object_get(answer, "services");

    buf_printf(out, "%-32s %5s  %-30s %s\n", "SERVICE", "JVMS", "FIRST SEEN", "VERSIONS");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *service = json_array_get(list, i);

        buf_printf(out, "%-32s %5zu  %-30s ", json_text(service, "name"),
                   json_array_size(json_object_get(service, "jvms")),
                   json_text(service, "first_seen"));
        add_words(json_object_get(service, "versions"), out);
        buf_add_char(out, '\n');
    }
}

/* Adds the time @key of @signal, in whole seconds: a person reads it. */
static void add_second(const json_t *signal, const char *key, struct buf *out)
{
    const char *time = json_text(signal, key);

    buf_printf(out, "%.*s%s", (int)strcspn(time, ".Z"), time, *time ? "Z" : "");
}

static void add_signal(const json_t *signal, struct buf *out)
{
    buf_printf(out, "%lld  %-18s %s, pid %lld: %s\n", whole_of(signal, "severity"),
               json_text(signal, "signal"), json_text(signal, "service"), whole_of(signal, "pid"),
               json_text(signal, "sentence"));
    buf_add_str(out, "   since ");
    add_second(signal, "since", out);
    buf_printf(out, "; see %s\n   %s\n", json_text(signal, "evidence"),
               json_text(signal, "remedy"));
}

static void add_past_signal(const json_t *signal, struct buf *out)
{
    long long times = whole_of(signal, "times");

    buf_add_str(out, "was on until ");
    add_second(signal, "until", out);
    buf_printf(out, ": %s %s, pid %lld: %s\n", json_text(signal, "signal"),
               json_text(signal, "service"), whole_of(signal, "pid"),
               json_text(signal, "sentence"));
    buf_add_str(out, "   since ");
    add_second(signal, "since", out);
    if (times > 1)
        buf_printf(out, ", %lld times", times);
    buf_printf(out, "; see %s\n   %s\n", json_text(signal, "evidence"),
               json_text(signal, "remedy"));
}

void list_text_signals(const json_t *answer, struct buf *out)
{
    const json_t *list = json_object_get(answer, "signals"),
                 *past = json_object_get(answer, "past");

    if (!json_array_size(list))
        buf_add_str(out, "No signal is on.\n");
    for (int severity = SEVERITIES; severity > 0; severity--) {
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *signal = json_array_get(list, i);

            if (whole_of(signal, "severity") == severity)
                add_signal(signal, out);
        }
    }
    for (size_t i = 0; i < json_array_size(past); i++)
        add_past_signal(json_array_get(past, i), out);
}

void list_text_changes(const json_t *answer, struct buf *out)
{
    const json_t *changes = json_object_get(answer, "changes");
    const json_t *list = json_array_size(changes) ? changes : json_object_get(answer, "sentences");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        buf_printf(out, "%s\n",
                   json_is_string(one) ? json_string_value(one) : json_text(one, "sentence"));
    }
    if (json_array_size(changes))
        buf_printf(out, "see %s\n", json_text(json_array_get(changes, 0), "diff"));
}
