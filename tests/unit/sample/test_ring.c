/* SPDX-License-Identifier: Apache-2.0 */
/* sample/ring.c on a made-up ring: a file laid out like the pages of the kernel's map. */
#include "suite.h"

#include "sample/sample.h"

#include "base/cleanup.h"

#include <linux/bpf.h>
#include <sys/mman.h>

#define RING_BYTES 4096

static struct fake {
    int fd;
    uint8_t *consumer, *producer, *data; /* a writable view of the file */
    uint8_t *map;
    struct ring *ring;
    uint64_t pos; /* where the next record is written */
} fake;

static size_t page;

/* The kernel maps the data twice, and a file cannot. So tests stay within one lap plus the bytes
 * that they copy. */
static void fake_setup(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    fake.fd = memfd_create("ring", MFD_CLOEXEC);
    ck_assert_int_ge(fake.fd, 0);
    ck_assert_int_eq(ftruncate(fake.fd, (off_t)(2 * page + 2 * RING_BYTES)), 0);
    fake.map =
        mmap(NULL, 2 * page + 2 * RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fake.fd, 0);
    ck_assert_ptr_ne(fake.map, MAP_FAILED);
    fake.consumer = fake.map;
    fake.producer = fake.map + page;
    fake.data = fake.map + 2 * page;
    fake.pos = 0;
    ck_assert_int_eq(ring_open(fake.fd, RING_BYTES, &fake.ring, NULL), 0);
}

static void fake_teardown(void)
{
    fake.ring = ring_close(fake.ring);
    munmap(fake.map, 2 * page + 2 * RING_BYTES);
    close(fake.fd);
}

static void put_bytes(uint64_t at, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t o = (at + i) & (RING_BYTES - 1);

        fake.data[o] = fake.data[o + RING_BYTES] = ((const uint8_t *)p)[i];
    }
}

static void put_pos(uint64_t producer)
{
    memcpy(fake.producer, &producer, sizeof(producer));
}

/* Writes a record with @len bytes in its header and with @kernel and @user frames. */
static void put_record(uint32_t len, uint16_t kernel, uint16_t user, uint32_t weight)
{
    struct sample_record rec = {
        .host_pid = 7, .kernel_count = kernel, .user_count = user, .weight = weight
    };
    uint32_t hdr[2] = { len, 0 };

    put_bytes(fake.pos, hdr, sizeof(hdr));
    put_bytes(fake.pos + 8, &rec, sizeof(rec));
    for (uint64_t i = 0; i < (uint64_t)kernel + user && 8 + sizeof(rec) + 8 * i < RING_BYTES - 8;
         i++)
        put_bytes(fake.pos + 8 + sizeof(rec) + 8 * i, &(uint64_t){ 100 + i }, 8);
    fake.pos += (8 + (len & 0x3fffffff) + 7) & ~UINT64_C(7);
}

static struct {
    size_t records, frames;
    uint64_t sum;
} seen;

static void see(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    (void)cookie;
    ck_assert_uint_eq(rec->host_pid, 7);
    seen.records++;
    for (size_t i = 0; i < (size_t)rec->kernel_count + rec->user_count; i++) {
        seen.frames++;
        seen.sum += frames[i];
    }
}

static size_t drain(size_t max)
{
    memset(&seen, 0, sizeof(seen));
    return ring_drain(fake.ring, max, see, NULL);
}

#define LEN(frames) ((uint32_t)(sizeof(struct sample_record) + 8 * (frames)))

static const struct {
    uint32_t len;
    uint16_t kernel, user;
    uint32_t weight;
    size_t records, malformed;
} CASES[] = {
    { LEN(3), 1, 2, 1, 1, 0 },
    { LEN(0), 0, 0, 1, 1, 0 },
    { LEN(3), 1, 1, 1, 0, 1 }, /* longer than its header says */
    { LEN(3), 1, 3, 1, 0, 1 }, /* shorter */
    { LEN(3), 0xffff, 0xffff, 1, 0, 1 },
    { LEN(0) - 1, 0, 0, 1, 0, 1 }, /* smaller than a head */
    { 0, 0, 0, 1, 0, 1 },
    { LEN(3), 1, 2, 0, 0, 1 }, /* stands for no tick */
    { LEN(3) | BPF_RINGBUF_DISCARD_BIT, 1, 2, 1, 0, 0 },
    { LEN(3) | BPF_RINGBUF_BUSY_BIT, 1, 2, 1, 0, 0 },
    { LEN(200), 128, 72, 1, 0, 1 }, /* more frames than the kernel gives */
};

START_TEST(takes_only_whole_records)
{
    put_record(CASES[_i].len, CASES[_i].kernel, CASES[_i].user, CASES[_i].weight);
    put_pos(fake.pos);
    ck_assert_uint_eq(drain(100), CASES[_i].records);
    ck_assert_uint_eq(seen.records, CASES[_i].records);
    ck_assert_uint_eq(ring_malformed(fake.ring), CASES[_i].malformed);
    if (CASES[_i].len & BPF_RINGBUF_BUSY_BIT)
        return;
    /* Whatever the record was, the next one is found. */
    put_record(LEN(2), 1, 1, 1);
    put_pos(fake.pos);
    ck_assert_uint_eq(drain(100), 1);
    ck_assert_uint_eq(seen.sum, 201);
}
END_TEST

START_TEST(waits_for_a_busy_record)
{
    uint32_t hdr = LEN(1);

    put_record(LEN(1) | BPF_RINGBUF_BUSY_BIT, 1, 0, 1);
    put_record(LEN(1), 1, 0, 1);
    put_pos(fake.pos);
    ck_assert_uint_eq(drain(100), 0);
    put_bytes(0, &hdr, sizeof(hdr));
    ck_assert_uint_eq(drain(1), 1); /* not more than max */
    ck_assert_uint_eq(drain(100), 1);
    ck_assert_uint_eq(drain(100), 0);
}
END_TEST

