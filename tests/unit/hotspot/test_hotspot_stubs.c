/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of stubs in hostile memory: a valid list, a grown one, one without end, loops, overlaps
 * and nonsense. All work is bounded, and left out entries are counted.
 */
#include "suite.h"

#include "base/clock.h"
#include "hotspot/vm.h"

#define IMAGE UINT64_C(0x7f0000000000) /* libjvm: the texts of names, then data */
#define IMAGE_BYTES 0x40000
#define TEXT IMAGE
#define DATA (IMAGE + 0x20000)
#define HEAD (DATA + 0x1008)
#define CODE UINT64_C(0x7f1000000000)
#define CODE_BYTES 0x100000
#define HEAP UINT64_C(0x7f2000000000)
#define HEAP_BYTES 0x10000
#define NODE 48
#define RETURN (CODE + 0x1040) /* the return address of call_stub */

static uint8_t image[IMAGE_BYTES], heap[HEAP_BYTES];
static struct hotspot_vm vm;
static size_t text_n, node_n, reads;
static bool endless; /* true: the heap has no end, and each node leads to the next */

static ssize_t read_some(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    reads++;
    if (address >= IMAGE && address - IMAGE < IMAGE_BYTES) {
        n = MIN(n, (size_t)(IMAGE + IMAGE_BYTES - address));
        memcpy(buf, image + (address - IMAGE), n);
        return (ssize_t)n;
    }
    if (address >= HEAP && address - HEAP < HEAP_BYTES) {
        n = MIN(n, (size_t)(HEAP + HEAP_BYTES - address));
        memcpy(buf, heap + (address - HEAP), n);
        return (ssize_t)n;
    }
    if (endless && address >= HEAP) {
        for (size_t i = 0; i < n; i++) { /* words of nodes with 64 bytes */
            uint64_t at = (address + i) & ~UINT64_C(63), words[8] = { at + 64, TEXT, TEXT };

            words[3] = CODE + 0x2000 + (at / 64 % 0x8000) * 16;
            words[4] = words[3] + 16;
            ((uint8_t *)buf)[i] = ((uint8_t *)words)[(address + i) & 63];
        }
        return (ssize_t)n;
    }
    return -EIO;
}

static void put(uint64_t at, uint64_t v)
{
    uint8_t *p = at >= HEAP ? heap + (at - HEAP) : image + (at - IMAGE);

    memcpy(p, &v, sizeof(v));
}

static uint64_t text(const char *s)
{
    uint64_t at = TEXT + text_n;

    memcpy(image + text_n, s, strlen(s) + 1);
    text_n += strlen(s) + 1;
    return at;
}

/* Makes a node before @next. Returns its address. */
static uint64_t node_at(uint64_t next, uint64_t name, uint64_t begin, uint64_t end)
{
    uint64_t at = HEAP + node_n++ * NODE;
    unsigned shift = vm.layout.jdk == 8 ? 8 : 0;

    ck_assert_uint_le(node_n * NODE, HEAP_BYTES);
    put(at, next);
    put(at + 8, TEXT);
    put(at + 16, name);
    if (shift)
        put(at + 24, 0x7ffffff00000000 + node_n); /* an int, and other bytes beside it */
    put(at + 24 + shift, begin);
    put(at + 32 + shift, end);
    return at;
}

static uint64_t node(uint64_t next, const char *name, uint64_t begin, uint64_t end)
{
    return node_at(next, text(name), CODE + begin, CODE + end);
}

static uint64_t call_stub(uint64_t next)
{
    return node(next, "call_stub", 0x1000, 0x1100);
}

static void prepare(int jdk)
{
    memset(image, 0, sizeof(image));
    memset(heap, 0, sizeof(heap));
    memset(&vm, 0, sizeof(vm));
    text_n = node_n = reads = 0;
    endless = false;
    vm.layout.jdk = jdk;
    vm.layout.image_start = IMAGE;
    vm.layout.image_end = IMAGE + IMAGE_BYTES;
    vm.layout.data_start = DATA;
    vm.layout.data_end = IMAGE + IMAGE_BYTES;
    vm.layout.call_stub_return_at = DATA + 0x2010;
    vm.code.call_stub_return = RETURN;
    vm.code.low = CODE;
    vm.code.high = CODE + CODE_BYTES;
    memory_init(&vm.memory, read_some, NULL);
    text("StubRoutines");
}

static void finish(void)
{
    stubs_deinit(&vm.stubs);
}

