/* SPDX-License-Identifier: Apache-2.0 */
#include "made_kinds.h"

#include "making.h"
#include "profile/waits.h"

#define KINDS_START_NS UINT64_C(5000000000)
#define KINDS_REALTIME_NS (UINT64_C(1763688414) * NSEC_PER_SEC + 123456789)
#define KINDS_SAMPLES 60u

/* "l [monitor]": a way of waiting that ends for a lock, "w" for a condition, "p" for a park. */
static uint32_t frame_of(struct frame_table *t, const char *text)
{
    struct function fn = { 0 };
    struct frame f = { .kind = text[0] == 'l'   ? FRAME_WAIT_LOCK
                               : text[0] == 'w' ? FRAME_WAIT_NOTIFY
                               : text[0] == 'p' ? FRAME_WAIT_PARK
                                                : (uint8_t)making_kind(text[0]) };
    const char *name = text + 2, *dot = strrchr(name, '.');
    uint32_t id;

    if (frame_kind_is_java((enum frame_kind)f.kind)) {
        fn.class_name = making_string(t, name, (size_t)(dot - name));
        fn.signature = making_string(t, "()", 2);
        f.line = 42;
        name = dot + 1;
    }
    fn.name = making_string(t, name, strlen(name));
    if (f.kind == FRAME_KERNEL || f.kind == FRAME_NATIVE) {
        struct module m = { .path = f.kind == FRAME_KERNEL
                                        ? making_string(t, "[kernel]", 8)
                                        : making_string(t, "/lib/libc.so.6", 14) };

        must(frame_table_module(t, &m, &fn.module));
    }
    must(frame_table_function(t, &fn, &f.function));
    must(frame_table_frame(t, &f, &id));
    return id;
}

#define STACK(...) ((const char *const[]){ "j java.lang.Thread.run", __VA_ARGS__, NULL })

/* Events, each with its leaves: what lies above a Java method. */
static const struct {
    const char *event, *unit;
    bool valued;
    const char *const *stacks[4];
} KINDS[] = {
    { "cpu", "nanoseconds", false, { STACK("j a.Cpu.work"), STACK("s StubRoutines::call_stub") } },
    { "wall",
      "nanoseconds",
      true,
      { STACK("j a.Wall.wait", "n read", "k vfs_read"), STACK("0 a.Wall.run") } },
    { "offcpu", "nanoseconds", true, { STACK("j a.Off.wait", "n futex", "k futex_wait") } },
    { "lock",
      "nanoseconds",
      true,
      { STACK("j a.Lock.enter", "v ObjectMonitor::enter", "n pthread_cond_wait", "l [monitor]",
              "l a.Door"),
        STACK("j a.Lock.await", "w [condition]", "w java.util.concurrent.locks.Condition"),
        STACK("j a.Lock.wait", "w [notify]", "w java.lang.Object[]"),
        STACK("j a.Lock.park", "p [park]", "p [lock of unknown class]") } },
    { "nativelock",
      "nanoseconds",
      true,
      { STACK("n pthread_mutex_lock", "l [mutex]", "l 0x7f00deadbee0") } },
    { "safepoint", "nanoseconds", true, { STACK("1 a.Loop.count") } },
    { "alloc",
      "bytes",
      true,
      { STACK("j a.Alloc.array", "c byte[][]"), STACK("i a.Alloc.strings", "c java.lang.String[]"),
        STACK("j a.Alloc.object", "c a.Thing$1"), STACK("j a.Alloc.unknown") } },
    { "live",
      "bytes",
      true,
      { STACK("j a.Live.keep", "c int[]"), STACK("j a.Live.map", "c a.Node") } },
    { "malloc", "bytes", true, { STACK("j a.Native.open", "n inflateInit2_", "n malloc") } },
    { "nativelive", "bytes", true, { STACK("j a.Native.leak", "n malloc") } },
    { "nativemem", "bytes", false, { STACK("n memset", "k asm_exc_page_fault") } },
    { "numbers",
      "count",
      false,
      { STACK("n returns 404"), STACK("n returns 404", "n x=1,y=2 355"), STACK("n version 4.5"),
        STACK("n at 3.") } },
    { "page-faults", "count", false, { STACK("v os::pretouch_memory(void*)") } },
};

