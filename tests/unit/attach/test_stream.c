/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's records: the code that they report, and the shared memory that holds them. */
#include "suite.h"

#include "attach/code_map.h"
#include "attach/stream.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "stream_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* In tenths of a second. A load reported later than CODE_MAP_LATE_NS is of another time. */
#define TENTHS(n) ((n)*UINT64_C(100000000))

START_TEST(the_same_address_at_other_times)
{
    static const struct {
        uint64_t pc, tenths;
        uint32_t method;
    } CASES[] = {
        { 0x1000, 50, 0 },  { 0x1000, 81, 1 }, /* it ran before its load was reported */
        { 0x1000, 79, 0 },  { 0x1000, 100, 1 }, { 0x10ff, 199, 1 },
        { 0x1100, 150, 0 }, { 0x1000, 200, 0 }, { 0x1000, 250, 0 },
        { 0x1000, 300, 2 }, { 0x1080, 390, 2 }, /* still 2, which is known to run then */
        { 0x1080, 400, 3 }, { 0x1040, 400, 0 }, { 0x1080, UINT64_MAX / TENTHS(1), 3 },
        { 0xfff, 150, 0 },
    };
    struct writer w = { .n = 0 };
    _cleanup_(code_map_freep) struct code_map *m = NULL;

    add_load(&w, TENTHS(100), 0x1000, 0x100, 1);
    add_unload(&w, TENTHS(200), 0x1000);
    add_load(&w, TENTHS(300), 0x1000, 0x100, 2);
    add_load(&w, TENTHS(400), 0x1080, 0x20, 3); /* the unload of 2 was lost */
    m = fed(&w, 0);
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct code_piece p = { .method = 0 };

        code_map_find(m, CASES[i].pc, TENTHS(CASES[i].tenths), &p);
        ck_assert_msg(p.method == CASES[i].method, "case %zu: method %u", i, p.method);
    }
    ck_assert_uint_eq(code_map_stats(m).unloads, 1);
}
END_TEST

START_TEST(inlining_and_lines)
{
    static const struct stream_line LINES[] = { { 0, 10 }, { 5, 11 }, { 9, 12 } };
    static const struct stream_frame FRAMES[] = { { 2, 5 }, { 1, 9 }, { 1, 0 } };
    struct code_location at[CODE_MAP_FRAMES_MAX];
    struct writer w = { .n = 0 };
    _cleanup_(code_map_freep) struct code_map *m = NULL;
    struct stream_pc pcs[2] = { { 0x10, 2 }, { 0x20, 1 } };
    struct code_method names;
    struct stream_load *l;
    char *p;

    add_method(&w, 1, "LA;", "outer", LINES, 3);
    add_method(&w, 2, "La/B;", "inner", LINES, 3);
    l = add(&w, STREAM_LOAD, STREAM_FLAG_REPLAYED, 500, sizeof(*l) + sizeof(pcs) + sizeof(FRAMES));
    l->address = 0x2000;
    l->code_bytes = 0x40;
    l->method = 1;
    l->pc_count = 2;
    p = (char *)(l + 1);
    memcpy(p, &pcs[0], 8);
    memcpy(p + 8, FRAMES, 16);
    memcpy(p + 24, &pcs[1], 8);
    memcpy(p + 32, FRAMES + 2, 8);
    m = fed(&w, 0);
    /* Replayed code was loaded before. */
    ck_assert_uint_eq(code_map_locate(m, 0x2001, 1, false, at), 2);
    ck_assert(at[0].method == 2 && at[0].bci == 5 && at[0].inlined && !at[1].inlined);
    ck_assert_uint_eq(code_map_line(m, 2, at[0].bci), 11);
    ck_assert_uint_eq(code_map_line(m, 1, at[1].bci), 12);
    ck_assert_uint_eq(code_map_line(m, 1, -1), 0);
    ck_assert_uint_eq(code_map_locate(m, 0x200f, 1, false, at), 2);
    ck_assert_uint_eq(code_map_locate(m, 0x2010, 1, false, at), 1); /* the next method */
    ck_assert_int_eq(at[0].bci, 0);
    /* A return address needs a record of exactly that address. Without one only the method is
     * known. */
    ck_assert_uint_eq(code_map_locate(m, 0x2020, 1, true, at), 1);
    ck_assert_int_eq(at[0].bci, 0);
    ck_assert_uint_eq(code_map_locate(m, 0x2018, 1, true, at), 1);
    ck_assert_int_eq(at[0].bci, -1);
    ck_assert_uint_eq(code_map_locate(m, 0x2030, 1, false, at), 1); /* behind the last record */
    ck_assert_int_eq(at[0].bci, -1);
    ck_assert_int_eq(code_map_method(m, 2, &names), 1);
    ck_assert(span_eq_str(names.class_name, "a/B") && span_eq_str(names.name, "inner"));
    ck_assert_int_eq(code_map_method(m, 3, &names), 0);
}
END_TEST