/* Returns the name of the code at @pc. One blob spans all code. */
static const char *name_at(uint64_t pc)
{
    static struct hotspot_code code;

    code = (struct hotspot_code){ .kind = HOTSPOT_CODE_STUB,
                                  .start = CODE,
                                  .end = CODE + CODE_BYTES,
                                  .name = "StubRoutines (1)" };
    memory_begin(&vm.memory);
    stubs_refine(&vm, CODE + pc, &code);
    ck_assert(code.part == (strcmp(code.name, "StubRoutines (1)") != 0));
    ck_assert(CODE + pc >= code.start && CODE + pc < code.end);
    return code.name;
}

static const int RELEASES[] = { 8, 25 };

START_TEST(names_what_the_list_has)
{
    uint64_t first;

    prepare(RELEASES[_i]);
    first = node(call_stub(node(0, "fence", 0x3000, 0x3007)), "jint_arraycopy", 0x2000, 0x2100);
    put(HEAD, first);
    ck_assert_str_eq(name_at(0x1040), "call_stub");
    ck_assert_str_eq(name_at(0x2000), "jint_arraycopy");
    ck_assert_str_eq(name_at(0x20ff), "jint_arraycopy");
    ck_assert_str_eq(name_at(0x3006), "fence");
    ck_assert_str_eq(name_at(0x3007), "StubRoutines (1)");
    ck_assert_str_eq(name_at(0xfff), "StubRoutines (1)");
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).named, 3);
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).dropped, 0);
    /* The VM makes more stubs: the old ones follow in the list. */
    put(HEAD, node(first, "md5_implCompress", 0x4000, 0x4100));
    ck_assert_str_eq(name_at(0x4010), "md5_implCompress");
    ck_assert_str_eq(name_at(0x2000), "jint_arraycopy");
    ck_assert_uint_eq(vm.stubs.searches, 0);
    finish();
}
END_TEST

START_TEST(names_as_of_26)
{
    prepare(26);
    put(HEAD, node(node(0, "Stub Generator call_stub_stub", 0x1000, 0x1100), "", 0x2000, 0x2100));
    ck_assert_str_eq(name_at(0x1040), "Stub Generator call_stub_stub");
    ck_assert_str_eq(name_at(0x2000), "StubRoutines"); /* named by its group */
    finish();
}
END_TEST

/* The VM links an entry first, then makes the code, and writes its end last. */
START_TEST(takes_what_is_finished_later)
{
    unsigned end = RELEASES[_i] == 8 ? 40 : 32;
    uint64_t inner, outer;
    size_t before;

    prepare(RELEASES[_i]);
    inner = node_at(call_stub(0), text("mulAdd"), CODE + 0x2000, 0);
    outer = node_at(inner, text("squareToLen"), CODE + 0x3000, 0);
    put(HEAD, outer);
    ck_assert_str_eq(name_at(0x2000), "StubRoutines (1)");
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).dropped, 0);
    put(inner + end, CODE + 0x2100);
    put(outer + end, CODE + 0x3100);
    ck_assert_str_eq(name_at(0x2000), "mulAdd");
    ck_assert_str_eq(name_at(0x3000), "squareToLen");
    before = vm.stubs.named.count;
    ck_assert_str_eq(name_at(0x4000), "StubRoutines (1)");
    ck_assert_uint_eq(vm.stubs.unfinished_at, 0);
    ck_assert_uint_eq(vm.stubs.named.count, before);
    finish();
}
END_TEST

/* One entry never gets its end: the list is not read again for it. */
START_TEST(waits_for_no_end)
{
    size_t before;

    prepare(25);
    put(HEAD, node_at(call_stub(0), text("never"), CODE + 0x2000, 0));
    name_at(0x2000);
    before = reads;
    name_at(0x2000);
    ck_assert_uint_le(reads - before, 2); /* the head and that end */
    finish();
}
END_TEST

/* A list without proof is not used, and the number of searches is limited. */
START_TEST(takes_no_list_without_proof)
{
    size_t before;

    prepare(25);
    put(HEAD, node(node(0, "call_stub", 0x5000, 0x5100), "jint_arraycopy", 0x2000, 0x2100));
    put(DATA + 0x9000, node(0, "caller", 0x1000, 0x1100));
    put(DATA + 0x9008, HEAP + 4); /* not aligned */
    put(DATA + 0x9010, HEAP + HEAP_BYTES - 8);
    put(DATA + 0x9018, UINT64_MAX);
    for (int i = 0; i < 10; i++)
        ck_assert_str_eq(name_at(0x2000), "StubRoutines (1)");
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).named, 0);
    before = reads;
    name_at(0x2000);
    ck_assert_uint_eq(reads, before);
    finish();
}
END_TEST

