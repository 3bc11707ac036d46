/* SPDX-License-Identifier: Apache-2.0 */
/* Objects in pages of a made-up heap: their classes and bytes, and words that look like objects. */
#include "suite.h"
#include "vm_image.h"

#include "discover/heap_pages.h"

#define PAGE 4096
#define PAGES 8

/* Offsets from VM_IMAGE, in bytes. */
enum {
    OBJECT = 0x100, /* classes: layout helper at 8, name at 16, super at 24 */
    CART = 0x200,
    BYTES = 0x300,
    ORPHAN = 0x400, /* has no java.lang.Object above it */
    NAMES = 0x800,
    HEAP = 0x1000
};

static struct hotspot_vm *vm;
static size_t names_n, end; /* end: of the last object */

static void put(size_t at, uint64_t word)
{
    vm_image_put(VM_IMAGE + at, word);
}

static void put_class(size_t at, const char *name, int32_t layout, size_t super)
{
    uint64_t symbol = VM_IMAGE + NAMES + names_n;

    vm_image_symbol(symbol, name, 6);
    put(at + 8, (uint32_t)layout);
    put(at + 16, symbol);
    put(at + 24, super ? VM_IMAGE + super : 0);
    names_n += 64;
}

static void setup(void)
{
    vm = vm_image_new();
    names_n = 0;
    end = HEAP;
    vm->names =
        (struct name_layout){ .known = true, .compressed_klass = true, .klass_base = VM_IMAGE };
    vm->layout.jdk = 21;
    vm->layout.oop_compressed_klass = vm_image_field(8, 4);
    vm->layout.klass_layout_helper = vm_image_field(8, 4);
    vm->layout.klass_name = vm_image_field(16, 8);
    vm->layout.klass_super = vm_image_field(24, 8);
    vm->layout.symbol_length = vm_image_field(0, 2);
    vm->layout.symbol_body = vm_image_field(8, 1);
    put_class(OBJECT, "java/lang/Object", 16, 0);
    put_class(CART, "shop/Cart", 40 | 1, OBJECT);
    put_class(BYTES, "[B", INT32_MIN | 16 << 16 | 8 << 8, OBJECT);
    put_class(ORPHAN, "shop/Orphan", 40, 0);
}

static void teardown(void)
{
    vm_unref(vm);
}

/* Puts an object behind the last one: @length bytes in it, if it is an array. */
static void put_object(size_t klass, uint32_t length)
{
    uint64_t mark = vm->names.compact_headers ? (uint64_t)klass << 42 | 1 : 0x12345601;

    put(end, mark);
    if (vm->names.compact_headers)
        put(end + 8, length);
    else
        put(end + 8, (uint64_t)length << 32 | klass);
    end += klass == CART ? 40 : (16 + length + 7) & ~7UL;
}

static void sample(struct heap_sample *ret, size_t page, uint32_t before_bytes)
{
    struct heap_page p = { VM_IMAGE + HEAP + page * PAGE, before_bytes };

    memset(ret, 0, sizeof(*ret));
    ck_assert_int_eq(hotspot_vm_heap_sample(vm, &p, 1, PAGE, ret), 0);
}

static uint64_t bytes_of(const struct heap_sample *s, const char *name)
{
    for (size_t i = 0; i < s->class_count; i++) {
        if (strcmp(s->classes[i].name, name) == 0)
            return s->classes[i].bytes;
    }
    return 0;
}

/* A page with 20 carts, each with an array of 160 bytes. */
static void fill(void)
{
    while (end + 216 <= HEAP + PAGE) {
        put_object(CART, 0);
        put_object(BYTES, 160);
    }
}

START_TEST(counts_by_class)
{
    struct heap_sample s;

    vm->names.compact_headers = _i;
    vm->names.mark_shift = 42;
    if (_i)
        put_class(BYTES, "[B", INT32_MIN | 16 << 16 | 8 << 8, OBJECT);
    fill();
    sample(&s, 0, 0);
    ck_assert_uint_eq(s.pages, 1);
    ck_assert_uint_eq(s.bytes, PAGE);
    ck_assert_uint_eq(s.class_count, 2);
    ck_assert_str_eq(s.classes[0].name, "[B"); /* the largest first */
    ck_assert_uint_eq(s.classes[0].bytes, 18 * 176);
    ck_assert_uint_eq(bytes_of(&s, "shop/Cart"), 18 * 40);
    ck_assert_uint_eq(s.known, 18 * 216);
}
END_TEST