START_TEST(what_is_no_record)
{
    struct writer w = { .n = 0 };
    struct stream_method *method;
    struct stream_load *load;
    struct stream_stub *stub;
    struct stream_record *r;

    switch (_i) {
    case 0: /* shorter than a record's head */
        w.n = 4;
        break;
    case 1: /* length 0 */
        add(&w, STREAM_UNLOAD, 0, 0, sizeof(struct stream_unload));
        memset(w.bytes, 0, 4);
        break;
    case 2: /* longer than the remaining bytes */
        r = add(&w, STREAM_UNLOAD, 0, 0, sizeof(struct stream_unload));
        r->bytes = 0x80000000;
        break;
    case 3: /* an unknown kind */
        add(&w, 99, 0, 0, 32);
        break;
    case 4: /* strings longer than the record */
        add_method(&w, 1, "LA;", "m", NULL, 0);
        method = (struct stream_method *)w.bytes;
        method->name_n = 65535;
        break;
    case 5: /* more lines than the record has */
        add_method(&w, 1, "LA;", "m", NULL, 0);
        method = (struct stream_method *)w.bytes;
        method->line_count = UINT32_MAX;
        break;
    case 6: /* a method without an id */
        add_method(&w, 0, "LA;", "m", NULL, 0);
        break;
    case 7: /* more pcs than the record has */
        add_load(&w, 1, 0x1000, 16, 1);
        load = (struct stream_load *)w.bytes;
        load->pc_count = UINT32_MAX;
        break;
    case 8: /* more frames at a pc than the record has */
        load = add(&w, STREAM_LOAD, 0, 1, sizeof(*load) + 8);
        load->pc_count = 1;
        ((struct stream_pc *)(load + 1))->frame_count = 3;
        break;
    case 9:
        stub = add(&w, STREAM_STUB, 0, 1, sizeof(*stub) + 8);
        stub->name_n = 9;
        break;
    case 10: /* not a multiple of 8 */
        r = add(&w, STREAM_UNLOAD, 0, 0, sizeof(struct stream_unload));
        r->bytes = 20;
        break;
    case 11: /* more frames at a pc than allowed, all of them present */
        load = add(&w, STREAM_LOAD, 0, 1,
                   sizeof(*load) + sizeof(struct stream_pc) +
                       (CODE_MAP_FRAMES_MAX + 1) * sizeof(struct stream_frame));
        load->pc_count = 1;
        ((struct stream_pc *)(load + 1))->frame_count = CODE_MAP_FRAMES_MAX + 1;
        break;
    default:
        abort();
    }
    code_map_free(fed(&w, -EBADMSG));
}
END_TEST

START_TEST(absurd_but_well_formed)
{
    struct writer w = { .n = 0 };
    _cleanup_(code_map_freep) struct code_map *m = NULL;
    struct code_location at[CODE_MAP_FRAMES_MAX];
    struct code_piece p;

    add_load(&w, 1, UINT64_MAX - 8, 100, 1); /* past the end of memory */
    add_load(&w, 2, 0, 0, 1);                /* an empty range */
    add_load(&w, 3, 0x1000, UINT32_MAX, CODE_MAP_METHODS_MAX + 7);
    add_method(&w, CODE_MAP_METHODS_MAX + 7, "LA;", "m", NULL, 0); /* an invalid id */
    add_unload(&w, 4, UINT64_MAX);
    m = fed(&w, 0);
    ck_assert_int_eq(code_map_find(m, UINT64_MAX, 9, &p), 0);
    ck_assert_int_eq(code_map_find(m, 0, 9, &p), 0);
    ck_assert_uint_eq(code_map_locate(m, 0x1000, 9, false, at), 1);
    ck_assert_uint_eq(code_map_stats(m).dropped, 1);
    ck_assert_uint_eq(code_map_line(m, UINT32_MAX, 1), 0);
}
END_TEST

