/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_backend.h"

#include "base/clock.h"

/* Runs on threads of the backend, where a ck_assert() would mix its marks with those of the test.
 */
static void must(int r)
{
    if (r != 0)
        abort();
}

static uint32_t name_of(struct frame_table *t, const char *text)
{
    uint32_t id = 0;

    must(frame_table_string(t, span_of(text), &id));
    return id;
}

static uint32_t frame_of(struct frame_table *t, const char *class_name, const char *name,
                         enum frame_kind kind)
{
    struct function fn = { .class_name = class_name ? name_of(t, class_name) : 0,
                           .name = name_of(t, name) };
    struct frame f = { .kind = (uint8_t)kind };
    uint32_t id = 0;

    must(frame_table_function(t, &fn, &f.function));
    must(frame_table_frame(t, &f, &id));
    return id;
}

struct profile *fake_profile(int32_t pid)
{
    struct profile meta = {
        .events = { { .name = "cpu", .unit = "nanoseconds", .period = 10101010 },
                    { .name = "lock", .unit = "nanoseconds", .period = 10101010 } },
        .event_count = pid == FAKE_PID_TWO ? 2 : 1,
        .lost = 3
    };
    struct profile_process process = { .host_pid = pid };
    struct profile_thread thread = { .host_tid = pid + 1 };
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;
    uint32_t stack[3];

    must(frame_table_new(200000, (size_t)64 << 20, &t));
    must(record_new(t, 1000000, &r));
    process.name = name_of(t, "Fake");
    must(record_process(r, &process, &thread.process));
    thread.name = name_of(t, "worker<0>");
    uint32_t index = 0;
    must(record_thread(r, &thread, &index));
    stack[2] = frame_of(t, "java.lang.Thread", "run", FRAME_INTERPRETED);
    for (int i = 0; i < (pid == FAKE_PID_HUGE || pid == FAKE_PID_LONG ? 12000 : 4); i++) {
        char name[512];

        snprintf(name, sizeof(name), "method%d%s%*s", i,
                 pid == FAKE_PID_HUGE ? "WithAVeryLongNameThatNeedsManyBytesInEveryFormatThereIs"
                                      : "",
                 pid == FAKE_PID_LONG ? 400 : 0, "");
        stack[1] = frame_of(t, "com.example.Fake", name, FRAME_C2);
        stack[0] =
            frame_of(t, NULL, pid == FAKE_PID_TWO && i % 2 ? "parked" : "leaf", FRAME_NATIVE);
        must(record_sample(
            r,
            &(struct profile_sample){
                .time_ns = (uint64_t)i,
                .thread = index,
                .count = 1,
                .event = pid == FAKE_PID_TWO && i % 2,
                .mode = i % 2 ? SAMPLE_MODE_KERNEL : SAMPLE_MODE_USER,
                .flags = i == 0 ? PROFILE_SAMPLE_UNKNOWN | PROFILE_SAMPLE_TRUNCATED : 0 },
            stack, 3));
    }
    for (int i = 0; pid == FAKE_PID_WARNINGS && i < 60; i++)
        record_warn(
            r,
            "warning %d, of which there are more than headers can carry, each of some length "
            "and one with \xe2\x82\xac: do something about it",
            i);
    meta.start_realtime_ns = clock_realtime_ns();
    snprintf(meta.target, sizeof(meta.target), "process %d", (int)pid);
    snprintf(meta.symbols, sizeof(meta.symbols), "memory: read from the JVM\xe2\x80\xa6");
    must(record_finish(r, &meta, &p));
    record_free(r);
    frame_table_free(t);
    return p;
}
