/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/: memory that makes flamed compute for long. All of it ends by its CPU time or steps. */
#include "suite.h"

#include "hotspot/code/code.h"
#include "hotspot_image.h"
#include "proc/stall_readers.h"

#include <fcntl.h>
#include <unistd.h>

#define CORPUS FLAMED_TEST_DATA "/../fuzz/corpus/hotspot/jdk25"
#define ENDLESS_NS (20 * NSEC_PER_SEC) /* CPU time without a limit */
#define CALLER_NS (READERS_CPU_NS / 2) /* CPU time of the thread that waits */
#define HELD_NS (60 * NSEC_PER_SEC)

static int proc_fd;
static struct image image;
static uint64_t page_cpu_ns; /* what a page of the image costs */
static const struct proc_id ID = { .host_pid = INT32_MAX - 21, .start_ticks = 1 },
                            OTHER = { .host_pid = INT32_MAX - 22, .start_ticks = 1 };

static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Stands for the read of a process. */
ssize_t __wrap_readers_pread(const struct proc_id *id, int fd, uint64_t at, void *buf, size_t n)
{
    uint64_t began_ns = cpu_ns();

    (void)id, (void)fd;
    while (cpu_ns() - began_ns < page_cpu_ns)
        ;
    return readers_next_page() ? image_read(&image, at, buf, n) : -ETIMEDOUT;
}

static void setup(void)
{
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    readers_use(proc_fd);
}

static void teardown(void)
{
    close(proc_fd);
    image_deinit(&image);
}

static size_t held(void)
{
    struct readers_stats s;

    readers_stats(&s);
    return s.held;
}

static void wait_for_none(void)
{
    uint64_t until_ns = clock_monotonic_ns() + HELD_NS;

    while (held() && clock_monotonic_ns() < until_ns)
        usleep(1000);
    ck_assert_uint_eq(held(), 0);
}

/* A JVM is opened in a reader, which is abandoned if that takes long. */
START_TEST(opening_ends)
{
    _cleanup_buf_ struct buf file = BUF_UPTO((size_t)1 << 20);
    struct error err = ERROR_NULL;
    struct hotspot_vm *vm = NULL;
    uint64_t began_ns;

    ck_assert_int_eq(buf_read_at(&file, AT_FDCWD, CORPUS), 0);
    ck_assert(image_parse(buf_span(&file), &image));
    page_cpu_ns = 0;
    ck_assert_int_eq(hotspot_vm_open(-1, &ID, image.base, &vm, &err), 0);
    ck_assert_int_eq(hotspot_vm_jdk(vm), 25);
    vm = hotspot_vm_close(vm);
    page_cpu_ns = READERS_CPU_NS / 4;
    began_ns = cpu_ns();
    ck_assert_int_eq(hotspot_vm_open(-1, &ID, image.base, &vm, &err), -ETIMEDOUT);
    ck_assert_uint_lt(cpu_ns() - began_ns, CALLER_NS);
    ck_assert_ptr_null(vm);
    wait_for_none();
}
END_TEST

static _Atomic int ended_by;
static char page[MEMORY_PAGE] __attribute__((aligned(4096))); /* reads are of whole pages */

/* Computes from one cached page. */
static int run_cached(struct hotspot_vm *vm, void *arg)
{
    uint64_t began_ns = cpu_ns(), v;
    int r = 0;

    (void)arg;
    while (r == 0 && cpu_ns() - began_ns < ENDLESS_NS)
        r = memory_u64(&vm->memory, (uintptr_t)page, &v);
    ended_by = r;
    return r;
}

static ssize_t read_own(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    memcpy(buf, (const char *)(uintptr_t)address, n); /* NOLINT(performance-no-int-to-ptr) */
    return (ssize_t)n;
}

static struct hotspot_vm *vm_of(memory_read_fn read)
{
    struct hotspot_vm *vm = calloc(1, sizeof(*vm));

    ck_assert_ptr_nonnull(vm);
    atomic_init(&vm->users, 1);
    vm->id = OTHER;
    memset(&vm->layout, 0xff, sizeof(vm->layout)); /* no field is there */
    memory_init(&vm->memory, read, NULL);
    return vm;
}

/* An abandoned reader reads nothing more, not even what it has cached. */
START_TEST(an_abandoned_reader_ends)
{
    struct hotspot_vm *vm = vm_of(read_own);
    int none = 0;

    ended_by = 0;
    do { /* it is refused while all owners together used up their time */
        usleep(1000);
        ck_assert_int_eq(vm_call(vm, run_cached, &none, sizeof(none)), -ETIMEDOUT);
    } while (!vm_is_left(vm) && !ended_by);
    wait_for_none();
    ck_assert_int_eq(ended_by, -ETIMEDOUT);
    hotspot_vm_close(vm);
}
END_TEST