static void add_samples(struct record *rec, struct frame_table *table, uint8_t event, size_t kind,
                        uint32_t thread)
{
    uint32_t seed = 7;

    for (uint32_t i = 0; i < KINDS_SAMPLES; i++) {
        size_t stacks = 0, n = 0;
        const char *const *texts;
        uint32_t ids[8];
        struct profile_sample s = { .time_ns = KINDS_START_NS + 20000000 + i * UINT64_C(7000000),
                                    .thread = thread,
                                    .event = event,
                                    .count = KINDS[kind].valued ? 1 : 1 + i % 2 };

        while (stacks < ARRAY_SIZE(KINDS[kind].stacks) && KINDS[kind].stacks[stacks])
            stacks++;
        texts = KINDS[kind].stacks[i % stacks];
        while (texts[n])
            n++;
        for (size_t k = 0; k < n; k++)
            ids[n - 1 - k] = frame_of(table, texts[k]);
        if (KINDS[kind].valued)
            s.value = MADE_KINDS_PERIOD + making_random(&seed, 3 * MADE_KINDS_PERIOD);
        if (strcmp(KINDS[kind].unit, "nanoseconds") == 0)
            s.flags |=
                (uint16_t)((i % 3 ? STATE_BLOCKED : STATE_RUNNING) << PROFILE_SAMPLE_STATE_SHIFT);
        must(record_sample(rec, &s, ids, n));
    }
}

/* Samples of one stack that is deeper than some readers can take. */
static void add_deep(struct record *rec, struct frame_table *table, uint32_t thread)
{
    static uint32_t ids[MADE_DEEP_FRAMES];
    char text[32];

    for (uint32_t i = 0; i < MADE_DEEP_FRAMES; i++) {
        snprintf(text, sizeof(text), "j a.Deep.down%u", i);
        ids[MADE_DEEP_FRAMES - 1 - i] = frame_of(table, text);
    }
    for (uint32_t i = 0; i < 10; i++)
        must(record_sample(
            rec,
            &(struct profile_sample){ .time_ns = KINDS_START_NS + i, .thread = thread, .count = 1 },
            ids + i, MADE_DEEP_FRAMES - i));
}

/* "every" are as many as a profile can have. */
static bool is_wanted(const char *name, size_t kind)
{
    static const char *const EVERY[] = { "cpu",   "wall", "lock",   "nativelock",
                                         "alloc", "live", "malloc", "page-faults" };

    if (strcmp(name, "every") != 0)
        return !strcmp(name, KINDS[kind].event);
    for (size_t i = 0; i < ARRAY_SIZE(EVERY); i++)
        if (!strcmp(EVERY[i], KINDS[kind].event))
            return true;
    return false;
}

struct profile *made_kinds(const char *name)
{
    struct profile meta = { .start_ns = KINDS_START_NS,
                            .end_ns = KINDS_START_NS + NSEC_PER_SEC,
                            .start_realtime_ns = KINDS_REALTIME_NS };
    struct frame_table *table = NULL;
    struct profile *profile = NULL;
    struct record *rec = NULL;
    struct profile_thread t = { .host_tid = 4250 };
    struct profile_process p = { .host_pid = 4242, .start_ticks = 100 };
    uint32_t thread;

    must(frame_table_new(1 << 14, (size_t)1 << 20, &table));
    must(record_new(table, 1 << 12, &rec));
    p.name = making_string(table, "Kinds", 5);
    t.name = making_string(table, "main", 4);
    must(record_process(rec, &p, &t.process));
    must(record_thread(rec, &t, &thread));
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        struct profile_event *e = &meta.events[meta.event_count];

        if (!is_wanted(name, i))
            continue;
        snprintf(e->name, sizeof(e->name), "%s", KINDS[i].event);
        snprintf(e->unit, sizeof(e->unit), "%s", KINDS[i].unit);
        e->period = MADE_KINDS_PERIOD;
        e->valued = KINDS[i].valued;
        add_samples(rec, table, (uint8_t)meta.event_count++, i, thread);
    }
    if (!strcmp(name, "deep")) {
        meta.events[0] = (struct profile_event){ "cpu", "nanoseconds", MADE_KINDS_PERIOD, false };
        meta.event_count = 1;
        add_deep(rec, table, thread);
    }
    if (meta.event_count) {
        snprintf(meta.target, sizeof(meta.target), "Kinds (pid 4242)");
        must(record_finish(rec, &meta, &profile));
    }
    record_free(rec);
    frame_table_free(table);
    return profile;
}
