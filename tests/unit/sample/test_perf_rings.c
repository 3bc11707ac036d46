/* SPDX-License-Identifier: Apache-2.0 */
/* sample/perf_rings.c: samples in the kernel's format, and broken ones. A file stands for a ring,
 * laid out like the kernel's pages. */
#include "suite.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "sample/perf_rings.h"
#include "unwind/unwind.h"

#include <sys/mman.h>

#define RING_BYTES 4096u
#define PERIOD 5025120ull /* with low bits of 0 */
#define STACK_WORDS 4

static size_t page;

static struct fake {
    int fd;
    struct perf_event_mmap_page *head;
    char *data;
    struct perf_rings *rings;
} fake;

static void fake_setup(void)
{
    int fd;

    page = (size_t)sysconf(_SC_PAGESIZE);
    fake.fd = memfd_create("rings", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(fake.fd, (off_t)(page + RING_BYTES)), 0);
    fake.head = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fake.fd, 0);
    ck_assert_ptr_ne(fake.head, MAP_FAILED);
    fake.data = (char *)fake.head + page;
    fake.rings = perf_rings_new();
    fd = dup(fake.fd);
    ck_assert_int_eq(perf_rings_add(fake.rings, &fd, 1, RING_BYTES, NULL), 0);
    ck_assert_uint_eq(perf_rings_count(fake.rings), 1);
}

static void fake_teardown(void)
{
    fake.rings = perf_rings_free(fake.rings);
    munmap(fake.head, page + RING_BYTES);
    close(fake.fd);
}

static void put(struct buf *b, uint64_t word)
{
    buf_add(b, &word, sizeof(word));
}

/* Makes the body of a sample of thread 8, process 7, set 3, with @chain words of call chain. */
static void make_sample(struct buf *b, size_t chain, uint64_t abi)
{
    buf_init(b, 1u << 16);
    put(b, UINT64_C(8) << 32 | 7);
    put(b, 1234);
    put(b, PERIOD | 3);
    put(b, chain);
    for (size_t i = 0; i < chain; i++)
        put(b, i == 0 ? (uint64_t)PERF_CONTEXT_KERNEL : 0xffffffff81000000 + i);
    put(b, abi);
    for (uint64_t i = 0; abi && i < PERF_HOME_REGISTER_COUNT; i++)
        put(b, 100 + i);
    put(b, STACK_WORDS * sizeof(uint64_t));
    for (uint64_t i = 0; i < STACK_WORDS; i++)
        put(b, 200 + i);
    put(b, (STACK_WORDS - 1) * sizeof(uint64_t)); /* bytes that the kernel filled */
}

START_TEST(reads_a_sample)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    static struct perf_sample s;
    const uint64_t *user = s.frames + 2;

    make_sample(&b, 3, PERF_SAMPLE_REGS_ABI_64);
    ck_assert(perf_sample_parse(buf_span(&b), PERF_RECORD_MISC_KERNEL, &s));
    ck_assert_uint_eq(s.rec.host_pid, 7);
    ck_assert_uint_eq(s.rec.host_tid, 8);
    ck_assert_uint_eq(s.rec.time_ns, 1234);
    ck_assert_uint_eq(s.rec.set, 3);
    ck_assert_uint_eq(s.rec.weight, 1);
    ck_assert_uint_eq(s.rec.flags, SAMPLE_IN_KERNEL | SAMPLE_REGISTERS);
    ck_assert_uint_eq(s.rec.kernel_count, 2);
    ck_assert_uint_eq(s.frames[0], 0xffffffff81000001);
    ck_assert_uint_eq(s.rec.user_count, SAMPLE_REGISTER_COUNT);
    ck_assert_uint_eq(user[SAMPLE_REGISTER_PC], 100 + PERF_HOME_PC);
    ck_assert_uint_eq(user[SAMPLE_REGISTER_SP], 100 + PERF_HOME_SP);
    ck_assert_uint_eq(user[SAMPLE_REGISTER_THREAD], 100 + PERF_HOME_THREAD);
    ck_assert_uint_eq(s.stack.n, (STACK_WORDS - 1) * sizeof(uint64_t));
    ck_assert_int_eq(memcmp(s.stack.p, (const uint64_t[]){ 200, 201, 202 }, s.stack.n), 0);
}
END_TEST