/* ---- an nmethod with millions of records ---- */

#define CODE UINT64_C(0x7f1000000000)
#define BLOB (CODE + 16)
#define SEGMENTS UINT64_C(0x7f1100000000)
#define RECORDS UINT64_C(0x7f1200000000)
#define RECORD_BYTES 16
#define RECORD_COUNT ((uint32_t)2 << 20)
#define SCOPES (RECORDS + (uint64_t)RECORD_COUNT * RECORD_BYTES)
#define SCOPE_BYTES 3
#define SCOPES_DEEP 63
#define SCOPES_SIZE (SCOPE_BYTES * (SCOPES_DEEP + 1))
#define METHOD UINT64_C(0x7f1300000000)
#define HEAD_BYTES 80 /* the code begins in the first segment */
#define CODE_BYTES (RECORD_COUNT + 64)
#define BLOB_BYTES (HEAD_BYTES + CODE_BYTES + 8)

static bool ascending;
static uint8_t second_tag; /* of the segment map, for the second segment */

static struct {
    uint64_t segments, used; /* of the block */
    uint64_t name, begin, end, method, records;
    uint32_t size, compile_id, state, records_size, scopes_at, records_at, metadata_at, rest;
    char text[8];
} head;

static void put_head(void)
{
    memset(&head, 0, sizeof(head));
    head.segments = BLOB_BYTES / 128 + 1;
    head.used = 1;
    head.name = CODE + offsetof(__typeof__(head), text);
    head.begin = BLOB + HEAD_BYTES;
    head.end = head.begin + CODE_BYTES;
    head.method = METHOD;
    head.records = RECORDS;
    head.size = BLOB_BYTES;
    head.compile_id = 7;
    head.records_size = RECORD_COUNT * RECORD_BYTES + SCOPES_SIZE;
    head.scopes_at = RECORD_COUNT * RECORD_BYTES;
    memcpy(head.text, "nmethod", sizeof(head.text));
}

static uint8_t record_byte(uint64_t at)
{
    uint64_t i = at / RECORD_BYTES, in = at % RECORD_BYTES;
    uint32_t pc = ascending ? (uint32_t)i : (uint32_t)i % 2;
    uint32_t fields[RECORD_BYTES / 4] = { pc, SCOPE_BYTES * SCOPES_DEEP };
    uint8_t bytes[RECORD_BYTES];

    memcpy(bytes, fields, sizeof(bytes));
    return bytes[in];
}

static uint8_t byte_at(uint64_t at)
{
    if (at - CODE < sizeof(head))
        return ((const uint8_t *)&head)[at - CODE];
    if (at == SEGMENTS + 1)
        return second_tag;
    if (at - RECORDS < RECORD_COUNT * RECORD_BYTES)
        return record_byte(at - RECORDS);
    if (at - SCOPES < SCOPES_SIZE) /* the caller's scope, the first method, bci 0 */
        return (at - SCOPES) % SCOPE_BYTES ? 1 : (uint8_t)(MAX(at - SCOPES, (uint64_t)3) - 3);
    if (at - head.end < sizeof(uint64_t))
        return (uint8_t)(METHOD >> (8 * (at - head.end)));
    return 0;
}

static ssize_t read_records(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)buf)[i] = byte_at(address + i);
    return (ssize_t)n;
}

static struct layout_field at(size_t offset, uint8_t width)
{
    return (struct layout_field){ .offset = (int32_t)offset - 16, .width = width };
}

#define AT(member) at(offsetof(__typeof__(head), member), sizeof(head.member))

static struct hotspot_vm *vm_of_records(void)
{
    struct hotspot_vm *vm = vm_of(read_records);
    struct hotspot_layout *l = &vm->layout;

    put_head();
    l->jdk = 17;
    l->run = true;
    l->sizeof_HeapBlock = 16;
    l->heap_block_header = (struct layout_field){ 0, 0, false };
    l->block_length = (struct layout_field){ 0, 8, false };
    l->block_used = (struct layout_field){ 8, 1, false };
    l->sizeof_CodeBlob = 32;
    l->sizeof_nmethod = HEAD_BYTES;
    l->blob_name = AT(name);
    l->blob_code_begin = AT(begin);
    l->blob_code_end = AT(end);
    l->blob_size = AT(size);
    l->blob_frame_size = l->blob_frame_complete = AT(rest);
    l->nmethod_method = AT(method);
    l->nmethod_compile_id = AT(compile_id);
    l->nmethod_state = AT(state);
    l->nmethod_level = l->nmethod_entry_bci = l->nmethod_orig_pc = AT(rest);
    l->nmethod_verified_entry_offset = l->nmethod_deopt_offset = AT(rest);
    l->nmethod_immutable_data = AT(records);
    l->nmethod_immutable_data_size = AT(records_size);
    l->nmethod_scopes_pcs_offset = AT(records_at);
    l->nmethod_scopes_data_offset = AT(scopes_at);
    l->nmethod_metadata_offset = AT(metadata_at);
    l->sizeof_PcDesc = RECORD_BYTES;
    l->pc_desc_pc = (struct layout_field){ 0, 4, true };
    l->pc_desc_scope = (struct layout_field){ 4, 4, true };
    vm->code.heap_count = 1;
    vm->code.heaps[0] = (struct code_heap){
        .low = CODE, .high = CODE + ((uint64_t)1 << 30), .segmap = SEGMENTS, .log2_segment = 7
    };
    vm->code.low = CODE;
    vm->code.high = vm->code.heaps[0].high;
    return vm;
}

