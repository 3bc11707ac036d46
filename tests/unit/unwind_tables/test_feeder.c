/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_tables/table_loader.c with tables in memory and files of this process. */
#include "feeder_fixture.h"

START_TEST(reads_the_vdso_once)
{
    ck_assert_int_eq(update(1, NULL), 0);
    ck_assert_int_eq(update(1, NULL), 0);
    ck_assert_int_eq(update(2, NULL), 0);
    ck_assert_uint_eq(vdso_opened, 1);
    ck_assert_uint_eq(process_puts, 2);
}
END_TEST

/* Returns the row of the tables for @pc. */
static const struct unwind_row *look_up(uint64_t pc)
{
    const struct unwind_row *best = NULL;

    for (uint32_t i = 0; i < last.mapping_count; i++) {
        const struct unwind_mapping *m = &last.mappings[i];

        if (pc < m->start || pc >= m->end)
            continue;
        for (uint32_t k = m->first_row; k < m->first_row + m->row_count; k++) {
            if (rows[k].pc <= pc - m->bias)
                best = &rows[k];
        }
    }
    return best;
}

START_TEST(describes_a_process)
{
    struct feeder_stats st;

    ck_assert_int_eq(update(10, NULL), 0);
    ck_assert_int_eq(last_pid, 10);
    ck_assert_uint_eq(last.exec_id, 3);
    ck_assert_uint_gt(last.mapping_count, 2);
    for (uint32_t i = 1; i < last.mapping_count; i++)
        ck_assert_uint_le(last.mappings[i - 1].end, last.mappings[i].start);
    /* This function and one of libc have rules. The address below is in no function. */
    ck_assert_ptr_nonnull(look_up((uint64_t)look_up));
    ck_assert_uint_ne(look_up((uint64_t)look_up)->base, UNWIND_BASE_NONE);
    ck_assert_uint_ne(look_up((uint64_t)qsort)->base, UNWIND_BASE_NONE);
    feeder_stats(feeder, &st);
    ck_assert_uint_eq(st.processes, 1);
    ck_assert_uint_gt(st.rows, 1000);
    ck_assert_uint_eq(st.files_failed, 0);
}
END_TEST

START_TEST(shares_tables_and_puts_only_what_changed)
{
    unsigned puts;
    uint32_t slot;

    ck_assert_int_eq(update(10, NULL), 0);
    puts = row_puts;
    slot = last.slot;
    ck_assert_int_eq(update(10, NULL), 0); /* nothing new */
    ck_assert_uint_eq(process_puts, 1);
    ck_assert_int_eq(update(11, NULL), 0); /* the same files */
    ck_assert_uint_eq(row_puts, puts);
    ck_assert_uint_eq(process_puts, 2);
    ck_assert_uint_ne(last.slot, slot);
    /* A new mapping: a new description in a new slot, so that no cached result is used. */
    slot = last.slot;
    ck_assert_ptr_ne(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                     MAP_FAILED);
    read_own_maps();
    ck_assert_int_eq(update(11, NULL), 0);
    ck_assert_uint_eq(process_puts, 3);
    ck_assert_uint_ne(last.slot, slot);
}
END_TEST

/* ---- which file a mapping stands for ---- */

#define OF_LIBC 1 /* the program that a file is a copy of */
#define OF_THIS 2 /* this program */

static uint64_t code_offset; /* of the last file written */

/* Writes a copy of @what to @path, and waits until the file is old enough. */
static void write_file(const char *path, int what)
{
    const struct mapping *m =
        maps_find(&maps, what == OF_LIBC ? (uint64_t)qsort : (uint64_t)write_file);
    static char bytes[1 << 16];
    char from[4096];
    int in = open(span_copy(m->path, from, sizeof(from)), O_RDONLY | O_CLOEXEC);
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    ssize_t n;

    ck_assert(in >= 0 && out >= 0);
    code_offset = m->offset;
    while ((n = read(in, bytes, sizeof(bytes))) > 0)
        ck_assert(write(out, bytes, (size_t)n) == n);
    close_fd(in);
    close_fd(out);
    usleep(2 * FILE_IDENTITY_SETTLED_NS / 1000);
}

/* Describes process @pid with one executable mapping. Its maps have the present numbers of @path.
 * Returns the number of its rows. */
