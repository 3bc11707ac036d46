/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/zgc.c: the new places of moved objects, in intact and in broken tables. */
#include "suite.h"
#include "vm_image.h"

#include "unwind/forwarding.h"

#define HEAP_BIT (UINT64_C(1) << 44) /* set in each object's address */
#define GRANULES 16
#define GRANULES_OF_MAPS 8
#define GOOD UINT64_C(0x1000)    /* colors of an up-to-date reference */
#define BAD UINT64_C(0xe000)     /* the mask of bad colors */
#define OLD_BAD UINT64_C(0x4000) /* older than a move by either generation */
#define YOUNG_BAD UINT64_C(0x2000)
#define BOTH_BAD UINT64_C(0x8000)
#define MARKED (UINT64_C(1) << 45) /* the older ZGC's color of an old reference */

/* Offsets from VM_IMAGE, in bytes. */
enum {
    GLOBALS = 0x100,
    MASKS = 0x200,
    COLLECTED = 0x300,
    MOVED = 0xa00,
    OLD = 0x1000,
    YOUNG = 0x2000
};

static struct hotspot_vm *vm;

static void put(size_t at, uint64_t word)
{
    vm_image_put(VM_IMAGE + at, word);
    memory_begin(&vm->memory);
}

/* A collection of the old generation moved objects of granule 3: object 2, of 16 bytes, to
 * 0x5000. */
static void setup(void)
{
    vm = vm_image_new();
    vm->names = (struct name_layout){ .known = true, .zgc = true, .coloured_oops = true };
    vm->layout.jdk = 25;
    vm->layout.z_globals_at = VM_IMAGE;
    vm->layout.collected_heap_at = VM_IMAGE + 8;
    vm->layout.z_bad_mask = vm_image_field(0, 8);
    vm->layout.z_offset_mask = vm_image_field(8, 8);
    vm->layout.z_heap = vm->layout.z_page_table = vm_image_field(16, 8);
    vm->layout.sizeof_ZForwarding = 184;
    vm->layout.sizeof_ZHeap = 0x200;
    put(0, VM_IMAGE + GLOBALS);
    put(8, VM_IMAGE + COLLECTED);
    put(GLOBALS, VM_IMAGE + MASKS);
    put(GLOBALS + 8, VM_IMAGE + MASKS + 8);
    put(MASKS, BAD);
    put(MASKS + 8, HEAP_BIT - 1);
    put(COLLECTED + 32, GRANULES); /* the page table */
    put(COLLECTED + 32 + 24, 3);   /* another size */
    put(COLLECTED + 32 + 32, VM_IMAGE + OLD);
    put(COLLECTED + 32 + 48, GRANULES_OF_MAPS);
    put(COLLECTED + 32 + 56, VM_IMAGE + OLD);
    put(COLLECTED + 32 + 72, GRANULES_OF_MAPS); /* not the address of a map */
    put(COLLECTED + 32 + 80, 0xe000);
    put(COLLECTED + 32 + 96, GRANULES_OF_MAPS);
    put(COLLECTED + 32 + 104, VM_IMAGE + YOUNG);
    put(OLD + 8 * 3, VM_IMAGE + MOVED);
    put(MOVED, 3 << 21);
    put(MOVED + 8, 1 << 21);
    put(MOVED + 16, 4);
    put(MOVED + 24, 4);
    for (unsigned i = 0; i < 4; i++) /* the search passes it, wherever the hash begins */
        put(MOVED + 184 + 8 * i,
            i == 1 ? UINT64_C(2) << 46 | 0x5000 << 1 | 1 : UINT64_C(9) << 46 | 1);
    zgc_ready(vm);
}

static void teardown(void)
{
    vm_unref(vm);
}

static uint64_t forward(uint64_t colour, uint64_t offset)
{
    return zgc_forward(vm, colour, HEAP_BIT | offset);
}