/* A record of @bytes bytes of code at 0x1000 with @pcs empty pcs. */
static char *long_load(size_t bytes, uint32_t pcs)
{
    char *p = calloc(1, bytes);
    struct stream_load *l = (struct stream_load *)p;

    ck_assert_ptr_nonnull(p);
    *l = (struct stream_load){ { (uint32_t)bytes, STREAM_LOAD, 0, 1 }, 0x1000, 16, 1, pcs, 0 };
    return p;
}

/* The agent writes no longer record. Its pcs are read for each look-up. */
START_TEST(a_record_has_a_largest_size)
{
    struct span record = { 0 };

    for (size_t n = STREAM_RECORD_MAX; n <= STREAM_RECORD_MAX + 8; n += 8) {
        _cleanup_(code_map_freep) struct code_map *m = NULL;
        _cleanup_free_ char *p = long_load(n, (uint32_t)((n - sizeof(struct stream_load)) / 8));

        record = (struct span){ p, n };
        ck_assert_int_eq(code_map_new(NULL, 0, &m), 0);
        ck_assert_int_eq(code_map_feed(m, record), n > STREAM_RECORD_MAX ? -EBADMSG : 0);
    }
}
END_TEST

#define MANY 100000u

/* Loads @count pieces of code, of which all have one address or go down from a high one, with a
 * stub below them all. */
static struct code_map *many_pieces(uint32_t count, bool one_address)
{
    _cleanup_free_ struct stream_load *l = calloc(count, sizeof(*l));
    struct code_map *m = NULL;

    ck_assert_ptr_nonnull(l);
    for (uint32_t i = 0; i < count; i++) {
        l[i].r = (struct stream_record){ sizeof(*l), STREAM_LOAD, 0, 1000 + i };
        l[i].address = 0x10000000 + (one_address ? 0 : (count - i) * UINT64_C(16));
        l[i].code_bytes = 16;
        l[i].method = 1;
    }
    ck_assert_int_eq(code_map_new(NULL, 0, &m), 0);
    ck_assert_int_eq(code_map_feed(m, (struct span){ (char *)l, count * sizeof(*l) }), 0);
    return m;
}

/* Each record costs about the same, with any number of pieces at its address or in any order. */
START_TEST(time_grows_as_records_do)
{
    uint64_t before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    _cleanup_(code_map_freep) struct code_map *m = many_pieces(2 * MANY, /* one_address= */ _i);
    struct code_piece p;

    /* Without a tree of the living pieces it takes a minute. */
    ck_assert_uint_le(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before_ns, 10 * NSEC_PER_SEC);
    ck_assert_uint_eq(code_map_stats(m).pieces, 2 * MANY);
    ck_assert_int_eq(code_map_find(m, 0x10000018, UINT64_MAX - 1, &p), !_i);
    ck_assert_uint_le(code_map_stats(m).steps, CODE_MAP_WALK_MAX + 1);
    ck_assert_uint_eq(code_map_stats(m).given_up, 0);
    ck_assert_int_eq(code_map_find(m, 0x10000008, UINT64_MAX - 1, &p), 0);
    ck_assert_uint_eq(code_map_stats(m).given_up, (uint64_t)_i);
}
END_TEST

/* The time of a record is hostile, too: a piece ends only once. */
START_TEST(code_ends_at_the_end_of_time)
{
    struct writer w = { .n = 0 };
    _cleanup_(code_map_freep) struct code_map *m = NULL;
    struct code_piece p;

    add_load(&w, UINT64_MAX, 0x1000, 16, 1);
    add_unload(&w, UINT64_MAX, 0x1000);
    add_load(&w, 5, 0x1000, 16, 2);
    m = fed(&w, 0);
    ck_assert_int_eq(code_map_find(m, 0x1000, 6, &p), 1);
    ck_assert_uint_eq(p.method, 2);
}
END_TEST