static uint32_t rows_of_one(int32_t pid, const char *path)
{
    struct mapping m = {
        .start = 0x10000, .end = 0x20000, .offset = code_offset, .exec = true, .path = span_of(path)
    };
    struct maps one = { .entries = &m, .count = 1 };
    struct feeder_process p = { .id = { .host_pid = pid }, .maps = &one };
    struct stat st;

    ck_assert(stat(path, &st) == 0);
    m.inode = st.st_ino;
    m.dev_major = major(st.st_dev);
    m.dev_minor = minor(st.st_dev);
    file = path;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    ck_assert_uint_eq(last.mapping_count, 1);
    return last.mappings[0].row_count;
}

static char *make_folder(char folder[64])
{
    snprintf(folder, 64, "/tmp/feeder.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    return folder;
}

/* How a file gets the device and inode of another. */
enum successor { NEXT_FILE, IN_PLACE, SUCCESSORS };

/* Puts another file at @path. Returns true if it has the same inode. */
static bool replace(const char *path, enum successor how)
{
    struct stat before, after;

    ck_assert(stat(path, &before) == 0);
    if (how == NEXT_FILE)
        ck_assert(unlink(path) == 0);
    write_file(path, OF_LIBC);
    ck_assert(stat(path, &after) == 0);
    return before.st_dev == after.st_dev && before.st_ino == after.st_ino;
}

/* One user's library is removed, and another's gets its inode (ext4 gives it to the next file); or
 * a library is upgraded in place. A file that only root can write is held open, so that its inode
 * is not reused. */
START_TEST(takes_no_file_for_another)
{
    bool by_user = _i / SUCCESSORS;
    char folder[64], path[128];
    uint32_t rows_before, rows_after;

    snprintf(path, sizeof(path), "%s/lib.so", make_folder(folder));
    write_file(path, OF_THIS);
    ck_assert(!by_user || geteuid() != 0 || chown(path, 12345, 12345) == 0);
    usleep(2 * FILE_IDENTITY_SETTLED_NS / 1000);
    rows_before = rows_of_one(10, path);
    ck_assert_uint_gt(rows_before, 0);
    if (replace(path, _i % SUCCESSORS) || _i % SUCCESSORS == NEXT_FILE) {
        rows_after = rows_of_one(11, path);
        ck_assert_uint_gt(rows_after, 0);
        ck_assert_uint_ne(rows_after, rows_before);
    }
    ck_assert(unlink(path) == 0 && rmdir(folder) == 0);
}
END_TEST

/* By now the numbers in a maps file may be another file's: each process is asked for its own
 * file. */
START_TEST(believes_no_numbers)
{
    char folder[64], paths[2][128];
    uint32_t counts[2];

    make_folder(folder);
    for (int i = 0; i < 2; i++) {
        struct mapping m = { .start = 0x10000, .end = 0x20000, .inode = 77, .exec = true };
        struct maps one = { .entries = &m, .count = 1 };
        struct feeder_process p = { .id = { .host_pid = 10 + i }, .maps = &one };

        snprintf(paths[i], sizeof(paths[i]), "%s/%d.so", folder, i);
        write_file(paths[i], i ? OF_LIBC : OF_THIS);
        m.offset = code_offset;
        m.path = span_of("/usr/lib/libsame.so");
        file = paths[i];
        ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
        counts[i] = last.mappings[0].row_count;
        ck_assert_uint_gt(counts[i], 0);
    }
    ck_assert_uint_ne(counts[0], counts[1]);
    for (int i = 0; i < 2; i++)
        ck_assert(unlink(paths[i]) == 0);
    ck_assert(rmdir(folder) == 0);
}
END_TEST

/* Each process image is asked once for the file of a mapping. */
START_TEST(asks_each_image_once)
{
    struct mapping m = { .start = 0x10000, .end = 0x20000, .inode = 77, .exec = true };
    struct maps one = { .entries = &m, .count = 1 };
    struct feeder_process p = { .id = { .host_pid = 10 }, .maps = &one };

    file = "/proc/self/exe";
    m.path = span_of("/usr/lib/libone.so");
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
        ck_assert_uint_eq(opened, 1);
    }
    m.inode++; /* another file is there now */
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    ck_assert_uint_eq(opened, 2);
    p.id.exec_no++;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    ck_assert_uint_eq(opened, 3);
    p.id.host_pid++;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    ck_assert_uint_eq(opened, 4);
}
END_TEST