START_TEST(finds_where_it_went)
{
    ck_assert(vm->zgc.known);
    ck_assert_uint_eq(vm->zgc.at.maps[UNWIND_MAP_OLD], VM_IMAGE + OLD);
    ck_assert_uint_eq(vm->zgc.at.maps[UNWIND_MAP_YOUNG], VM_IMAGE + YOUNG);
    ck_assert_uint_eq(forward(OLD_BAD, (3 << 21) + 32), HEAP_BIT | 0x5000);
    ck_assert_uint_eq(forward(BOTH_BAD, (3 << 21) + 32), HEAP_BIT | 0x5000);
    ck_assert_uint_eq(forward(YOUNG_BAD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
    ck_assert_uint_eq(forward(GOOD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
    ck_assert_uint_eq(forward(OLD_BAD, (3 << 21) + 48),
                      HEAP_BIT | ((3 << 21) + 48)); /* not moved */
    ck_assert_uint_eq(forward(OLD_BAD, 4 << 21), HEAP_BIT | 4 << 21);
    ck_assert_uint_eq(forward(OLD_BAD, (uint64_t)GRANULES << 21),
                      HEAP_BIT | (uint64_t)GRANULES << 21);
}
END_TEST

/* Both generations have moved objects of this granule. Colors tell which one moved this object. */
START_TEST(goes_by_the_generation)
{
    put(YOUNG + 8 * 3, VM_IMAGE + MOVED);
    put(OLD + 8 * 3, 0);
    ck_assert_uint_eq(forward(YOUNG_BAD, (3 << 21) + 32), HEAP_BIT | 0x5000);
    ck_assert_uint_eq(forward(BOTH_BAD, (3 << 21) + 32), HEAP_BIT | 0x5000);
    ck_assert_uint_eq(forward(OLD_BAD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
    ck_assert_uint_eq(forward(BOTH_BAD | UNWIND_REMEMBERED, (3 << 21) + 32),
                      HEAP_BIT | ((3 << 21) + 32)); /* moved within the old generation */
}
END_TEST

/* Invalid tables: the object counts as not moved. */
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
    ck_assert_uint_eq(forward(OLD_BAD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
}
END_TEST

/* The non-generational ZGC: its colors are in the address, and its map is in the tables. */
static void setup_older(int jdk)
{
    struct hotspot_layout *l = &vm->layout;

    vm->zgc = (struct zgc){ 0 };
    vm->names.coloured_oops = false;
    l->jdk = jdk;
    l->z_forwardings = vm_image_field(16 + 48, 8);
    l->z_weak_bad_mask = l->z_bad_mask;
    if (jdk >= 21) {
        l->x_globals_at = l->z_globals_at;
        l->x_weak_bad_mask = l->z_weak_bad_mask;
        l->x_offset_mask = l->z_offset_mask;
        l->x_heap = l->z_heap;
        l->x_forwardings = l->z_forwardings;
        l->sizeof_XForwarding = l->sizeof_ZForwarding;
        l->z_globals_at = 0;
    }
    put(MASKS, MARKED);
    zgc_ready(vm);
}

START_TEST(finds_where_the_older_one_moved_it)
{
    uint64_t bad = MARKED, at = (3 << 21) + 32;

    setup_older(_i);
    ck_assert(vm->zgc.known);
    ck_assert_uint_eq(zgc_forward(vm, bad | at, bad | at), bad | 0x5000);
    ck_assert_uint_eq(zgc_forward(vm, HEAP_BIT | at, HEAP_BIT | at), HEAP_BIT | at);
    ck_assert_uint_eq(heap_decode(vm, bad | at), bad | 0x5000);
    ck_assert_uint_eq(heap_decode(vm, 0), 0);
}
END_TEST

/* In JDK 15 and before, entries have another form. */
START_TEST(a_release_with_other_entries_is_off)
{
    struct unwind_zgc ret;

    setup_older(15);
    ck_assert(vm->zgc.unusable);
    ck_assert_int_eq(hotspot_vm_zgc(vm, &ret), -ENOENT);
}
END_TEST

START_TEST(without_tables_it_is_off)
{
    vm->zgc = (struct zgc){ 0 };
    put(COLLECTED + 32 + 96, GRANULES_OF_MAPS + 1);
    zgc_ready(vm);
    ck_assert(vm->zgc.unusable);
    ck_assert_uint_eq(forward(OLD_BAD, (3 << 21) + 32), HEAP_BIT | ((3 << 21) + 32));
}
END_TEST

/* A page that cannot be read at one moment. It is read again later, but not at once. */
static const size_t TORN[] = { 8, GLOBALS + 8 };

START_TEST(what_is_torn_is_read_again)
{
    struct unwind_zgc ret;
    uint64_t whole;

    memcpy(&whole, vm_image_at(VM_IMAGE + TORN[_i]), sizeof(whole));
    vm->zgc = (struct zgc){ 0 };
    put(TORN[_i], VM_IMAGE - 0x1000);
    ck_assert_int_eq(names_ready(vm), 0);
    ck_assert_int_eq(hotspot_vm_zgc(vm, &ret), -EAGAIN);
    ck_assert_uint_eq(vm->zgc.tries, 1);
    put(TORN[_i], whole);
    vm->zgc.next_ns = clock_monotonic_ns() + NSEC_PER_SEC * 60;
    ck_assert_int_eq(names_ready(vm), 0);
    ck_assert_int_eq(hotspot_vm_zgc(vm, &ret), -EAGAIN);
    vm->zgc.next_ns = 0;
    if (_i == 0) { /* either call finds the tables */
        ck_assert_int_eq(names_ready(vm), 0);
        ck_assert(vm->zgc.known);
    }
    ck_assert_int_eq(hotspot_vm_zgc(vm, &ret), 0);
    ck_assert_uint_eq(forward(OLD_BAD, (3 << 21) + 32), HEAP_BIT | 0x5000);
}
END_TEST

START_TEST(what_stays_torn_is_given_up)
{
    struct unwind_zgc ret;
    unsigned tries = 0;

    vm->zgc = (struct zgc){ 0 };
    put(8, VM_IMAGE - 0x1000);
    for (; hotspot_vm_zgc(vm, &ret) == -EAGAIN && tries < 100; tries++)
        vm->zgc.next_ns = 0;
    ck_assert_int_eq(hotspot_vm_zgc(vm, &ret), -ENOENT);
    ck_assert_uint_eq(tries, 9);
}
END_TEST

/* If objects are disabled, they stay disabled. */
START_TEST(without_objects_it_is_not_tried)
{
    struct unwind_zgc ret;

    vm->zgc = (struct zgc){ 0 };
    vm->proof.objects_off = true;
    ck_assert_int_eq(hotspot_vm_zgc(vm, &ret), -ENOENT);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("zgc");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, finds_where_it_went);
    tcase_add_loop_test(tc, false_tables_move_nothing, 0, ARRAY_SIZE(FALSE_WORDS));
    tcase_add_test(tc, goes_by_the_generation);
    tcase_add_loop_test(tc, finds_where_the_older_one_moved_it, 16, 24);
    tcase_add_test(tc, a_release_with_other_entries_is_off);
    tcase_add_test(tc, without_tables_it_is_off);
    tcase_add_loop_test(tc, what_is_torn_is_read_again, 0, ARRAY_SIZE(TORN));
    tcase_add_test(tc, what_stays_torn_is_given_up);
    tcase_add_test(tc, without_objects_it_is_not_tried);
    return suite_run_case("hotspot_zgc", tc);
}
