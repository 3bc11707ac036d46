/* SPDX-License-Identifier: Apache-2.0 */
/* Side-band records of perf events: their bytes and their rings. */
#include "suite.h"

#include "base/clock.h"
#include "discover/table.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

static void put_header(struct buf *b, uint32_t type, uint16_t misc, uint16_t size)
{
    struct perf_event_header h = { .type = type, .misc = misc, .size = size };

    buf_add(b, &h, sizeof(h));
}

static void put_u32(struct buf *b, uint32_t v)
{
    buf_add(b, &v, sizeof(v));
}

static void put_id(struct buf *b, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
    put_u32(b, pid);
    put_u32(b, tid);
    buf_add(b, &time_ns, sizeof(time_ns));
}

static void put_task(struct buf *b, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid)
{
    uint64_t t = 55;

    put_header(b, type, 0, 48);
    put_u32(b, pid);
    put_u32(b, ppid);
    put_u32(b, tid);
    put_u32(b, ppid);
    buf_add(b, &t, sizeof(t));
    put_id(b, pid, tid, 55);
}

START_TEST(parses_side_band_records)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct sideband_record r;
    struct span s;

    buf_init(&b, 4096);
    put_task(&b, PERF_RECORD_FORK, 10, 9, 10);
    put_task(&b, PERF_RECORD_FORK, 10, 10, 11); /* a thread */
    put_task(&b, PERF_RECORD_EXIT, 10, 9, 11);  /* a thread */
    put_task(&b, PERF_RECORD_EXIT, 10, 9, 10);
    put_header(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 40);
    put_u32(&b, 10);
    put_u32(&b, 10);
    buf_add(&b, "java\0\0\0", 8);
    put_id(&b, 10, 10, 77);
    put_header(&b, PERF_RECORD_COMM, 0, 40); /* prctl(PR_SET_NAME) */
    put_u32(&b, 10);
    put_u32(&b, 10);
    buf_add(&b, "java\0\0\0", 8);
    put_id(&b, 10, 10, 78);
    put_header(&b, PERF_RECORD_LOST, 0, 40);
    buf_add(&b, &(uint64_t){ 1 }, 8);
    buf_add(&b, &(uint64_t){ 12 }, 8);
    put_id(&b, 10, 10, 79);
    put_task(&b, PERF_RECORD_FORK, 0xffffffff, 9, 0xffffffff); /* outside of the pid namespace */
    s = buf_span(&b);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_FORK && r.host_pid == 10);
    ck_assert_int_eq(r.parent_pid, 9);
    ck_assert_uint_eq(r.time_ns, 55);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_EXIT && r.host_pid == 10);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_EXEC && r.time_ns == 77);
    ck_assert_str_eq(r.comm, "java");
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_LOST && r.lost == 12);
    ck_assert(sideband_parse(&s, &r) && r.kind == SIDEBAND_OTHER);
    ck_assert(!sideband_parse(&s, &r));
    ck_assert_uint_eq(s.n, 0);

    s = (struct span){ b.p, 47 }; /* cut short: no record is taken */
    ck_assert(!sideband_parse(&s, &r));
    ck_assert_uint_eq(s.n, 47);
    ((struct perf_event_header *)b.p)->size = 4; /* smaller than its header */
    s = buf_span(&b);
    ck_assert(!sideband_parse(&s, &r));
    ((struct perf_event_header *)b.p)->size = 16; /* no room for its fields */
    s = buf_span(&b);
    ck_assert(!sideband_parse(&s, &r));
}
END_TEST

/* A ring in the test's memory, filled like the kernel does. */
struct fake_ring {
    int fd;
    char *p;
    struct perf_event_mmap_page *head;
    size_t page, bytes;
};