START_TEST(survives_loops)
{
    uint64_t a, b;

    prepare(25);
    b = call_stub(0);
    a = node(b, "a", 0x2000, 0x2100);
    put(b, _i ? a : b); /* a loop to the head or to itself */
    put(HEAD, a);
    ck_assert_str_eq(name_at(0x2000), "a");
    ck_assert_str_eq(name_at(0x1000), "call_stub");
    ck_assert_uint_le(hotspot_vm_stubs(&vm).named, STUBS_MAX);
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).dropped, 1);
    finish();
}
END_TEST

START_TEST(counts_what_makes_no_sense)
{
    uint64_t at;

    prepare(25);
    at = call_stub(0);
    at = node(at, "backwards", 0x3000, 0x2000);                     /* 1 */
    at = node(at, "outside", CODE_BYTES - 0x10, CODE_BYTES + 0x10); /* 2 */
    at = node(at, "huge", 0x4000, 0x4000 + (2 << 20));              /* 3 */
    at = node_at(at, 0x5000, CODE + 0x5000, CODE + 0x5100);         /* 4: its name is not mapped */
    at = node_at(at, text("unfinished"), CODE + 0x6000, 0);         /* still being made */
    at = node(at, "nothing", 0x7000, 0x7000);
    put(HEAD, at);
    ck_assert_str_eq(name_at(0x1040), "call_stub");
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).named, 1);
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).dropped, 4);
    /* An entry that is no descriptor ends the list. */
    put(at + 24, 0x1000);
    put(HEAD, node(at, "last", 0x8000, 0x8100));
    ck_assert_str_eq(name_at(0x1040), "call_stub"); /* proven entries stay */
    ck_assert_str_eq(name_at(0x8000), "StubRoutines (1)");
    finish();
}
END_TEST

START_TEST(takes_the_innermost_of_overlapping_ones)
{
    uint64_t at;

    prepare(25);
    at = node(call_stub(0), "outer", 0x2000, 0x3000);
    at = node(at, "inner", 0x2100, 0x2200);
    at = node(at, "across", 0x2f00, 0x3100);
    put(HEAD, at);
    ck_assert_str_eq(name_at(0x2050), "outer");
    ck_assert_str_eq(name_at(0x2150), "inner");
    ck_assert_str_eq(name_at(0x2250), "outer");
    ck_assert_str_eq(name_at(0x2f50), "across");
    ck_assert_str_eq(name_at(0x3050), "across");
    finish();
}
END_TEST

START_TEST(cuts_names_without_end)
{
    uint64_t name;

    prepare(25);
    name = TEXT + 0x1000;
    memset(image + 0x1000, 'x', DATA - TEXT - 0x1000);
    put(HEAD, node_at(call_stub(0), name, CODE + 0x2000, CODE + 0x2100));
    ck_assert_uint_eq(strlen(name_at(0x2000)), STUBS_NAME_MAX - 1);
    finish();
}
END_TEST

START_TEST(a_million_entries_are_cut)
{
    uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    prepare(25);
    endless = true;
    put(HEAD, call_stub(HEAP + HEAP_BYTES)); /* from here on each node leads to the next */
    ck_assert_str_eq(name_at(0x1040), "call_stub");
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).named, STUBS_MAX);
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).dropped, 1);
    ck_assert_uint_le(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began, 2 * NSEC_PER_SEC);
    finish();
}
END_TEST

/* Every word of the data leads to such a list, but none proves itself. */
START_TEST(a_search_ends)
{
    uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    prepare(25);
    endless = true;
    for (uint64_t at = DATA; at < IMAGE + IMAGE_BYTES; at += 8)
        put(at, HEAP + HEAP_BYTES + (at - DATA) * 8);
    for (int i = 0; i < 10; i++)
        ck_assert_str_eq(name_at(0x1040), "StubRoutines (1)");
    ck_assert_uint_eq(hotspot_vm_stubs(&vm).named, 0);
    ck_assert_uint_le(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began, 5 * NSEC_PER_SEC);
    finish();
}
END_TEST

struct pieces {
    struct hotspot_code at[16];
    int n;
};

