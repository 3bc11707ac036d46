/* SPDX-License-Identifier: Apache-2.0 */
/* hsperfdata: found counters lie within the file, and their names are valid in an answer. */
#include "hotspot/counters.h"
#include "hotspot/hsperfdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const char name[COUNTERS_NAME_MAX])
{
    size_t n = strnlen(name, COUNTERS_NAME_MAX);

    if (n == COUNTERS_NAME_MAX || strpbrk(name, "\"\\\n{}=,;"))
        abort();
}

static void check_pool(const struct counted_pool *p)
{
    check_name(p->name);
    if (p->used < COUNTERS_UNKNOWN || p->committed < COUNTERS_UNKNOWN || p->max < COUNTERS_UNKNOWN)
        abort();
}

static void check_counters(struct span file)
{
    struct counters c;

    struct counters_places places = { .count = 0 };
    struct counters again;

    if (!counters_parse(file, &places, &c))
        return;
    if (!counters_parse(file, &places, &again) || again.safepoints != c.safepoints ||
        again.compile_ns != c.compile_ns || again.left_out != c.left_out)
        abort();
    check_name(c.policy);
    check_name(c.cause);
    check_name(c.last_cause);
    if (c.vm_begin_ms < COUNTERS_UNKNOWN)
        abort();
    check_pool(&c.metaspace);
    check_pool(&c.class_space);
    for (size_t i = 0; i < COUNTERS_GENERATIONS_MAX; i++) {
        check_pool(&c.generations[i].whole);
        for (size_t j = 0; j < COUNTERS_SPACES_MAX; j++)
            check_pool(&c.generations[i].spaces[j]);
    }
    for (size_t i = 0; i < COUNTERS_COLLECTORS_MAX; i++) {
        check_name(c.collectors[i].name);
        if (c.collectors[i].time_ns < COUNTERS_UNKNOWN ||
            c.collectors[i].entry_ns < COUNTERS_UNKNOWN ||
            c.collectors[i].exit_ns < COUNTERS_UNKNOWN)
            abort();
    }
    if (c.safepoint_ns < COUNTERS_UNKNOWN || c.compile_ns < COUNTERS_UNKNOWN)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const KEYS[] = {
        "sun.rt.javaCommand",     "java.rt.vmArgs", "sun.rt.createVmBeginTime",
        "sun.rt.createVmEndTime", "no.such.key",    ""
    };
    struct span file = { (const char *)data, size }, s;

    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (hsperfdata_string(file, KEYS[i], &s) && s.n &&
            (s.p < file.p || s.p + s.n > file.p + file.n))
            abort();
    }
    check_counters(file);
    return 0;
}