START_TEST(knows_who_has_no_stack)
{
    static const struct {
        uint64_t abi;
        uint8_t end;
    } CASES[] = { { PERF_SAMPLE_REGS_ABI_NONE, UNWIND_END_ROOT },
                  { PERF_SAMPLE_REGS_ABI_32, UNWIND_END_NO_RULE } };
    _cleanup_buf_ struct buf b = BUF_NULL;
    static struct perf_sample s;

    make_sample(&b, 0, CASES[_i].abi);
    ck_assert(perf_sample_parse(buf_span(&b), PERF_RECORD_MISC_USER, &s));
    ck_assert_uint_eq(s.rec.flags, 0);
    ck_assert_uint_eq(s.rec.user_count, 0);
    ck_assert_uint_eq(s.rec.user_end, CASES[_i].end);
}
END_TEST

START_TEST(a_long_chain_is_cut)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    static struct perf_sample s;

    make_sample(&b, SAMPLE_KERNEL_MAX + 2, PERF_SAMPLE_REGS_ABI_64);
    ck_assert(perf_sample_parse(buf_span(&b), PERF_RECORD_MISC_KERNEL, &s));
    ck_assert_uint_eq(s.rec.kernel_count, SAMPLE_KERNEL_MAX);
    ck_assert(s.rec.flags & SAMPLE_KERNEL_CUT);
    ck_assert_uint_eq(s.frames[SAMPLE_KERNEL_MAX + SAMPLE_REGISTER_PC], 100 + PERF_HOME_PC);
}
END_TEST

START_TEST(refuses_what_is_shorter)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    static struct perf_sample s;
    struct span body;

    make_sample(&b, 2, PERF_SAMPLE_REGS_ABI_64);
    body = buf_span(&b);
    while (body.n--)
        ck_assert(!perf_sample_parse(body, PERF_RECORD_MISC_USER, &s));
}
END_TEST

/* ---- the ring ---- */

static void write_bytes(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fake.data[fake.head->data_head++ % RING_BYTES] = ((const char *)p)[i];
}

static void write_record(uint32_t type, struct span body)
{
    struct perf_event_header h = { type, PERF_RECORD_MISC_USER, (uint16_t)(sizeof(h) + body.n) };

    write_bytes(&h, sizeof(h));
    write_bytes(body.p, body.n);
}

static size_t seen;

static void see(void *cookie, const struct perf_sample *s)
{
    (void)cookie;
    ck_assert_uint_eq(s->rec.host_tid, 8);
    ck_assert_uint_eq(s->stack.n, (STACK_WORDS - 1) * sizeof(uint64_t));
    seen++;
}

START_TEST(drains_round_after_round)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    make_sample(&b, 3, PERF_SAMPLE_REGS_ABI_64);
    for (size_t i = 1; i <= 10 * RING_BYTES / b.n; i++) { /* some records wrap around the end */
        write_record(PERF_RECORD_SAMPLE, buf_span(&b));
        write_record(PERF_RECORD_SAMPLE, buf_span(&b));
        ck_assert_uint_eq(perf_rings_drain(fake.rings, 1, see, NULL), 1);
        ck_assert_uint_eq(perf_rings_drain(fake.rings, 10, see, NULL), 1);
        ck_assert_uint_eq(seen, 2 * i);
        ck_assert_uint_eq(fake.head->data_tail, fake.head->data_head);
    }
    ck_assert_uint_eq(perf_rings_lost(fake.rings), 0);
    ck_assert_uint_eq(perf_rings_malformed(fake.rings), 0);
}
END_TEST

