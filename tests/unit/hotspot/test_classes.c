/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/classes.c: JDK 8's dictionary of all classes, in memory with any contents. */
#include "suite.h"
#include "vm_image.h"

#include "hotspot/classes.h"

#define DICTIONARY VM_IMAGE /* the static variable */
#define TABLE (VM_IMAGE + 0x40)
#define BUCKETS (VM_IMAGE + 0x80)
#define ENTRY(i) (VM_IMAGE + 0x200 + 0x40 * (uint64_t)(i))
#define CLASS(i) (VM_IMAGE + 0x800 + 0x40 * (uint64_t)(i))
#define LOADERS (VM_IMAGE + 0x1000) /* the static variable */
#define LOADER (VM_IMAGE + 0x1040)
#define SYMBOLS (VM_IMAGE + 0xc00)
#define ARCHIVED 1 /* bit of a link to an entry of the shared archive */
#define NOT_MAPPED 0x1000

/* Offsets, in bytes. */
enum { SIZE = 4, BUCKETS_OF_TABLE = 16, NEXT = 8, LITERAL = 24, NAME = 16 };

static struct hotspot_vm *vm;
static struct classes *wanted;
static uint64_t next_symbol;

static void setup(void)
{
    vm = vm_image_new();
    next_symbol = SYMBOLS;
    wanted = calloc(1, sizeof(*wanted));
    ck_assert_ptr_nonnull(wanted);
    vm->layout.klass_name = vm_image_field(NAME, 8);
    vm->layout.symbol_length = vm_image_field(0, 2);
    vm->layout.symbol_body = vm_image_field(2, 0);
    vm->layout.loader_next = vm->layout.loader_klasses = vm->layout.klass_next =
        vm_image_field(-1, 0);
    vm->layout.table_size = vm_image_field(SIZE, 4);
    vm->layout.table_buckets = vm_image_field(BUCKETS_OF_TABLE, 8);
    vm->layout.table_next = vm_image_field(NEXT, 8);
    vm->layout.table_literal = vm_image_field(LITERAL, 0);
    vm->layout.dictionary_at = DICTIONARY;
    vm_image_put(DICTIONARY, TABLE);
    vm_image_put(TABLE + BUCKETS_OF_TABLE, BUCKETS);
    vm_image_put_int(TABLE + SIZE, 4);
    ck_assert_int_eq(classes_want(wanted, "com/acme/Span"), 0);
    ck_assert_int_eq(classes_want(wanted, "com/acme/Scope"), 1);
}

static void teardown(void)
{
    vm_unref(vm);
    free(wanted);
}

/* Puts entry @i, of a class named @name, before the one at @next; NULL: an unreadable name. */
static void make_entry(int i, const char *name, uint64_t next)
{
    vm_image_put(ENTRY(i) + LITERAL, CLASS(i));
    vm_image_put(ENTRY(i) + NEXT, next);
    vm_image_put(CLASS(i) + NAME, name ? next_symbol : NOT_MAPPED);
    vm_image_symbol(next_symbol, name ? name : "", 0);
    next_symbol += 64;
}

static void put_bucket(int i, uint64_t entry)
{
    vm_image_put(BUCKETS + 8 * (uint64_t)i, entry);
}

/* Class number @i of the wanted ones is the class of entry @entry alone. */
static void assert_is(int i, int entry)
{
    ck_assert_uint_eq(wanted->wanted[i].count, 1);
    ck_assert_uint_eq(wanted->wanted[i].klasses[0], CLASS(entry));
}

START_TEST(finds_classes_in_each_bucket)
{
    put_bucket(0, ENTRY(0));
    make_entry(0, "java/lang/Object", ENTRY(1));
    make_entry(1, "com/acme/Scope", 0);
    put_bucket(3, ENTRY(2)); /* the last one */
    make_entry(2, "com/acme/Span", 0);
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    assert_is(0, 2);
    assert_is(1, 1);
    ck_assert(!wanted->partial);
}
END_TEST

START_TEST(passes_entries_of_the_shared_archive)
{
    put_bucket(1, ENTRY(0) | ARCHIVED);
    make_entry(0, "com/acme/Span", ENTRY(1) | ARCHIVED);
    make_entry(1, "com/acme/Scope", 0 | ARCHIVED);
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    assert_is(0, 0);
    assert_is(1, 1);
}
END_TEST

