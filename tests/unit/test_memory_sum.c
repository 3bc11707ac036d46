/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of flamed's memory, added up as in docs/limits.md. */
#include "fixed_places.h"
#include "suite.h"

#include "base/memory_guard.h"
#include "base/reading_turn.h"
#include "config.h"
#include "engine/engine_impl.h"
#include "serve/serve_impl.h"
#include "unwind_tables/ehframe_reader.h"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define MEANT (384 * MIB)
#define ITSELF (54 * MIB) /* measured, without clients and targets */
#define NAMES_MAX ((size_t)4 << 20)

static struct config config;
static struct captures captures;
static struct memory_budget memory;
static struct pending_samples pending, waiting;
static struct frame_table *names;

static void setup(void)
{
    ck_assert_int_eq(config_init(&config), 0);
    captures.opts.captures_max_bytes = config.captures.max_bytes;
    memory_budget_init(&memory);
    fix_places(&memory);
    pending_init(&pending, &memory.waiting);
    pending_init(&waiting, &memory.waiting);
    ck_assert_int_eq(frame_table_new(NAMES_MAX, MEMORY_LASTING_BYTES, &names), 0);
    frame_table_join(names, &memory.lasting);
}

static void teardown(void)
{
    names = frame_table_free(names);
    config_deinit(&config);
}

/* Returns the most that flamed takes with what is kept now, and with @requests heavy requests,
 * while a file is read. */
static uint64_t sum_with(uint64_t requests)
{
    reading_turn_begin();
    engine_memory_tick(&captures, &memory, names);
    reading_turn_end();
    return ITSELF + memory.kept.used + frame_table_uncharged(names) + READING_MAX_BYTES +
           captures.budget.max_bytes + config.recorder.max_bytes + requests * MEMORY_GUARD_FREE +
           config.answer_max_bytes;
}

static void take(struct shares *s, uint64_t owner)
{
    shares_force(s, owner, MIN(shares_room_lasting(s, owner), 2 * MIB));
}

static void wait_with(struct pending_samples *h, uint64_t owner)
{
    shares_force(&h->bytes, owner, MIN(shares_room_short(&h->bytes, owner), 2 * MIB));
}

START_TEST(all_owners_take_what_flamed_is_meant_to)
{
    for (uint64_t i = 0; i < 400; i++) {
        uint64_t owner = 1 + i % 50;

        take(&memory.symbols, owner);
        take(&memory.perf_maps, owner);
        take(&memory.inlines, owner);
        take(&memory.code_maps, owner);
        wait_with(&pending, owner);
        wait_with(&waiting, owner);
        ck_assert_uint_le(sum_with(SERVE_WORKERS_HEAVY), MEANT);
    }
    ck_assert_uint_ge(memory.kept.used, MEMORY_KEPT_BYTES - 2 * MIB);
    ck_assert_uint_le(memory.kept.used, MEMORY_KEPT_BYTES);
    ck_assert_uint_ge(sum_with(SERVE_WORKERS_HEAVY), MEANT - 4 * MIB);
}
END_TEST

START_TEST(one_owner_takes_less)
{
    for (int i = 0; i < 100; i++) {
        take(&memory.perf_maps, 7);
        take(&memory.code_maps, 7);
        take(&memory.symbols, 7);
        wait_with(&pending, 7);
        wait_with(&waiting, 7);
        ck_assert_uint_le(sum_with(SERVE_HEAVY_OF_CALLER), 370 * MIB);
    }
}
END_TEST

/* While no file is read, captures have more. */
START_TEST(captures_give_way_to_a_reading)
{
    uint64_t before;

    shares_force(&memory.symbols, 1, CAPTURES_BESIDE_BYTES);
    engine_memory_tick(&captures, &memory, names);
    before = captures.budget.max_bytes;
    sum_with(1);
    ck_assert_uint_le(captures.budget.max_bytes + READING_MAX_BYTES, before);
    engine_memory_tick(&captures, &memory, names);
    ck_assert_uint_eq(captures.budget.max_bytes, before);
}
END_TEST

/* Adds a function with three lines. False: its owner has no room. */
static bool add_names(uint64_t owner, unsigned i)
{
    struct function f = { 0 };
    struct frame frame = { .kind = FRAME_C2 };
    char text[32];
    uint32_t id;
    int n = snprintf(text, sizeof(text), "m%u_%u", (unsigned)owner, i);

    if (frame_table_string(names, (struct span){ text, (size_t)n }, &f.name) < 0 ||
        frame_table_function(names, &f, &frame.function) < 0)
        return false;
    for (frame.line = 0; frame.line < 3; frame.line++) {
        if (frame_table_frame(names, &frame, &id) < 0)
            return false;
    }
    return true;
}

/* Owners pay for the room to grow, too: of a large table nothing is charged to nobody. */
START_TEST(names_take_what_they_are_charged)
{
    size_t most = 0;

    for (uint64_t owner = 1; owner < 3; owner++) {
        frame_table_charge(names, owner);
        for (unsigned i = 0; add_names(owner, i); i++) {
            if (i % 1000 == 0)
                most = MAX(most, frame_table_uncharged(names));
        }
    }
    ck_assert_uint_ge(memory.lasting.used, MEMORY_LASTING_BYTES / 3 * 2);
    ck_assert_uint_le(most, 4 * MIB); /* of a small table */
    ck_assert_uint_eq(frame_table_uncharged(names), 0);
    ck_assert_uint_le(sum_with(SERVE_WORKERS_HEAVY), MEANT);
}
END_TEST