/* A file that only root can write is opened once for many processes, and held for a moment only. */
START_TEST(opens_once_what_is_held)
{
    char folder[64], path[128];

    if (geteuid() != 0)
        return;
    snprintf(path, sizeof(path), "%s/lib.so", make_folder(folder));
    write_file(path, OF_THIS);
    for (int32_t pid = 10; pid < 20; pid++)
        ck_assert_uint_gt(rows_of_one(pid, path), 0);
    ck_assert_uint_eq(opened, 1);
    usleep(2100 * 1000);
    feeder_poll(feeder);
    ck_assert_uint_gt(rows_of_one(20, path), 0);
    ck_assert_uint_eq(opened, 2);
    ck_assert(chmod(path, 0757) == 0); /* writable for all users */
    usleep(2 * FILE_IDENTITY_SETTLED_NS / 1000);
    for (int32_t pid = 30; pid < 33; pid++)
        ck_assert_uint_gt(rows_of_one(pid, path), 0);
    ck_assert_uint_eq(opened, 5);
    ck_assert(unlink(path) == 0 && rmdir(folder) == 0);
}
END_TEST

/* No two living processes share a slot. Slots rise until they begin again, which makes the sampler
 * drop its cache. */
START_TEST(gives_each_slot_once)
{
    struct maps few = { .entries = maps.entries, .count = 1 };
    struct feeder_process p = { .maps = &few };
    uint32_t before, kept;
    unsigned anew = 0;

    p.id.host_pid = 10;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    kept = before = last.slot;
    p.id.host_pid = 11;
    for (uint32_t i = 1; i < UNWIND_SLOTS_MAX + 10; i++) {
        p.exec_id = i; /* a new description */
        ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
        ck_assert_uint_ne(last.slot, kept);
        ck_assert_uint_gt(last.slot, 0);
        ck_assert_uint_lt(last.slot, UNWIND_SLOTS_MAX);
        anew += last.slot < before;
        before = last.slot;
    }
    ck_assert_uint_eq(anew, 1);
    /* Living processes keep their slots, whichever process comes. */
    for (int32_t pid = 100; pid < 100 + 64; pid++) {
        p.id.host_pid = pid;
        ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
        ck_assert_uint_ne(last.slot, kept);
    }
}
END_TEST

START_TEST(leaves_out_the_code_cache)
{
    uint64_t self = (uint64_t)look_up;
    struct unwind_vm vm = { .code_low = self & ~UINT64_C(4095), .code_high = self + 4096 };
    const struct mapping *m = maps_find(&maps, self);

    vm.code_low = m->start;
    vm.code_high = m->end;
    ck_assert_int_eq(update(10, &vm), 0);
    ck_assert_uint_eq(last.vm.code_low, vm.code_low);
    for (uint32_t i = 0; i < last.mapping_count; i++)
        ck_assert_uint_ne(last.mappings[i].start, m->start);
}
END_TEST

START_TEST(makes_room_by_forgetting)
{
    struct feeder_stats st;

    ck_assert_int_eq(update(10, NULL), 0);
    feeder_stats(feeder, &st);
    ck_assert(!feeder_lacks_rows(feeder, 10));
    ck_assert_uint_eq(st.refused, 0);
    feeder = feeder_free(feeder);
    new_feeder((uint32_t)st.rows - 100, false); /* too few for all rows */
    ck_assert_int_eq(update(10, NULL), 0);
    feeder_stats(feeder, &st);
    ck_assert(feeder_lacks_rows(feeder, 10));
    ck_assert_uint_gt(st.refused, 0);
    ck_assert_uint_le(st.rows, rows_max);
    ck_assert_uint_gt(st.rows, 0);
    feeder_forget(feeder, 10);
    ck_assert_uint_eq(forgotten, 1);
    ck_assert_int_eq(update(11, NULL), 0); /* the old rows may be dropped */
    feeder_stats(feeder, &st);
    ck_assert_uint_le(st.rows, rows_max);
    feeder_forget(feeder, 12); /* not a known process */
    ck_assert_uint_eq(forgotten, 1);
}
END_TEST

/* ---- files that are read in the background ---- */

/* Returns the mappings of this program and of libc. */
static struct maps program_and_libc(struct mapping two[2])
{
    two[0] = *maps_find(&maps, (uint64_t)program_and_libc);
    two[1] = *maps_find(&maps, (uint64_t)qsort);
    return (struct maps){ .entries = two, .count = 2 };
}