/* The page begins within an object. What is before the page counts for that one alone. */
START_TEST(counts_what_lies_in_the_page)
{
    struct heap_sample s;

    put_object(CART, 0);
    put_object(BYTES, PAGE);
    put_object(CART, 0);
    put_object(CART, 0);
    sample(&s, 1, PAGE);
    ck_assert_uint_eq(bytes_of(&s, "[B"), 40 + 16);
    ck_assert_uint_eq(bytes_of(&s, "shop/Cart"), 80);
    sample(&s, 1, 0); /* the page before is not in memory */
    ck_assert_uint_eq(bytes_of(&s, "[B"), 0);
    ck_assert_uint_eq(bytes_of(&s, "shop/Cart"), 80);
}
END_TEST

/* Words in an array that look like a header, and a class of no class. */
START_TEST(believes_no_single_header)
{
    struct heap_sample s;
    size_t at;

    put_object(BYTES, 400);
    at = end;
    fill();
    put(HEAP + 160, 1);
    put(HEAP + 168, CART); /* a lie, found first if the array's own header is gone */
    put(HEAP, 0);
    put(at + 8, ORPHAN);
    sample(&s, 0, 0);
    ck_assert_uint_eq(bytes_of(&s, "shop/Orphan"), 0);
    ck_assert_uint_eq(bytes_of(&s, "shop/Cart") % 40, 0);
    ck_assert_uint_eq(bytes_of(&s, "shop/Cart"), (PAGE - 416) / 216 * 40 - 40);
}
END_TEST

START_TEST(leaves_out_what_is_gone)
{
    struct heap_page pages[] = { { VM_IMAGE + HEAP, 0 }, { VM_IMAGE + ((uint64_t)1 << 32), 0 } };
    struct heap_sample s;

    fill();
    ck_assert_int_eq(hotspot_vm_heap_sample(vm, pages, 2, PAGE, &s), 0);
    ck_assert_uint_eq(s.pages, 1);
    ck_assert_int_eq(hotspot_vm_heap_sample(vm, pages, 2, 2 * HEAP_SAMPLE_PAGE_BYTES_MAX, &s),
                     -ENOENT);
    vm->layout.klass_layout_helper.offset = -1;
    ck_assert_int_eq(hotspot_vm_heap_sample(vm, pages, 2, PAGE, &s), -ENOENT);
}
END_TEST

#define PRESENT (UINT64_C(1) << 63 | UINT64_C(1) << 56)

/* Each page in memory has the same chance, and knows what is in memory before it. */
START_TEST(chooses_pages_fairly)
{
    enum { ALL = 16384, BITE = 1024 };
    static struct heap_pages h;
    uint64_t entries[BITE], sum = 0;

    memset(&h, 0, sizeof(h));
    h.random = 77777;
    for (size_t i = 0; i < BITE; i++)
        entries[i] = i % 8 == 3 ? 0 : PRESENT;
    for (size_t i = 0; i < ALL; i += BITE)
        heap_pages_add(&h, i * PAGE, PAGE, entries, BITE);
    ck_assert_uint_eq(h.seen, ALL / 8 * 7);
    ck_assert_uint_eq(h.count, HEAP_SAMPLE_PAGES);
    for (size_t i = 0; i < h.count; i++) {
        size_t page = h.chosen[i].at / PAGE, since = (page + 8 - 4) % 8;

        ck_assert_uint_ne(page % 8, 3);
        if (page % BITE >= 8) /* before that, the bite is cut */
            ck_assert_uint_eq(h.chosen[i].before_bytes, MIN(since, (size_t)4) * PAGE);
        sum += page;
    }
    /* The mean of 256 is within 5 sigma of the middle: 16,384 / sqrt(12 * 256) is 1 sigma. */
    ck_assert_double_eq_tol((double)sum / (double)h.count, ALL / 2.0, 5 * 295.6);
}
END_TEST

