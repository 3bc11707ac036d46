/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/stack_root.c: the names of a thread's outermost functions. */
#include "symbolize/stack_root.h"

#include "suite.h"

static struct frame_table *t;

static void setup(void)
{
    ck_assert_int_eq(frame_table_new(1000, 100000, &t), 0);
}

static void teardown(void)
{
    t = frame_table_free(t);
}

static uint32_t frame_in(const char *path, const char *name, bool unknown)
{
    struct function function = { 0 };
    struct module module = { 0 };
    struct frame frame = { .kind = unknown ? FRAME_UNKNOWN : FRAME_NATIVE, .unknown = unknown };
    uint32_t id;

    ck_assert_int_eq(frame_table_string(t, span_of(path), &module.path), 0);
    ck_assert_int_eq(frame_table_module(t, &module, &function.module), 0);
    ck_assert_int_eq(frame_table_string(t, span_of(name), &function.name), 0);
    ck_assert_int_eq(frame_table_function(t, &function, &frame.function), 0);
    ck_assert_int_eq(frame_table_frame(t, &frame, &id), 0);
    return id;
}

static uint32_t offset_in_glibc(const char *name)
{
    return frame_in("/usr/lib/aarch64-linux-gnu/libc.so.6", name, true);
}

static void check_name(uint32_t frame, const char *name)
{
    const struct frame *f = frame_table_get(t, frame);
    const struct function *function = frame_table_get_function(t, f->function);

    ck_assert(span_eq_str(frame_table_get_string(t, function->name), name));
    ck_assert_uint_eq(f->kind, FRAME_NATIVE);
    ck_assert(!f->unknown);
    ck_assert(
        span_eq_str(frame_table_get_string(t, frame_table_get_module(t, function->module)->path),
                    "/usr/lib/aarch64-linux-gnu/libc.so.6"));
}

START_TEST(names_the_start_of_a_thread)
{
    uint32_t main = frame_in("/app", "run", false);
    uint32_t frames[] = { main, offset_in_glibc("libc.so.6+0x7ff30"),
                          offset_in_glibc("libc.so.6+0xe5f1c") };

    ck_assert_uint_eq(stack_name_thread_start(t, frames, 3), 2);
    ck_assert_uint_eq(frames[0], main);
    check_name(frames[1], "start_thread");
    check_name(frames[2], "clone3");
    ck_assert_uint_eq(stack_name_thread_start(t, frames, 3), 0); /* they have names */
}
END_TEST

START_TEST(names_nothing_else)
{
    uint32_t glibc = offset_in_glibc("libc.so.6+0x7ff30");
    uint32_t named = frame_in("/usr/lib/aarch64-linux-gnu/libc.so.6", "clone", false);
    uint32_t app = frame_in("/app", "app+0x10", true);
    uint32_t other = frame_in("/other/libc.so.6", "libc.so.6+0x10", true);
    uint32_t stacks[][2] = { { glibc, named }, { named, glibc }, { app, glibc },  { glibc, app },
                             { app, app },     { 0, glibc },     { glibc, other } };

    for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
        uint32_t before = stacks[i][0], last = stacks[i][1];

        ck_assert_uint_eq(stack_name_thread_start(t, stacks[i], 2), 0);
        ck_assert(stacks[i][0] == before && stacks[i][1] == last);
    }
    ck_assert_uint_eq(stack_name_thread_start(t, &glibc, 1), 0);
    ck_assert_uint_eq(stack_name_thread_start(t, &glibc, 0), 0);
}
END_TEST

START_TEST(leaves_the_stack_without_room)
{
    struct frame_table *small;
    uint32_t frames[2];

    t = frame_table_free(t);
    ck_assert_int_eq(frame_table_new(3, 100000, &small), 0);
    t = small;
    frames[0] = frames[1] = offset_in_glibc("libc.so.6+0x7ff30");
    ck_assert_uint_eq(stack_name_thread_start(t, frames, 2), 0);
    ck_assert(frame_table_get(t, frames[0])->unknown && frame_table_get(t, frames[1])->unknown);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("stack_root");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_the_start_of_a_thread);
    tcase_add_test(tc, names_nothing_else);
    tcase_add_test(tc, leaves_the_stack_without_room);
    return suite_run_case("stack_root", tc);
}