/* Describes process @pid, an owner of its own, and waits for its files. */
static void describe_whole(int32_t pid, const struct maps *m)
{
    struct feeder_process p = { .id = { .host_pid = pid }, .maps = m };
    int r;

    while ((r = feeder_update(feeder, &p, NULL)) == FEEDER_PENDING) {
        ck_assert(feeder_wait(feeder, clock_monotonic_ns() + 20 * NSEC_PER_SEC));
        feeder_poll(feeder);
    }
    ck_assert_int_eq(r, 0);
    ck_assert_uint_eq(last.mapping_count, m->count);
}

/* One owner's share is full before its last file has rows. Other owners still get rows. */
START_TEST(refuses_rows_to_the_one_whose_share_is_full)
{
    struct mapping two[2];
    struct maps m = program_and_libc(two);
    struct maps first = { .entries = two, .count = 1 };
    uint32_t program, libc;

    describe_whole(10, &m);
    program = last.mappings[0].row_count;
    libc = last.mappings[1].row_count;
    feeder = feeder_free(feeder);
    new_feeder(2 * libc + program, /* background= */ true); /* half of it is too little for both */
    describe_whole(10, &first); /* of two files read at once, either could be the first */
    for (int again = 0; again < 2; again++) {
        describe_whole(10, &m);
        ck_assert_uint_eq(last.mappings[0].row_count, program);
        ck_assert_uint_eq(last.mappings[1].row_count, 0);
        ck_assert(feeder_lacks_rows(feeder, 10));
    }
    describe_whole(11, &m);
    ck_assert_uint_eq(last.mappings[1].row_count, libc);
    ck_assert(!feeder_lacks_rows(feeder, 11));
}
END_TEST

/* A reading that fails, as by an error of the disk, holds for now: the file is read again after a
 * while, on a thread for another owner at once. */
START_TEST(a_failed_reading_holds_for_now)
{
    struct mapping m = { .start = 0x10000, .end = 0x20000, .inode = 77, .exec = true };
    struct maps one = { .entries = &m, .count = 1 };
    char folder[64], path[128];

    make_folder(folder);
    snprintf(path, sizeof(path), "%s/lib.so", folder);
    write_file(path, OF_THIS);
    usleep(50000); /* so that the file has an identity */
    feeder = feeder_free(feeder);
    new_feeder(ROWS, /* background= */ _i);
    m.offset = code_offset;
    m.path = span_of("/usr/lib/lib.so");
    file = path;
    file_access = O_WRONLY; /* pread(2) fails */
    describe_whole(10, &one);
    ck_assert_uint_eq(last.mappings[0].row_count, 0);
    ck_assert(!feeder_lacks_rows(feeder, 10));
    ck_assert_uint_gt(feeder_again_ns(feeder, 10), clock_monotonic_ns());
    ck_assert_uint_le(feeder_again_ns(feeder, 10), clock_monotonic_ns() + 10 * NSEC_PER_SEC);
    file_access = O_RDONLY;
    describe_whole(10 + _i, &one);
    ck_assert_uint_gt(last.mappings[0].row_count, 0);
    ck_assert_uint_eq(feeder_again_ns(feeder, 10 + _i), 0);
    ck_assert(unlink(path) == 0);
    ck_assert(rmdir(folder) == 0);
}
END_TEST

/* While a copy is being read, or finds no room, no other copy of that file is requested. */
START_TEST(asks_for_one_copy_at_a_time)
{
    struct mapping two[2];
    struct maps m = program_and_libc(two);
    struct feeder_process p = { .id = { .host_pid = 10 }, .maps = &m };

    feeder = feeder_free(feeder);
    new_feeder(ROWS, /* background= */ true);
    copied = true;
    if (_i)
        shares_init(&copies, 4096);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(feeder_update(feeder, &p, NULL), FEEDER_PENDING);
    ck_assert_uint_eq(opened, m.count);
}
END_TEST

START_TEST(tells_a_process_that_is_gone)
{
    open_result = PROC_GONE;
    ck_assert_int_eq(update(10, NULL), PROC_GONE);
    ck_assert_uint_eq(process_puts, 0);
    open_result = FEEDER_PENDING; /* an outcome of the broker counts as no file */
    ck_assert_int_eq(update(10, NULL), 0);
    open_result = -EIO; /* a file that cannot be opened leaves its mapping without rows */
    ck_assert_int_eq(update(10, NULL), 0);
    for (uint32_t i = 0; i < last.mapping_count; i++)
        ck_assert_uint_eq(last.mappings[i].row_count, 0);
}
END_TEST