static int see_range(void *cookie, uint64_t start, uint64_t end, const struct hotspot_location *at,
                     size_t n)
{
    (void)start, (void)end, (void)at;
    *(size_t *)cookie = MAX(*(size_t *)cookie, n);
    return 0;
}

static const struct {
    bool ascending;
    int result;
} TABLES[] = { { false, -ERANGE }, { true, -E2BIG } };

/* The ranges of an nmethod end at records that do not ascend, and at too many scopes. */
START_TEST(records_end)
{
    struct hotspot_vm *vm = vm_of_records();
    struct hotspot_code code;
    uint64_t began_ns = cpu_ns();
    size_t frames = 0;

    ascending = TABLES[_i].ascending;
    ck_assert_int_eq(code_read(vm, BLOB, CODE + head.segments * 128, true, &code), 0);
    ck_assert_int_eq(code.kind, HOTSPOT_CODE_COMPILED);
    ck_assert_int_eq(hotspot_code_ranges(vm, &code, see_range, &frames), TABLES[_i].result);
    ck_assert_uint_lt(cpu_ns() - began_ns, 2 * NSEC_PER_SEC);
    hotspot_vm_close(vm);
}
END_TEST

static int count_code(void *cookie, const struct hotspot_code *code)
{
    (void)code;
    ++*(int *)cookie;
    return 0;
}

/* A walk ends at its time, and goes on where it ended. If that is no block any more, it goes on
 * with the block that took its place. */
START_TEST(a_walk_goes_on)
{
    struct hotspot_vm *vm = vm_of_records();
    struct hotspot_codes_at at = { .until_ns = 1 };
    int count = 0;

    head.segments = 1; /* each block of the heap has none, but the first */
    head.size = 32;
    head.begin = head.end = BLOB + 32;
    ck_assert_int_eq(hotspot_vm_codes(vm, &at, count_code, &count), -EINPROGRESS);
    ck_assert_int_eq(count, 1);
    ck_assert_uint_eq(at.block, CODE + 128);
    ck_assert_int_eq(hotspot_vm_codes(vm, &at, count_code, &count), 0);
    ck_assert_int_eq(count, 1);

    at = (struct hotspot_codes_at){ .until_ns = 1 };
    ck_assert_int_eq(hotspot_vm_codes(vm, &at, count_code, &count), -EINPROGRESS);
    ck_assert_int_eq(count, 2);
    head.segments = 2;
    second_tag = 1;
    at.until_ns = 0;
    ck_assert_int_eq(hotspot_vm_codes(vm, &at, count_code, &count), 1);
    ck_assert_int_eq(count, 3);
    second_tag = 0;
    hotspot_vm_close(vm);
}
END_TEST

/* Counts @code, and lets the VM merge the block behind it with it, once. */
static int count_and_merge(void *cookie, const struct hotspot_code *code)
{
    if (head.segments == 1) {
        head.segments = 2;
        second_tag = 1;
    }
    return count_code(cookie, code);
}

/* A walk that is between two blocks when the VM merges them goes on with the merged one. */
START_TEST(a_walk_outlives_a_merge)
{
    struct hotspot_vm *vm = vm_of_records();
    struct hotspot_codes_at at = { 0 };
    int count = 0;

    head.segments = 1;
    head.size = 32;
    head.begin = head.end = BLOB + 32;
    ck_assert_int_eq(hotspot_vm_codes(vm, &at, count_and_merge, &count), 2);
    ck_assert_int_eq(count, 2);
    second_tag = 0;
    hotspot_vm_close(vm);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("limits");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, opening_ends);
    tcase_add_test(tc, an_abandoned_reader_ends);
    tcase_add_loop_test(tc, records_end, 0, (int)ARRAY_SIZE(TABLES));
    tcase_add_test(tc, a_walk_goes_on);
    tcase_add_test(tc, a_walk_outlives_a_merge);
    return suite_run_case("hotspot_limits", tc);
}