/* So errors of one sample and of the next average out. */
START_TEST(chooses_other_pages_next_time)
{
    static struct heap_pages h[2];
    static uint64_t entries[4096];
    size_t same = 0;

    memset(h, 0, sizeof(h));
    for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
        entries[i] = PRESENT;
    for (size_t k = 0; k < 2; k++) {
        h[k].random = 1000000 + k;
        heap_pages_add(&h[k], 0, PAGE, entries, ARRAY_SIZE(entries));
    }
    for (size_t i = 0; i < HEAP_SAMPLE_PAGES; i++)
        same += h[0].chosen[i].at == h[1].chosen[i].at;
    ck_assert_uint_lt(same, HEAP_SAMPLE_PAGES / 2);
}
END_TEST

#define FLAG 0x600 /* from VM_IMAGE: the address and the number of flags, and one flag */

static void put_alignment_flag(uint64_t value)
{
    static const char NAME[] = "ObjectAlignmentInBytes";
    struct hotspot_layout *l = &vm->layout;

    l->flags_at = VM_IMAGE + FLAG;
    l->flag_count_at = VM_IMAGE + FLAG + 8;
    l->sizeof_JVMFlag = 24;
    l->flag_name = vm_image_field(0, 8);
    l->flag_address = vm_image_field(8, 8);
    l->flag_type = vm_image_field(16, 4);
    put(FLAG, VM_IMAGE + FLAG + 16);
    put(FLAG + 8, 1);
    put(FLAG + 16, VM_IMAGE + FLAG + 48);
    put(FLAG + 24, VM_IMAGE + FLAG + 40);
    put(FLAG + 32, 3); /* intx */
    put(FLAG + 40, value);
    memcpy(vm_image_at(VM_IMAGE + FLAG + 48), NAME, sizeof(NAME));
}

/* -XX:ObjectAlignmentInBytes=16: heaps of 32 to 64 GB have compressed references by it. References
 * of a heap below 4 GB are not shifted. */
START_TEST(knows_a_wider_alignment)
{
    struct heap_sample s;

    vm->names.compressed_oops = true;
    vm->names.oop_shift = _i ? 0 : 4;
    if (_i)
        put_alignment_flag(16);
    while (end + 224 <= HEAP + PAGE) {
        put_object(CART, 0);
        end += 8;
        put_object(BYTES, 160);
    }
    sample(&s, 0, 0);
    ck_assert_uint_eq(bytes_of(&s, "shop/Cart"), 18 * 48);
    ck_assert_uint_eq(bytes_of(&s, "[B"), 18 * 176);
}
END_TEST

#define HOSTILE_HEAP (VM_IMAGE + (UINT64_C(9) << 32))

static unsigned reads;

/* A heap full of headers, each with another class. Each class has another superclass, without
 * end. */
static ssize_t read_hostile(void *cookie, uint64_t address, void *buf, size_t n)
{
    uint64_t *words = buf;

    (void)cookie;
    reads++;
    for (size_t i = 0; i < n / sizeof(*words); i++) {
        uint64_t at = address + i * sizeof(*words);

        if (at < HOSTILE_HEAP)
            words[i] = (at + PAGE + 64) & ~UINT64_C(7);
        else
            words[i] = at / 8 % 2 ? UINT64_C(7) << 32 | ((at * 977) & 0xfffffff8) : 0x12345601;
    }
    return (ssize_t)n;
}