/* An owner's share bounds its map, and the map gives all of it back. Each record without room
 * counts. */
START_TEST(a_map_is_its_owner_s)
{
    struct shares memory;
    struct code_map *m = NULL;
    _cleanup_free_ char *p = long_load(STREAM_RECORD_MAX, 0);
    static struct stream_unload many[STREAM_RECORD_MAX / sizeof(struct stream_unload) + 1];
    uint64_t dropped;

    shares_init(&memory, 16 << 20);
    ck_assert_int_eq(code_map_new(&memory, 7, &m), 0);
    for (unsigned i = 0; i < 64; i++)
        ck_assert_int_eq(code_map_feed(m, (struct span){ p, STREAM_RECORD_MAX }), 0);
    ck_assert_uint_eq(shares_used(&memory, 7), code_map_stats(m).bytes);
    ck_assert_uint_le(memory.used, memory.max / 2);
    ck_assert_uint_ge(memory.used, memory.max / 4);
    dropped = code_map_stats(m).dropped;
    ck_assert_uint_ge(dropped, 64 - 16);
    for (size_t i = 0; i < ARRAY_SIZE(many); i++)
        many[i].r = (struct stream_record){ sizeof(*many), STREAM_UNLOAD, 0, i };
    ck_assert_int_eq(code_map_feed(m, (struct span){ (char *)many, sizeof(many) }), 0);
    ck_assert_uint_eq(code_map_stats(m).dropped - dropped, ARRAY_SIZE(many));
    code_map_free(m);
    ck_assert_uint_eq(memory.used, 0);
}
END_TEST

static int stream_file(uint64_t bytes, int seals)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
    if (seals)
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

START_TEST(memory_that_can_shrink_is_refused)
{
    struct stream *s = NULL;
    struct error err = ERROR_NULL;

    ck_assert_int_eq(stream_open(stream_file(STREAM_BYTES, 0), NULL, 0, &s, &err), -EBADMSG);
    ck_assert_int_eq(stream_open(stream_file(4096, F_SEAL_GROW | F_SEAL_SHRINK), NULL, 0, &s, &err),
                     -EBADMSG);
}
END_TEST

/* A file in a file system that flamed mounted in a container: the container's user can truncate
 * it. */
START_TEST(a_file_that_can_be_cut_is_read)
{
    char path[] = "/dev/shm/flamed-test-XXXXXX";
    int agent = mkostemp(path, O_CLOEXEC);
    struct stream_header h = { .magic = STREAM_MAGIC, .version = STREAM_VERSION }, got;
    struct writer w = { .n = 0 };
    struct stream *s = NULL;
    struct code_piece p;

    ck_assert_int_ge(agent, 0);
    unlink(path);
    ck_assert_int_eq(ftruncate(agent, (off_t)STREAM_BYTES), 0);
    ck_assert_int_eq(pwrite(agent, &h, sizeof(h), 0), sizeof(h));
    ck_assert_int_eq(stream_open(dup(agent), NULL, 0, &s, NULL), 0);
    add_load(&w, 5, 0x1000, 16, 1);
    ck_assert_int_eq(pwrite(agent, w.bytes, w.n, (off_t)STREAM_RING_AT), w.n);
    h.head = w.n;
    h.state = STREAM_STREAMING;
    ck_assert_int_eq(pwrite(agent, &h, sizeof(h), 0), sizeof(h));
    ck_assert_int_eq(stream_poll(s, 1000), 0);
    ck_assert_int_eq(code_map_find(stream_map(s), 0x1008, 6, &p), 1);
    ck_assert_int_eq(stream_problem(s, NULL), 0);
    ck_assert_int_eq(pread(agent, &got, sizeof(got), 0), sizeof(got));
    ck_assert_uint_eq(got.lease_ns, 1000 + STREAM_LEASE_NS);
    ck_assert_uint_eq(got.tail, w.n);
    ck_assert_uint_eq(got.head, w.n); /* the agent's fields stay unchanged */
    /* The file is cut within the announced bytes, then to nothing: no fault, and the records are
     * refused. */
    h.head = 2 * w.n;
    ck_assert_int_eq(pwrite(agent, &h, sizeof(h), 0), sizeof(h));
    ck_assert_int_eq(ftruncate(agent, (off_t)(STREAM_RING_AT + w.n + 8)), 0);
    ck_assert_int_eq(stream_poll(s, 2000), -EBADMSG);
    ck_assert_int_eq(ftruncate(agent, 0), 0);
    ck_assert_int_eq(stream_poll(s, 3000), -EBADMSG);
    ck_assert_int_lt(stream_problem(s, NULL), 0);
    stream_close(s);
    close(agent);
}
END_TEST