/* Each initiating loader of a class has an entry for it. Two loaders may define one each. */
START_TEST(keeps_classes_of_a_name_apart)
{
    put_bucket(0, ENTRY(0));
    make_entry(0, "com/acme/Span", ENTRY(1));
    make_entry(1, "com/acme/Span", ENTRY(2));
    make_entry(2, "com/acme/Span", 0);
    vm_image_put(ENTRY(2) + LITERAL, CLASS(0));
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    ck_assert_uint_eq(wanted->wanted[0].count, 2);
    ck_assert_uint_eq(wanted->wanted[0].klasses[0], CLASS(0));
    ck_assert_uint_eq(wanted->wanted[0].klasses[1], CLASS(1));
    ck_assert_uint_eq(wanted->wanted[1].count, 0);
}
END_TEST

START_TEST(ends_in_a_circle)
{
    put_bucket(2, ENTRY(0));
    make_entry(0, "com/acme/Span", ENTRY(1));
    make_entry(1, "com/acme/Scope", ENTRY(0));
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    assert_is(0, 0);
    assert_is(1, 1);
    ck_assert(wanted->partial);
}
END_TEST

/* More loaders, or more classes of one, than a walk visits: here, in a circle. */
START_TEST(a_limit_makes_a_walk_partial)
{
    vm->layout.loaders_at = LOADERS;
    vm->layout.loader_next = vm_image_field(8, 8);
    vm->layout.loader_klasses = vm_image_field(16, 8);
    vm->layout.klass_next = vm_image_field(24, 8);
    vm_image_put(LOADERS, LOADER);
    vm_image_put(LOADER + 16, CLASS(0));
    make_entry(0, "com/acme/Span", 0);
    vm_image_put(LOADER + 8, 0);
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    assert_is(0, 0);
    ck_assert(!wanted->partial);
    memory_begin(&vm->memory);
    vm_image_put(_i ? CLASS(0) + 24 : LOADER + 8, _i ? CLASS(0) : LOADER);
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    ck_assert(wanted->partial);
}
END_TEST

/* More buckets than the table has: what lies behind is read as buckets, too, and the end of memory
 * ends the walk. */
START_TEST(survives_a_lie_about_the_buckets)
{
    vm_image_put_int(TABLE + SIZE, UINT32_MAX);
    put_bucket(0, ENTRY(0));
    make_entry(0, "com/acme/Span", 0);
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    assert_is(0, 0);
    ck_assert(wanted->partial);
}
END_TEST

static const struct {
    uint64_t at, value;
} BROKEN[] = {
    { DICTIONARY, NOT_MAPPED },      { TABLE + BUCKETS_OF_TABLE, NOT_MAPPED },
    { BUCKETS + 8, NOT_MAPPED },     { ENTRY(0) + LITERAL, NOT_MAPPED },
    { ENTRY(0) + NEXT, UINT64_MAX }, { CLASS(0) + NAME, NOT_MAPPED },
};

/* What cannot be read makes the walk partial, so that flamed looks again. */
START_TEST(says_that_a_walk_was_partial)
{
    put_bucket(1, ENTRY(0));
    make_entry(0, "java/lang/Object", 0);
    vm_image_put(BROKEN[_i].at, BROKEN[_i].value);
    ck_assert_int_eq(classes_find(vm, wanted), 0);
    ck_assert(wanted->partial);
    ck_assert_uint_eq(wanted->wanted[0].count + wanted->wanted[1].count, 0);
}
END_TEST

START_TEST(needs_each_field)
{
    struct layout_field *const NEEDED[] = { &vm->layout.table_size, &vm->layout.table_buckets,
                                            &vm->layout.table_next, &vm->layout.table_literal };

    *NEEDED[_i] = vm_image_field(-1, 0);
    ck_assert_int_eq(classes_find(vm, wanted), -ENOENT);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("classes");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, finds_classes_in_each_bucket);
    tcase_add_test(tc, passes_entries_of_the_shared_archive);
    tcase_add_test(tc, keeps_classes_of_a_name_apart);
    tcase_add_test(tc, ends_in_a_circle);
    tcase_add_loop_test(tc, a_limit_makes_a_walk_partial, 0, 2);
    tcase_add_test(tc, survives_a_lie_about_the_buckets);
    tcase_add_loop_test(tc, says_that_a_walk_was_partial, 0, ARRAY_SIZE(BROKEN));
    tcase_add_loop_test(tc, needs_each_field, 0, 4);
    return suite_run_case("classes", tc);
}