static void fake_ring_open(struct fake_ring *r, uint64_t at)
{
    r->page = (size_t)sysconf(_SC_PAGESIZE);
    r->bytes = sideband_data_bytes(r->page);
    r->fd = memfd_create("ring", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(r->fd, (off_t)(r->page + r->bytes)), 0);
    r->p = mmap(NULL, r->page + r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    ck_assert_ptr_ne(r->p, MAP_FAILED);
    r->head = (struct perf_event_mmap_page *)(void *)r->p;
    r->head->data_head = r->head->data_tail = at;
}

static void fake_ring_write(struct fake_ring *r, struct span s)
{
    for (size_t i = 0; i < s.n; i++)
        r->p[r->page + (r->head->data_head + i) % r->bytes] = s.p[i];
    r->head->data_head += s.n;
}

static void fake_ring_close(struct fake_ring *r)
{
    munmap(r->p, r->page + r->bytes);
}

struct seen {
    struct sideband_record r[8];
    size_t n;
};

static void see(void *cookie, const struct sideband_record *r)
{
    struct seen *seen = cookie;

    ck_assert_uint_lt(seen->n, ARRAY_SIZE(seen->r));
    seen->r[seen->n++] = *r;
}

static void write_exec(struct fake_ring *ring, uint32_t pid, const char *comm, uint64_t time_ns)
{
    char padded[8] = "";
    struct buf b;

    buf_init(&b, 4096);
    span_copy(span_of(comm), padded, sizeof(padded));
    put_header(&b, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 40);
    put_u32(&b, pid);
    put_u32(&b, pid);
    buf_add(&b, padded, sizeof(padded));
    put_id(&b, pid, pid, time_ns);
    fake_ring_write(ring, buf_span(&b));
    buf_deinit(&b);
}

START_TEST(reads_rings_in_the_order_of_time)
{
    struct fake_ring a, b;
    struct sideband *rings = NULL;
    struct seen seen = { .n = 0 };

    fake_ring_open(&a, SIDEBAND_BYTES * 3 - 24); /* a record that wraps around the end */
    fake_ring_open(&b, 0);
    ck_assert_int_eq(sideband_map((int[]){ a.fd, b.fd }, 2, &rings, NULL), 0);
    write_exec(&a, 10, "one", 100);
    write_exec(&a, 10, "three", 300);
    write_exec(&b, 11, "two", 200);
    write_exec(&b, 11, "four", 400);
    ck_assert_uint_eq(sideband_drain(rings, 3, see, &seen), 3);
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 0);
    ck_assert_str_eq(seen.r[0].comm, "one");
    ck_assert_str_eq(seen.r[1].comm, "two");
    ck_assert_str_eq(seen.r[2].comm, "three");
    ck_assert_str_eq(seen.r[3].comm, "four");
    ck_assert_uint_eq(a.head->data_tail, a.head->data_head); /* the kernel can use the room again */
    ck_assert_uint_eq(b.head->data_tail, b.head->data_head);
    ck_assert_uint_eq(sideband_malformed(rings), 0);

    fake_ring_write(&b, SPAN("\1\0\0\0\0\0\377\377")); /* longer than the bytes in the ring */
    write_exec(&b, 11, "five", 500);
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_int_eq(seen.r[4].kind, SIDEBAND_LOST);
    ck_assert_uint_eq(sideband_malformed(rings), 48);
    write_exec(&b, 11, "six", 600); /* reading continues */
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_str_eq(seen.r[5].comm, "six");
    b.head->data_head += a.bytes + 8; /* more bytes than a ring holds */
    ck_assert_uint_eq(sideband_drain(rings, 100, see, &seen), 1);
    ck_assert_int_eq(seen.r[6].kind, SIDEBAND_LOST);
    sideband_unmap(rings);
    fake_ring_close(&a);
    fake_ring_close(&b);
}
END_TEST

/* While a ring fills, it must be drained sooner. */
START_TEST(a_ring_that_fills_is_seen)
{
    struct sideband *rings = NULL;
    struct seen seen = { .n = 0 };
    struct fake_ring ring;

    fake_ring_open(&ring, 0);
    ck_assert_int_eq(sideband_map(&ring.fd, 1, &rings, NULL), 0);
    write_exec(&ring, 10, "one", 100);
    sideband_drain(rings, 1, see, &seen);
    ck_assert(!sideband_fills(rings));
    ring.head->data_head += ring.bytes / 4;
    sideband_drain(rings, 1, see, &seen);
    ck_assert(sideband_fills(rings));
    sideband_drain(rings, 1, see, &seen);
    ck_assert(!sideband_fills(rings));
    sideband_unmap(rings);
    fake_ring_close(&ring);
}
END_TEST

START_TEST(says_why_a_ring_cannot_be_mapped)
{
    struct sideband *rings = NULL;
    struct error err = ERROR_NULL;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    ck_assert_int_lt(sideband_map(&fd, 1, &rings, &err), 0);
    ck_assert_ptr_null(rings);
    ck_assert(strstr(err.remedy, "perf_event_mlock_kb") != NULL);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1); /* the ring was taken over nevertheless */
    ck_assert_uint_eq(sideband_drain(NULL, 1, see, NULL), 0);
}
END_TEST

static struct fake_ring only_ring;

static int one_ring(struct broker *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                    struct error *err)
{
    (void)ctx;
    (void)err;
    ret_fds[0] = only_ring.fd;
    *ret_count = 1;
    return 0;
}

START_TEST(bytes_that_are_no_records_are_counted)
{
    static const struct discover_source SOURCE = { .sideband = one_ring };
    struct discover_opts opts = { .source = &SOURCE };
    char folder[] = "/tmp/test-sideband-XXXXXX";
    struct discover *d = NULL;
    struct discover_stats stats;

    fake_ring_open(&only_ring, 0);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    opts.proc_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(opts.proc_fd, 0);
    ck_assert_int_eq(discover_new(NULL, &opts, &d, NULL), 0);
    fake_ring_write(&only_ring, SPAN("\1\0\0\0\0\0\377\377"));
    discover_poll(d, clock_monotonic_ns());
    discover_stats(d, &stats);
    ck_assert_uint_eq(stats.sideband_malformed, 8);
    ck_assert_uint_eq(stats.sideband_lost, 1);
    discover_free(d);
    close(opts.proc_fd);
    rmdir(folder);
    fake_ring_close(&only_ring);
}
END_TEST

/* Of the pages that a kernel of aarch64 may have, none makes the rings larger than another. */
START_TEST(a_ring_has_the_same_bytes_with_any_pages)
{
    for (size_t page = 4096; page <= 65536; page *= 4)
        ck_assert_uint_eq(sideband_data_bytes(page), (size_t)128 << 10);
    ck_assert_uint_eq(sideband_data_bytes((size_t)256 << 10), (size_t)256 << 10);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sideband");

    tcase_add_test(tc, parses_side_band_records);
    tcase_add_test(tc, reads_rings_in_the_order_of_time);
    tcase_add_test(tc, a_ring_that_fills_is_seen);
    tcase_add_test(tc, a_ring_has_the_same_bytes_with_any_pages);
    tcase_add_test(tc, says_why_a_ring_cannot_be_mapped);
    tcase_add_test(tc, bytes_that_are_no_records_are_counted);
    tcase_set_timeout(tc, 60);
    return suite_run_case("sideband", tc);
}