START_TEST(a_ring_goes_round_and_lies)
{
    int fd = stream_file(STREAM_BYTES, F_SEAL_GROW | F_SEAL_SHRINK), agent = dup(fd);
    struct writer w = { .n = 0 };
    struct stream_header *h;
    struct stream *s = NULL;
    struct code_piece p;
    char *mem;

    mem = mmap(NULL, STREAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, agent, 0);
    ck_assert(mem != MAP_FAILED);
    h = (struct stream_header *)mem;
    h->magic = STREAM_MAGIC;
    h->version = STREAM_VERSION;
    ck_assert_int_eq(stream_open(fd, NULL, 0, &s, NULL), 0);
    ck_assert_int_eq(stream_poll(s, 1000), 0);
    ck_assert_uint_eq(h->lease_ns, 1000 + STREAM_LEASE_NS);
    /* Pads almost to the end, so that the next record wraps around. */
    for (uint64_t at = 0; at < STREAM_RING_BYTES - 8; at += 8)
        *(uint32_t *)(mem + STREAM_RING_AT + at) = 8;
    h->head = STREAM_RING_BYTES - 8;
    ck_assert_int_eq(stream_poll(s, 2000), 0);
    ck_assert_uint_eq(h->tail, h->head);
    *(uint32_t *)(mem + STREAM_RING_AT + STREAM_RING_BYTES - 8) = 8;
    add_load(&w, 5, 0x1000, 16, 1);
    memcpy(mem + STREAM_RING_AT, w.bytes, w.n);
    h->head += 8 + w.n;
    ck_assert_int_eq(stream_poll(s, 3000), 0);
    ck_assert_int_eq(code_map_find(stream_map(s), 0x1008, 6, &p), 1);
    /* The agent claims more bytes than the ring has: the stream is refused from then on. */
    h->head += STREAM_RING_BYTES + 8;
    ck_assert_int_eq(stream_poll(s, 4000), -EBADMSG);
    ck_assert_int_eq(stream_poll(s, 5000), -EBADMSG);
    ck_assert_int_lt(stream_problem(s, NULL), 0);
    stream_close(s);
    ck_assert_uint_eq(h->stop, 1);
    ck_assert_uint_eq(h->lease_ns, 0);
    munmap(mem, STREAM_BYTES);
    close(agent);
}
END_TEST

static blkcnt_t blocks_of(int fd)
{
    struct stat st;

    ck_assert_int_eq(fstat(fd, &st), 0);
    return st.st_blocks;
}

/* The container punched out pages and keeps them elsewhere: reading the file must not allocate new
 * ones. */