/* Returns true if the unwinder finds the mapping of @pc: in the description or in the table of
 * rows. */
static bool knows(uint64_t pc)
{
    const uint64_t *words = (const void *)(rows + last.first_more);
    uint32_t n = last.more_count;

    for (uint32_t i = 0; i < last.mapping_count; i++) {
        if (pc >= last.mappings[i].start && pc < last.mappings[i].end)
            return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        ck_assert(i == 0 || words[i - 1] < words[i]);
        if (pc >= words[i] && pc < words[n + (size_t)i * UNWIND_MORE_WORDS])
            return true;
    }
    return false;
}

/* Makes @count executable mappings of a page, and behind them the most important libraries. */
static struct maps many_maps(size_t count)
{
    struct maps m = { .entries = calloc(count + 2, sizeof(*m.entries)), .count = count + 2 };

    ck_assert_ptr_nonnull(m.entries);
    for (size_t i = 0; i < m.count; i++) {
        m.entries[i] =
            (struct mapping){ .start = (i + 1) << 16, .end = ((i + 1) << 16) + 4096, .exec = true };
    }
    m.entries[count].path = span_of("/jdk/lib/server/libjvm.so");
    m.entries[count + 1].path = span_of("/lib/libc.so.6");
    return m;
}

START_TEST(knows_more_than_its_description_holds)
{
    const size_t COUNTS[] = { UNWIND_MAPPINGS_MAX - 2, UNWIND_MAPPINGS_MAX - 1, 1000, 4500 };
    size_t count = COUNTS[_i], known = 0, most = UNWIND_MAPPINGS_MAX + UNWIND_MORE_MAX;
    struct maps m = many_maps(count);
    struct feeder_process p = { .id.host_pid = 10, .maps = &m };
    struct feeder_stats st;
    uint32_t slot;

    open_result = -EIO;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    for (size_t i = 0; i < m.count; i++)
        known += knows(m.entries[i].start + 5);
    ck_assert_uint_eq(known, MIN(m.count, most));
    ck_assert_uint_eq(feeder_left_out(feeder, 10), m.count - known);
    feeder_stats(feeder, &st);
    ck_assert_uint_eq(st.mappings_left_out, m.count - known);
    ck_assert(!knows(m.entries[0].end) && !knows(m.entries[count + 1].end));
    /* The most important mappings are in the description itself. */
    ck_assert_uint_eq(last.mappings[last.mapping_count - 1].start, m.entries[count + 1].start);
    ck_assert_uint_eq(last.mappings[last.mapping_count - 2].start, m.entries[count].start);
    ck_assert_uint_eq(last.more_count != 0, m.count > UNWIND_MAPPINGS_MAX);
    /* An unchanged table is not written again. A new mapping outside of the description is. */
    slot = last.slot;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    ck_assert_uint_eq(last.slot, slot);
    m.entries[230].end += 4096;
    ck_assert_int_eq(feeder_update(feeder, &p, NULL), 0);
    ck_assert_uint_ne(last.slot, slot);
    ck_assert(knows(m.entries[230].end - 5));
    feeder_forget(feeder, 10);
    free(m.entries);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("feeder");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, reads_the_vdso_once);
    tcase_add_test(tc, describes_a_process);
    tcase_add_test(tc, shares_tables_and_puts_only_what_changed);
    tcase_add_loop_test(tc, takes_no_file_for_another, 0, 2 * SUCCESSORS);
    tcase_add_test(tc, believes_no_numbers);
    tcase_add_test(tc, asks_each_image_once);
    tcase_add_test(tc, opens_once_what_is_held);
    tcase_add_test(tc, gives_each_slot_once);
    tcase_add_test(tc, leaves_out_the_code_cache);
    tcase_add_test(tc, makes_room_by_forgetting);
    tcase_add_test(tc, refuses_rows_to_the_one_whose_share_is_full);
    tcase_add_loop_test(tc, a_failed_reading_holds_for_now, 0, 2);
    tcase_add_loop_test(tc, asks_for_one_copy_at_a_time, 0, 2);
    tcase_add_test(tc, tells_a_process_that_is_gone);
    tcase_add_loop_test(tc, knows_more_than_its_description_holds, 0, 4);
    return suite_run_case("feeder", tc);
}
