/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/zgc.c: where objects were moved to, in tables that are as they should be and in others.
 */
#include "suite.h"

#include "hotspot/vm.h"

#define BASE UINT64_C(0x7f0000000000)
#define HEAP_BIT (UINT64_C(1) << 44) /* of each object's address */
#define GRANULES 16
#define BAD UINT64_C(0x100) /* a colour of a reference that is old */

/* Where things lie, in bytes from BASE. */
enum {
    GLOBALS = 0x100,
    MASKS = 0x200,
    COLLECTED = 0x300,
    YOUNG = 0x800,
    OLD = 0x900,
    MOVED = 0xa00
};

static uint64_t image[0x1000 / 8];
static struct hotspot_vm vm;

static ssize_t read_image(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    if (address < BASE || address - BASE >= sizeof(image))
        return -EIO;
    n = MIN(n, sizeof(image) - (address - BASE));
    memcpy(buf, (const char *)image + (address - BASE), n);
    return (ssize_t)n;
}

static void put(size_t at, uint64_t word)
{
    image[at / 8] = word;
    memory_begin(&vm.memory);
}

static struct layout_field word_at(int32_t offset)
{
    return (struct layout_field){ .offset = offset, .width = 8 };
}

/* Granule 3 was moved by a collection of the old generation: object 2 of 16 bytes to 0x5000. */
static void setup(void)
{
    memset(image, 0, sizeof(image));
    memset(&vm, 0, sizeof(vm));
    ck_assert_int_eq(memory_init(&vm.memory, read_image, NULL, MEMORY_LINES), 0);
    vm.names = (struct name_layout){ .known = true, .coloured_oops = true };
    vm.layout.z_globals_at = BASE;
    vm.layout.collected_heap_at = BASE + 8;
    vm.layout.z_bad_mask = word_at(0);
    vm.layout.z_offset_mask = word_at(8);
    vm.layout.z_heap = vm.layout.z_page_table = word_at(16);
    vm.layout.sizeof_ZForwarding = 184;
    put(0, BASE + GLOBALS);
    put(8, BASE + COLLECTED);
    put(GLOBALS, BASE + MASKS);
    put(GLOBALS + 8, BASE + MASKS + 8);
    put(MASKS, BAD);
    put(MASKS + 8, HEAP_BIT - 1);
    put(COLLECTED + 32, GRANULES); /* the page table */
    put(COLLECTED + 32 + 48, GRANULES);
    put(COLLECTED + 32 + 56, BASE + YOUNG);
    put(COLLECTED + 32 + 96, GRANULES);
    put(COLLECTED + 32 + 104, BASE + OLD);
    put(OLD + 8 * 3, BASE + MOVED);
    put(MOVED, 3 << 21);
    put(MOVED + 8, 1 << 21);
    put(MOVED + 16, 4);
    put(MOVED + 24, 4);
    for (unsigned i = 0; i < 4; i++) /* wherever the hash begins, the search comes by */
        put(MOVED + 184 + 8 * i,
            i == 1 ? UINT64_C(2) << 46 | 0x5000 << 1 | 1 : UINT64_C(9) << 46 | 1);
    zgc_ready(&vm);
}

static void teardown(void)
{
    memory_deinit(&vm.memory);
}

static uint64_t forward(uint64_t colour, uint64_t offset)
{
    return zgc_forward(&vm, colour, HEAP_BIT | offset);
}

START_TEST(finds_where_it_went)
{
    ck_assert(vm.zgc.known);
    ck_assert_uint_eq(vm.zgc.maps[0], BASE + YOUNG);
    ck_assert_uint_eq(vm.zgc.maps[1], BASE + OLD);
    ck_assert_uint_eq(forward(BAD, (3 << 21) + 32), HEAP_BIT | 0x5000);
    ck_assert_uint_eq(forward(0x200, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32)); /* a good one */
    ck_assert_uint_eq(forward(BAD, (3 << 21) + 48), HEAP_BIT | ((3 << 21) + 48));   /* not moved */
    ck_assert_uint_eq(forward(BAD, 4 << 21), HEAP_BIT | 4 << 21);
    ck_assert_uint_eq(forward(BAD, (uint64_t)GRANULES << 21), HEAP_BIT | (uint64_t)GRANULES << 21);
}
END_TEST

/* Tables that make no sense: the object stays where it was. */
static const struct {
    size_t at;
    uint64_t word;
} FALSE_WORDS[] = {
    { OLD + 8 * 3, 0 }, { OLD + 8 * 3, 1 }, { OLD + 8 * 3, UINT64_MAX },
    { MOVED, 4 << 21 }, { MOVED + 8, 1 },   { MOVED + 16, 40 },
    { MOVED + 24, 0 },  { MOVED + 24, 3 },  { MOVED + 24, UINT64_C(1) << 40 },
};

START_TEST(false_tables_move_nothing)
{
    put(FALSE_WORDS[_i].at, FALSE_WORDS[_i].word);
    ck_assert_uint_eq(forward(BAD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
}
END_TEST

START_TEST(without_tables_it_is_off)
{
    vm.zgc = (struct zgc){ 0 };
    put(COLLECTED + 32 + 96, GRANULES + 1);
    zgc_ready(&vm);
    ck_assert(vm.zgc.unusable);
    ck_assert_uint_eq(forward(BAD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("zgc");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, finds_where_it_went);
    tcase_add_loop_test(tc, false_tables_move_nothing, 0, ARRAY_SIZE(FALSE_WORDS));
    tcase_add_test(tc, without_tables_it_is_off);
    return suite_run_case("hotspot_zgc", tc);
}