/* Nothing that flamed keeps for processes is outside of that sum, and each kind fits into it. */
START_TEST(all_that_is_kept_is_one_sum)
{
    struct shares *const parts[] = { &memory.symbols, &memory.perf_maps, &memory.copies,
                                     &memory.code_maps, &memory.inlines };

    ck_assert_ptr_eq(pending.bytes.whole, &memory.waiting);
    ck_assert_ptr_eq(memory.waiting.whole, &memory.kept);
    ck_assert_ptr_eq(memory.lasting.whole, &memory.kept);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        ck_assert_ptr_eq(parts[i]->whole, &memory.lasting);
        ck_assert_uint_le(parts[i]->max, memory.lasting.max);
    }
    shares_force(&memory.symbols, 7, 5);
    ck_assert_uint_eq(memory.kept.used, 5);
}
END_TEST

static atomic_int waiter;
static atomic_bool had_its_turn;

static void *take_a_turn(void *unused)
{
    atomic_store(&waiter, gettid());
    reading_turn_begin();
    atomic_store(&had_its_turn, true);
    reading_turn_end();
    return unused;
}

static bool sleeps(int tid)
{
    char path[64], state = 0;
    _cleanup_fclose_ FILE *f = NULL;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    f = fopen(path, "re");
    return f && fscanf(f, "%*d %*s %c", &state) == 1 && state == 'S';
}

/* A thread with many files does not read two of them while another thread waits. */
START_TEST(the_longest_wait_has_the_next_turn)
{
    pthread_t thread;

    reading_turn_begin();
    ck_assert_int_eq(pthread_create(&thread, NULL, take_a_turn, NULL), 0);
    while (!atomic_load(&waiter) || !sleeps(atomic_load(&waiter)))
        poll(NULL, 0, 1);
    ck_assert(!atomic_load(&had_its_turn));
    reading_turn_end();
    reading_turn_begin();
    ck_assert(atomic_load(&had_its_turn));
    reading_turn_end();
    pthread_join(thread, NULL);
}
END_TEST

/* Writes this program's ELF header with an .eh_frame of @bytes zeros. Returns the file. */
static int write_frames(uint64_t bytes)
{
    static const char NAMES[] = "\0.eh_frame";
    Elf64_Shdr sections[3] = {
        [1] = { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = 4096, .sh_size = bytes },
        [2] = { .sh_type = SHT_STRTAB, .sh_offset = 1024, .sh_size = sizeof(NAMES) },
    };
    int fd = memfd_create("frames", MFD_CLOEXEC), own = open("/proc/self/exe", O_RDONLY);
    Elf64_Ehdr head;

    ck_assert_int_eq(read(own, &head, sizeof(head)), sizeof(head));
    close(own);
    head.e_phnum = 0;
    head.e_shoff = 512;
    head.e_shnum = ARRAY_SIZE(sections);
    head.e_shstrndx = 2;
    ck_assert_int_eq(ftruncate(fd, (off_t)(4096 + bytes)), 0);
    ck_assert_int_eq(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
    ck_assert_int_eq(pwrite(fd, sections, sizeof(sections), 512), sizeof(sections));
    ck_assert_int_eq(pwrite(fd, NAMES, sizeof(NAMES), 1024), sizeof(NAMES));
    return fd;
}

static void check_result(struct reader *reader, uint64_t ticket)
{
    struct reader_result result;

    ck_assert(reader_wait(reader, clock_monotonic_ns() + 120 * NSEC_PER_SEC));
    ck_assert(reader_take(reader, &result));
    ck_assert_int_eq(result.outcome, 0);
    ck_assert_uint_eq(result.ticket, ticket);
    ehframe_deinit(&result.table);
}

/* Large rules to unwind are read in turns with symbols, and fit into the same memory. Small ones do
 * not wait: without them stacks are cut. */
START_TEST(large_rules_to_unwind_have_their_turn)
{
    struct reader *reader = NULL;
    struct reader_job *job;

    ck_assert_uint_le(EHFRAME_MAX_BYTES + EHFRAME_ROWS_MAX * sizeof(struct unwind_row),
                      READING_MAX_BYTES);
    ck_assert_int_eq(reader_new(/* wake_fd= */ -1, &memory.copies, &reader), 0);
    reading_turn_begin();
    ck_assert_int_eq(reader_put(reader, 1, write_frames(READING_SMALL_BYTES / 2), 1, &job), 0);
    check_result(reader, 1);
    ck_assert_int_eq(reader_put(reader, 1, write_frames(READING_SMALL_BYTES), 2, &job), 0);
    ck_assert(!reader_wait(reader, clock_monotonic_ns() + 50 * NSEC_PER_MSEC));
    reading_turn_end();
    check_result(reader, 2);
    reader_free(reader);
    ck_assert(!reading_turn_taken());
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("memory_sum");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 200);
    tcase_add_test(tc, all_owners_take_what_flamed_is_meant_to);
    tcase_add_test(tc, one_owner_takes_less);
    tcase_add_test(tc, captures_give_way_to_a_reading);
    tcase_add_test(tc, names_take_what_they_are_charged);
    tcase_add_test(tc, all_that_is_kept_is_one_sum);
    tcase_add_test(tc, the_longest_wait_has_the_next_turn);
    tcase_add_test(tc, large_rules_to_unwind_have_their_turn);
    return suite_run_case("memory_sum", tc);
}