static int take_piece(void *cookie, const struct hotspot_code *c)
{
    struct pieces *p = cookie;

    p->at[p->n++] = *c;
    return p->n == (int)ARRAY_SIZE(p->at);
}

START_TEST(lists_a_blob_by_its_stubs)
{
    static const struct {
        uint64_t start, end;
        const char *name;
    } WANT[] = { { 0x900, 0x1000, "blob" },  { 0x1000, 0x1100, "call_stub" },
                 { 0x1110, 0x1200, "near" }, { 0x1200, 0x1300, "blob" },
                 { 0x1300, 0x1400, "far" },  { 0x1400, 0x1500, "blob" } };
    struct hotspot_code blob = {
        .kind = HOTSPOT_CODE_STUB, .start = CODE + 0x900, .end = CODE + 0x1500, .name = "blob"
    };
    struct pieces got = { .n = 0 };
    int count = 0;

    prepare(25);
    put(HEAD, node(node(node(call_stub(0), "near", 0x1110, 0x1200), "far", 0x1300, 0x1400),
                   "elsewhere", 0x8000, 0x8100));
    name_at(0x1000);
    ck_assert_int_eq(stubs_each(&vm, &blob, take_piece, &got, &count), 0);
    ck_assert_int_eq(count, (int)ARRAY_SIZE(WANT));
    for (size_t i = 0; i < ARRAY_SIZE(WANT); i++) {
        ck_assert_uint_eq(got.at[i].start, CODE + WANT[i].start);
        ck_assert_uint_eq(got.at[i].end, CODE + WANT[i].end);
        ck_assert_str_eq(got.at[i].name, WANT[i].name);
        ck_assert_int_eq(got.at[i].part, strcmp(WANT[i].name, "blob") != 0);
    }
    finish();
}
END_TEST

static void put_vtable_stub(uint64_t at)
{
    put(at + 8, UINT64_C(1) << 48 | UINT64_C(2) << 32 | 1 << 16); /* is_vtable, and two offsets */
}

/* A blob of vtable stubs that fills the heap. */
static void put_vtable_blob(void)
{
    struct hotspot_layout *l = &vm.layout;

    l->sizeof_HeapBlock = 16;
    l->block_length = (struct layout_field){ 0, 8, false };
    l->block_used = (struct layout_field){ 8, 1, false };
    l->sizeof_CodeBlob = l->sizeof_nmethod = 48;
    l->blob_size = (struct layout_field){ 0, 4, false };
    l->blob_name = (struct layout_field){ 8, 8, false };
    l->blob_code_begin = (struct layout_field){ 16, 8, false };
    l->blob_code_end = (struct layout_field){ 24, 8, false };
    l->blob_frame_size = l->blob_frame_complete = (struct layout_field){ 32, 4, false };
    l->blob_kind = (struct layout_field){ 40, 1, false };
    l->blob_kind_nmethod = 1;
    vm.code.heap_count = 1;
    vm.code.heaps[0] = (struct code_heap){
        .low = HEAP, .high = HEAP + HEAP_BYTES, .segmap = DATA + 0x8000, .log2_segment = 16
    };
    vm.code.low = HEAP;
    vm.code.high = HEAP + HEAP_BYTES;
    put(HEAP, 1);
    put(HEAP + 8, 1);
    put(HEAP + 16, HEAP_BYTES - 16);
    put(HEAP + 24, text(VTABLE_BLOB));
    put(HEAP + 32, HEAP + 64);
    put(HEAP + 40, HEAP + HEAP_BYTES);
}

/* Bytes of a stub that look like another one, 8 or 16 behind it, are none. */
START_TEST(vtable_stubs_have_an_end)
{
    static const unsigned AT[] = { 0x100, 0x108, 0x200, 0x210, 0x300 };
    const struct stub_table *found = &vm.stubs.vtables;

    prepare(25);
    put_vtable_blob();
    for (size_t i = 0; i < ARRAY_SIZE(AT); i++) {
        put_vtable_stub(HEAP + AT[i]);
        put(DATA + 0x1000 + 8 * i, HEAP + AT[i]);
    }
    memory_begin(&vm.memory);
    stubs_read_vtables(&vm);
    ck_assert_uint_eq(found->count, 3);
    for (size_t i = 0; i < found->count; i++) {
        ck_assert_uint_eq(found->at[i].start, HEAP + 0x110 + i * 0x100);
        ck_assert_uint_eq(found->at[i].end, found->at[i].start + 0xf0);
    }
    finish();
}
END_TEST