START_TEST(reads_few_pages_of_hostile_classes)
{
    static struct heap_page pages[HEAP_SAMPLE_PAGES];
    struct heap_sample s;

    memory_init(&vm->memory, read_hostile, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
        pages[i] = (struct heap_page){ HOSTILE_HEAP + i * 65536 + 16384, 16384 };
    reads = 0;
    ck_assert_int_eq(hotspot_vm_heap_sample(vm, pages, ARRAY_SIZE(pages), PAGE, &s), 0);
    ck_assert_uint_lt(reads, 10000); /* 262,335 without a limit */
    ck_assert_uint_eq(s.known, 0);
}
END_TEST

#define SHARING 80       /* classes whose words share a place */
#define PLACE_CLASSES 64 /* as many as a place has room for */
#define SYMBOLS (VM_IMAGE + (UINT64_C(8) << 32))
#define OBJECT_BYTES 16

static uint64_t sharing[SHARING]; /* addresses of classes */

static size_t place_of_class(uint64_t klass)
{
    return (size_t)((klass >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) % 8192;
}

/* Chooses the classes as a hostile JVM could: their words begin at one place of flamed's table. */
static void choose_sharing(void)
{
    uint64_t klass = VM_IMAGE + 4096;

    for (size_t n = 0; n < SHARING; klass += 8) {
        if (!n || place_of_class(klass) == place_of_class(sharing[0]))
            sharing[n++] = klass;
    }
}

/* Class j has j + 1 objects, one behind the other. */
static uint64_t heap_word(uint64_t offset)
{
    uint64_t object = offset / OBJECT_BYTES;

    for (size_t j = 0; j < SHARING; j++) {
        if (object <= j)
            return offset % OBJECT_BYTES ? sharing[j] - VM_IMAGE : 0x12345601;
        object -= j + 1;
    }
    return 0;
}

/* The symbol of class @j, whose name has four letters. */
static uint64_t symbol_word(size_t j, uint64_t offset)
{
    char name[9] = "";
    uint64_t word;

    snprintf(name, sizeof(name), "c%03u", (unsigned)j % 1000);
    memcpy(&word, name, sizeof(word));
    return offset == 0 ? 4 : offset == 8 ? word : 0;
}

static uint64_t sharing_word(uint64_t at)
{
    if (at >= HOSTILE_HEAP)
        return heap_word(at - HOSTILE_HEAP);
    if (at >= SYMBOLS)
        return symbol_word((at - SYMBOLS) / 64, at % 64);
    if (at < VM_IMAGE + 4096) /* java.lang.Object */
        return *(const uint64_t *)vm_image_at(at);
    for (size_t j = 0; j < SHARING; j++) {
        uint64_t offset = at - sharing[j];

        if (offset <= 24)
            return offset == 8    ? OBJECT_BYTES
                   : offset == 16 ? SYMBOLS + j * 64
                   : offset == 24 ? VM_IMAGE + OBJECT
                                  : 0;
    }
    return 0;
}

static ssize_t read_sharing(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    for (uint64_t i = 0, word = 0; i < n; i++) {
        uint64_t at = address + i;

        if (i == 0 || at % 8 == 0)
            word = sharing_word(at & ~UINT64_C(7));
        ((uint8_t *)buf)[i] = (uint8_t)(word >> at % 8 * 8);
    }
    return (ssize_t)n;
}

/* Words that share a place are still told apart, and there is an end to how many. */
START_TEST(mixes_up_no_classes_that_share_a_place)
{
    struct heap_page page = { HOSTILE_HEAP, 0 };
    struct heap_sample s;

    choose_sharing();
    memory_init(&vm->memory, read_sharing, NULL);
    ck_assert_int_eq(hotspot_vm_heap_sample(vm, &page, 1, HEAP_SAMPLE_PAGE_BYTES_MAX, &s), 0);
    ck_assert_uint_eq(s.class_count, HEAP_SAMPLE_CLASSES);
    for (unsigned i = 0; i < HEAP_SAMPLE_CLASSES; i++) {
        unsigned j = PLACE_CLASSES - 1 - i;
        char name[8];

        snprintf(name, sizeof(name), "c%03u", j);
        ck_assert_str_eq(s.classes[i].name, name);
        ck_assert_uint_eq(s.classes[i].bytes, (j + 1) * OBJECT_BYTES);
    }
    ck_assert_uint_eq(s.known, PLACE_CLASSES * (PLACE_CLASSES + 1) / 2 * OBJECT_BYTES);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("heap_sample");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, counts_by_class, 0, 2);
    tcase_add_test(tc, counts_what_lies_in_the_page);
    tcase_add_test(tc, believes_no_single_header);
    tcase_add_test(tc, leaves_out_what_is_gone);
    tcase_add_test(tc, chooses_pages_fairly);
    tcase_add_test(tc, chooses_other_pages_next_time);
    tcase_add_loop_test(tc, knows_a_wider_alignment, 0, 2);
    tcase_add_test(tc, reads_few_pages_of_hostile_classes);
    tcase_add_test(tc, mixes_up_no_classes_that_share_a_place);
    return suite_run_case("heap_sample", tc);
}
