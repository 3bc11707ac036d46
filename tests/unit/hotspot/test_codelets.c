/* SPDX-License-Identifier: Apache-2.0 */
/* The list of the interpreter's codelets, while reads of it fail. */
#include "suite.h"

#include "hotspot/code/code.h"

#define QUEUE UINT64_C(0x7f1000000000) /* five pages of codelets */
#define PAGES 5
#define NAMES UINT64_C(0x7f2000000000) /* a page */
#define CODELET 512                    /* bytes */
#define COUNT (PAGES * MEMORY_PAGE / CODELET)
#define NAME_BYTES 16

static uint8_t queue[PAGES * MEMORY_PAGE], names[MEMORY_PAGE];
static uint64_t bad_page; /* reads of it fail with @failure */
static int failure;
static struct hotspot_vm vm;

static ssize_t read_some(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    if ((address & ~(MEMORY_PAGE - 1)) == bad_page)
        return failure;
    n = MIN(n, MEMORY_PAGE);
    if (address - QUEUE < sizeof(queue))
        memcpy(buf, queue + (address - QUEUE), n);
    else if (address - NAMES < sizeof(names))
        memcpy(buf, names + (address - NAMES), n);
    else
        return -EIO;
    return (ssize_t)n;
}

static void setup(void)
{
    vm = (struct hotspot_vm){ .code = { .interpreter_start = QUEUE,
                                        .interpreter_end = QUEUE + sizeof(queue) } };
    vm.layout.sizeof_InterpreterCodelet = 24;
    vm.layout.codelet_size = (struct layout_field){ .offset = 8, .width = 4 };
    vm.layout.codelet_description = (struct layout_field){ .offset = 16, .width = 8 };
    memory_init(&vm.memory, read_some, NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t size = CODELET;
        uint64_t name = NAMES + i * NAME_BYTES;

        memcpy(queue + i * CODELET + 8, &size, sizeof(size));
        memcpy(queue + i * CODELET + 16, &name, sizeof(name));
        snprintf((char *)names + i * NAME_BYTES, NAME_BYTES, "codelet %u", i);
    }
    bad_page = 0;
}

static void teardown(void)
{
    free(vm.code.codelets);
}

static void check_whole(void)
{
    bad_page = 0;
    memory_begin(&vm.memory);
    ck_assert_int_eq(codelets_read(&vm), 0);
    ck_assert_uint_eq(vm.code.codelet_count, COUNT);
    ck_assert_uint_eq(vm.code.codelets[COUNT - 1].end, QUEUE + sizeof(queue));
    ck_assert_str_eq(vm.code.codelets[0].name, "codelet 0");
    ck_assert_str_eq(vm.code.codelets[COUNT - 1].name, "codelet 39");
}

START_TEST(keeps_no_list_that_a_failed_read_cut)
{
    static const struct {
        uint64_t page;
        int failure, result;
    } CASES[] = {
        { QUEUE, -EIO, -EFAULT },
        { QUEUE + 2 * MEMORY_PAGE, -EIO, -EFAULT },
        { QUEUE + 2 * MEMORY_PAGE, -EAGAIN, -EAGAIN },
        { QUEUE + 4 * MEMORY_PAGE, 0, -ESRCH },
        { NAMES, -EIO, -EFAULT },
    };

    bad_page = CASES[_i].page;
    failure = CASES[_i].failure;
    memory_begin(&vm.memory);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(codelets_read(&vm), CASES[_i].result);
        ck_assert_ptr_null(vm.code.codelets);
        ck_assert_uint_eq(vm.code.codelet_count, 0);
    }
    check_whole();
}
END_TEST

/* What the memory holds is final: there the list ends. */
START_TEST(ends_before_what_is_no_codelet)
{
    uint32_t size = 0;

    memcpy(queue + 3 * CODELET + 8, &size, sizeof(size));
    memory_begin(&vm.memory);
    ck_assert_int_eq(codelets_read(&vm), 0);
    ck_assert_uint_eq(vm.code.codelet_count, 3);
}
END_TEST

START_TEST(may_lack_a_name)
{
    uint64_t none = 0;

    memcpy(queue + CODELET + 16, &none, sizeof(none));
    check_whole();
    ck_assert_str_eq(vm.code.codelets[1].name, "");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("codelets");
    TCase *tc = tcase_create("list");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, keeps_no_list_that_a_failed_read_cut, 0, 5);
    tcase_add_test(tc, ends_before_what_is_no_codelet);
    tcase_add_test(tc, may_lack_a_name);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