/* Puts half an adapter as JDK 17 makes it, after @before bytes of moves. */
static uint64_t put_adapter(size_t before)
{
    static const uint8_t END[] = { 0x49, 0x89, 0x9f, 0xfe, 0x02, 0, 0, /* mov [r15+0x2fe], rbx */
                                   0x48, 0x8b, 0xc3,                   /* mov rax, rbx */
                                   0x41, 0xff, 0xe3 };                 /* jmp r11 */

    memset(image + (DATA - IMAGE), 0x90, 0x8000);
    memcpy(image + (DATA - IMAGE) + before, END, sizeof(END));
    return DATA + before + sizeof(END);
}

static const size_t ADAPTERS[] = { 0, 40, 2030, 2034, 2035, 2040, 2048, 4090, 16000 };

START_TEST(tells_an_adapter_by_its_direction)
{
    struct hotspot_code blob = {
        .kind = HOTSPOT_CODE_STUB, .start = DATA, .end = DATA + 0x5000, .name = ADAPTERS_BLOB
    };
    struct pieces got = { .n = 0 };
    struct hotspot_code code = blob;
    uint64_t middle;
    int count = 0;

    prepare(17);
    middle = put_adapter(ADAPTERS[_i]);
    stubs_refine(&vm, middle - 1, &code);
    ck_assert_str_eq(code.name, "I2C adapter");
    ck_assert(code.part && code.start == DATA && code.end == middle);
    code = blob;
    stubs_refine(&vm, middle, &code);
    ck_assert_str_eq(code.name, "C2I adapter");
    ck_assert(code.part && code.start == middle && code.end == blob.end);
    ck_assert_int_eq(stubs_each(&vm, &blob, take_piece, &got, &count), 0);
    ck_assert_int_eq(count, 2);
    ck_assert_str_eq(got.at[0].name, "I2C adapter");
    ck_assert_str_eq(got.at[1].name, "C2I adapter");
    ck_assert_uint_eq(got.at[0].end, middle);
    ck_assert_uint_eq(got.at[1].start, middle);
    finish();
}
END_TEST

/* The adapter keeps the name of both halves if it has no such end, none at an allowed place, or no
 * memory. */
START_TEST(leaves_other_adapters_alone)
{
    struct hotspot_code blob = { .kind = HOTSPOT_CODE_STUB,
                                 .start = _i == 2 ? CODE : DATA,
                                 .end = (_i == 2 ? CODE : DATA) + 0x8000,
                                 .name = ADAPTERS_BLOB };
    struct pieces got = { .n = 0 };
    struct hotspot_code code = blob;
    int count = 0;

    prepare(17);
    put_adapter(_i == 0 ? 0x7ff8 : 16384 - 12);
    stubs_refine(&vm, blob.start + 0x10, &code);
    ck_assert_str_eq(code.name, ADAPTERS_BLOB);
    ck_assert(!code.part && code.end == blob.end);
    ck_assert_int_eq(stubs_each(&vm, &blob, take_piece, &got, &count), 0);
    ck_assert_int_eq(count, 1);
    ck_assert_str_eq(got.at[0].name, ADAPTERS_BLOB);
    finish();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("stubs");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, names_what_the_list_has, 0, ARRAY_SIZE(RELEASES));
    tcase_add_test(tc, names_as_of_26);
    tcase_add_loop_test(tc, takes_what_is_finished_later, 0, ARRAY_SIZE(RELEASES));
    tcase_add_test(tc, waits_for_no_end);
    tcase_add_test(tc, takes_no_list_without_proof);
    tcase_add_loop_test(tc, survives_loops, 0, 2);
    tcase_add_test(tc, counts_what_makes_no_sense);
    tcase_add_test(tc, takes_the_innermost_of_overlapping_ones);
    tcase_add_test(tc, cuts_names_without_end);
    tcase_add_test(tc, a_million_entries_are_cut);
    tcase_add_test(tc, a_search_ends);
    tcase_add_test(tc, lists_a_blob_by_its_stubs);
    tcase_add_test(tc, vtable_stubs_have_an_end);
    tcase_add_loop_test(tc, tells_an_adapter_by_its_direction, 0, ARRAY_SIZE(ADAPTERS));
    tcase_add_loop_test(tc, leaves_other_adapters_alone, 0, 3);
    return suite_run_case("hotspot_stubs", tc);
}