START_TEST(counts_what_is_lost)
{
    const uint64_t lost[] = { 1, 5 }, throttled[] = { 1, 2, 3 };
    _cleanup_buf_ struct buf b = BUF_NULL;

    make_sample(&b, 0, PERF_SAMPLE_REGS_ABI_64);
    write_record(PERF_RECORD_LOST, (struct span){ (const char *)lost, sizeof(lost) });
    write_record(PERF_RECORD_THROTTLE, (struct span){ (const char *)throttled, sizeof(throttled) });
    write_record(PERF_RECORD_SAMPLE, (struct span){ b.p, b.n - 8 });
    write_record(PERF_RECORD_SAMPLE, buf_span(&b));
    seen = 0;
    ck_assert_uint_eq(perf_rings_drain(fake.rings, 10, see, NULL), 1);
    ck_assert_uint_eq(perf_rings_lost(fake.rings), 6);
    ck_assert_uint_eq(perf_rings_malformed(fake.rings), 1);
    ck_assert_uint_eq(fake.head->data_tail, fake.head->data_head);
}
END_TEST

START_TEST(goes_on_behind_a_record_of_no_length)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct perf_event_header none = { .type = PERF_RECORD_SAMPLE };

    make_sample(&b, 0, PERF_SAMPLE_REGS_ABI_64);
    write_bytes(&none, sizeof(none));
    write_record(PERF_RECORD_SAMPLE, buf_span(&b));
    ck_assert_uint_eq(perf_rings_drain(fake.rings, 10, see, NULL), 0);
    ck_assert_uint_eq(perf_rings_malformed(fake.rings), 1);
    write_record(PERF_RECORD_SAMPLE, buf_span(&b));
    ck_assert_uint_eq(perf_rings_drain(fake.rings, 10, see, NULL), 1);
}
END_TEST

/* Of two rings, the fuller one does not speak for the other. */
START_TEST(says_up_to_when_all_are_drained)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct fake first = fake;
    const uint64_t lost[] = { 1, 5 };
    uint64_t late_ns = 5678;
    int fd;

    fake_setup();
    fd = dup(first.fd);
    ck_assert_int_eq(perf_rings_add(fake.rings, &fd, 1, RING_BYTES, NULL), 0);
    ck_assert_uint_eq(perf_rings_taken_ns(fake.rings), UINT64_MAX);
    make_sample(&b, 0, PERF_SAMPLE_REGS_ABI_64);
    write_record(PERF_RECORD_SAMPLE, buf_span(&b)); /* taken at 1234 ns */
    memcpy(b.p + 8, &late_ns, sizeof(late_ns));
    write_record(PERF_RECORD_SAMPLE, buf_span(&b));
    fake.head = first.head;
    fake.data = first.data;
    write_record(PERF_RECORD_LOST, (struct span){ (const char *)lost, sizeof(lost) });
    write_record(PERF_RECORD_SAMPLE, buf_span(&b));
    ck_assert_uint_eq(perf_rings_taken_ns(fake.rings), 1234);
    ck_assert_uint_eq(perf_rings_drain(fake.rings, 1, see, NULL), 1);
    ck_assert_uint_eq(perf_rings_taken_ns(fake.rings), late_ns);
    ck_assert_uint_eq(perf_rings_drain(fake.rings, 10, see, NULL), 2);
    ck_assert_uint_eq(perf_rings_taken_ns(fake.rings), UINT64_MAX);
    perf_rings_free(first.rings);
}
END_TEST

int main(void)
{
    TCase *pure = tcase_create("sample"), *ring = tcase_create("ring");
    Suite *s = suite_create("perf_rings");

    tcase_add_test(pure, reads_a_sample);
    tcase_add_loop_test(pure, knows_who_has_no_stack, 0, 2);
    tcase_add_test(pure, a_long_chain_is_cut);
    tcase_add_test(pure, refuses_what_is_shorter);
    tcase_add_checked_fixture(ring, fake_setup, fake_teardown);
    tcase_add_test(ring, drains_round_after_round);
    tcase_add_test(ring, counts_what_is_lost);
    tcase_add_test(ring, says_up_to_when_all_are_drained);
    tcase_add_test(ring, goes_on_behind_a_record_of_no_length);
    suite_add_tcase(s, pure);
    suite_add_tcase(s, ring);
    return suite_run(s);
}