START_TEST(follows_the_ring_around)
{
    for (int lap = 0; lap < 500; lap++) {
        put_record(LEN(5), 2, 3, 1);
        put_pos(fake.pos);
        ck_assert_uint_eq(drain(100), 1);
        ck_assert_uint_eq(seen.sum, 100 + 101 + 102 + 103 + 104);
    }
    ck_assert_uint_gt(fake.pos, 10 * RING_BYTES);
    ck_assert_uint_eq(ring_malformed(fake.ring), 0);
}
END_TEST

START_TEST(recovers_from_impossible_lengths)
{
    put_record(0x3ffffff0, 1, 0, 1); /* reaches beyond all written bytes */
    put_pos(1024);
    ck_assert_uint_eq(drain(100), 0);
    ck_assert_uint_eq(ring_malformed(fake.ring), 1);
    fake.pos = 1024;
    put_record(LEN(1), 1, 0, 1);
    put_pos(fake.pos);
    ck_assert_uint_eq(drain(100), 1);

    put_pos(1 << 20); /* further ahead than the ring's size */
    ck_assert_uint_eq(drain(100), 0);
    ck_assert_uint_eq(ring_malformed(fake.ring), 2);
    fake.pos = 1 << 20;
    put_record(LEN(1), 1, 0, 1);
    put_pos(fake.pos);
    ck_assert_uint_eq(drain(100), 1);
}
END_TEST

/* Reads every word that the ring passes. */
static void read_all(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    (void)cookie;
    for (size_t i = 0; i < (size_t)rec->kernel_count + rec->user_count; i++)
        seen.sum += frames[i];
}

START_TEST(survives_random_bytes)
{
    uint64_t x = 88172645463325252ULL;
    uint64_t pos = 0;

    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < RING_BYTES; i += 8) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            /* half of the lengths are short, so that the walk passes the first record */
            uint64_t v = x & 1 ? x & 0x1f8 : x;

            memcpy(fake.data + i, &v, 8);
            memcpy(fake.data + i + RING_BYTES, &v, 8);
        }
        pos += x & 0xff8;
        put_pos(pos);
        ring_drain(fake.ring, 1000, read_all, NULL);
        pos = *(uint64_t *)(void *)fake.consumer;
        ck_assert_uint_eq(pos & 7, 0);
    }
    ck_assert_uint_gt(ring_malformed(fake.ring), 100);
}
END_TEST

static struct {
    size_t records;
    struct moment_record rec;
    struct moment_names names;
} told;

static void see_moment(void *cookie, const struct moment_record *rec,
                       const struct moment_names *names)
{
    (void)cookie;
    told.records++;
    told.rec = *rec;
    if (names)
        told.names = *names;
}

/* Writes a moment of @kind with @len bytes. */
static size_t tell(uint32_t kind, uint32_t len, bool has_end)
{
    struct moment_named m = { .rec = { .kind = kind }, .names = { .class_n = 3 } };
    uint32_t hdr[2] = { len, 0 };

    memset(m.rec.name, has_end ? 0 : 'x', sizeof(m.rec.name));
    memset(&told, 0, sizeof(told));
    put_bytes(fake.pos, hdr, sizeof(hdr));
    put_bytes(fake.pos + 8, &m, len);
    fake.pos += (8 + len + 7) & ~7u;
    put_pos(fake.pos);
    return ring_drain_moments(fake.ring, 10, see_moment, NULL);
}

START_TEST(takes_only_moments)
{
    const uint32_t plain = sizeof(struct moment_record), named = sizeof(struct moment_named);

    for (uint32_t kind = 0; kind < MOMENT_KINDS; kind++) {
        bool has_names = moment_has_names(kind);

        ck_assert_uint_eq(tell(kind, has_names ? named : plain, true), 1);
        ck_assert_uint_eq(told.records, 1);
        ck_assert_uint_eq(told.rec.kind, kind);
        ck_assert_uint_eq(told.names.class_n, has_names ? 3 : 0);
        ck_assert_uint_eq(tell(kind, has_names ? plain : named, true), 0);
        ck_assert_uint_eq(tell(kind, has_names ? named : plain, false), 0);
    }
    ck_assert_uint_eq(tell(MOMENT_KINDS, plain, true), 0);
    ck_assert_uint_eq(tell(MOMENT_GC_END, plain - 8, true), 0);
    ck_assert_uint_eq(ring_malformed(fake.ring), 2 * MOMENT_KINDS + 2);
}
END_TEST

START_TEST(refuses_sizes_that_are_no_ring)
{
    struct ring *r = NULL;
    struct error err = ERROR_NULL;

    ck_assert_int_eq(ring_open(fake.fd, 5000, &r, &err), -EINVAL);
    ck_assert_int_eq(ring_open(fake.fd, 0, &r, &err), -EINVAL);
    ck_assert_int_lt(ring_open(-1, RING_BYTES, &r, &err), 0);
    ck_assert_str_ne(err.msg, "");
    ck_assert_ptr_null(r);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("ring");

    tcase_add_checked_fixture(tc, fake_setup, fake_teardown);
    tcase_add_loop_test(tc, takes_only_whole_records, 0, (int)ARRAY_SIZE(CASES));
    tcase_add_test(tc, waits_for_a_busy_record);
    tcase_add_test(tc, follows_the_ring_around);
    tcase_add_test(tc, recovers_from_impossible_lengths);
    tcase_add_test(tc, survives_random_bytes);
    tcase_add_test(tc, takes_only_moments);
    tcase_add_test(tc, refuses_sizes_that_are_no_ring);
    return suite_run_case("ring", tc);
}