START_TEST(no_pages_are_made_in_place_of_those_that_were_taken)
{
    int fd = stream_file(STREAM_BYTES, F_SEAL_GROW | F_SEAL_SHRINK), agent = dup(fd);
    struct stream_header h = { .magic = STREAM_MAGIC, .version = STREAM_VERSION };
    struct stream *s = NULL;
    blkcnt_t blocks;

    h.head = STREAM_RING_BYTES;
    ck_assert_int_eq(pwrite(agent, &h, sizeof(h), 0), sizeof(h));
    blocks = blocks_of(agent);
    ck_assert_int_eq(stream_open(fd, NULL, 0, &s, NULL), 0);
    ck_assert_int_eq(stream_poll(s, 1000), -EBADMSG); /* pages of zeros hold no records */
    ck_assert_int_eq(blocks_of(agent), blocks);
    stream_close(s);

    h.head = 0;
    ck_assert_int_eq(pwrite(agent, &h, sizeof(h), 0), sizeof(h));
    ck_assert_int_eq(stream_open(dup(agent), NULL, 0, &s, NULL), 0);
    ck_assert_int_eq(stream_poll(s, 1000), 0);
    ck_assert_int_eq(fallocate(agent, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    ck_assert_int_eq(stream_poll(s, NSEC_PER_SEC), -EBADMSG);
    stream_close(s);
    ck_assert_int_eq(blocks_of(agent), 0);
    close(agent);
}
END_TEST

/* A process removes the header's page just before the write of this number; 0: it does not. */
static int robs;

ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);

static void rob(int fd)
{
    ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
}

ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (robs && --robs == 0)
        rob(fd);
    return __real_pwrite(fd, p, n, at);
}

static const struct stream_header HEADER = { .magic = STREAM_MAGIC, .version = STREAM_VERSION };

/* Opens the stream of an agent that has written its header. Return: the agent's descriptor. */
static int open_agent_stream(struct stream **ret)
{
    int fd = stream_file(STREAM_BYTES, F_SEAL_GROW | F_SEAL_SHRINK), agent = dup(fd);

    ck_assert_int_eq(__real_pwrite(agent, &HEADER, sizeof(HEADER), 0), sizeof(HEADER));
    ck_assert_int_eq(stream_open(fd, NULL, 0, ret, NULL), 0);
    return agent;
}

/* A container takes the page at the one moment that flamed cannot see. It has one page of flamed's
 * then, and no second one. */
START_TEST(a_process_takes_one_page_of_flamed_s_at_most)
{
    struct stream *s;
    int agent = open_agent_stream(&s);

    robs = 1 + _i; /* a poll writes twice */
    ck_assert_int_eq(stream_poll(s, 1000), -EBADMSG);
    ck_assert_int_eq(robs, 0);
    ck_assert_int_gt(blocks_of(agent), 0); /* flamed's page */
    rob(agent);                            /* the container keeps it elsewhere */
    ck_assert_int_eq(__real_pwrite(agent, &HEADER, sizeof(HEADER), 0), sizeof(HEADER));
    ck_assert_int_eq(stream_poll(s, NSEC_PER_SEC), -EBADMSG);
    robs = 1;
    stream_ask_interval(s, 1);
    stream_ask_live(s, true);
    stream_close(s);
    ck_assert_int_eq(robs, 1); /* there was no further write */
    robs = 0;
    close(agent);
}
END_TEST

/* Options are not written into a file whose header is missing. */
START_TEST(no_option_makes_a_page)
{
    struct stream *s;
    int agent = open_agent_stream(&s);

    rob(agent);
    stream_ask_interval(s, 1);
    stream_ask_live(s, true);
    ck_assert_int_eq(blocks_of(agent), 0);
    stream_close(s);
    close(agent);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("stream");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, the_same_address_at_other_times);
    tcase_add_test(tc, inlining_and_lines);
    tcase_add_loop_test(tc, what_is_no_record, 0, 12);
    tcase_add_test(tc, absurd_but_well_formed);
    tcase_add_test(tc, a_record_has_a_largest_size);
    tcase_add_loop_test(tc, time_grows_as_records_do, 0, 2);
    tcase_add_test(tc, code_ends_at_the_end_of_time);
    tcase_add_test(tc, a_map_is_its_owner_s);
    tcase_add_test(tc, memory_that_can_shrink_is_refused);
    tcase_add_test(tc, a_file_that_can_be_cut_is_read);
    tcase_add_test(tc, a_ring_goes_round_and_lies);
    tcase_add_test(tc, no_pages_are_made_in_place_of_those_that_were_taken);
    tcase_add_loop_test(tc, a_process_takes_one_page_of_flamed_s_at_most, 0, 2);
    tcase_add_test(tc, no_option_makes_a_page);
    return suite_run_case("stream", tc);
}
