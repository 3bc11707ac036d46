/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol files are read on their own thread: a large file costs the caller no time. */
#include "fixed_places.h"
#include "suite.h"
#include "symbol_files.h"

#include "base/clock.h"
#include "base/reading_turn.h"
#include "symbolize/elf_cache.h"

#include <elf.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SYMBOLS 50000u
#define TEXT_START 0x1000u
#define SECTIONS 5
#define WAIT_NS (120 * NSEC_PER_SEC)

enum { NONE, TEXT, SYMTAB, STRTAB, NAMES };

static struct memory_budget memory;

static char folder[64];
static char path[128];

static void put(FILE *f, const void *p, size_t n)
{
    ck_assert_uint_eq(fwrite(p, 1, n, f), n);
}

/* Writes an ELF file with @count functions "function_N" of 16 bytes. */
static void write_elf(uint32_t count)
{
    static const char NAMES_TEXT[] = "\0.text\0.symtab\0.strtab\0.names";
    Elf64_Shdr s[SECTIONS] = {
        [TEXT] = { 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, TEXT_START, TEXT_START, 0, 0, 0,
                   16 },
        [SYMTAB] = { 7, SHT_SYMTAB, 0, 0, 0, 0, STRTAB, 1, 8, sizeof(Elf64_Sym) },
        [STRTAB] = { 15, SHT_STRTAB, 0, 0, 0, 0, 0, 0, 1, 0 },
        [NAMES] = { 23, SHT_STRTAB, 0, 0, 0, sizeof(NAMES_TEXT), 0, 0, 1, 0 },
    };
    Elf64_Ehdr h = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1 },
                     .e_type = ET_DYN,
                     .e_machine = EM_X86_64,
                     .e_version = 1,
                     .e_phoff = sizeof(h),
                     .e_shoff = sizeof(h) + sizeof(Elf64_Phdr),
                     .e_ehsize = sizeof(h),
                     .e_phentsize = sizeof(Elf64_Phdr),
                     .e_phnum = 1,
                     .e_shentsize = sizeof(s[0]),
                     .e_shnum = SECTIONS,
                     .e_shstrndx = NAMES };
    Elf64_Phdr load = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TEXT_START };
    FILE *f = fopen(path, "w");

    ck_assert_ptr_nonnull(f);
    s[TEXT].sh_size = (uint64_t)count * 16;
    s[SYMTAB].sh_offset = TEXT_START + s[TEXT].sh_size;
    s[SYMTAB].sh_size = (uint64_t)(count + 1) * sizeof(Elf64_Sym);
    s[STRTAB].sh_offset = s[SYMTAB].sh_offset + s[SYMTAB].sh_size;
    s[STRTAB].sh_size = 1 + (uint64_t)count * sizeof("function_00000000");
    s[NAMES].sh_offset = s[STRTAB].sh_offset + s[STRTAB].sh_size;
    load.p_vaddr = load.p_paddr = TEXT_START;
    load.p_filesz = load.p_memsz = s[TEXT].sh_size;
    put(f, &h, sizeof(h));
    put(f, &load, sizeof(load));
    put(f, s, sizeof(s));
    fseek(f, (long)s[SYMTAB].sh_offset, SEEK_SET);
    put(f, &(Elf64_Sym){ 0 }, sizeof(Elf64_Sym));
    for (uint32_t i = 0; i < count; i++) {
        Elf64_Sym sym = { 1 + i * (uint32_t)sizeof("function_00000000"),
                          ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                          0,
                          TEXT,
                          TEXT_START + (uint64_t)i * 16,
                          16 };
        put(f, &sym, sizeof(sym));
    }
    put(f, "", 1);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "function_%08u", i);
        put(f, name, sizeof("function_00000000"));
    }
    put(f, NAMES_TEXT, sizeof(NAMES_TEXT));
    ck_assert_int_eq(fclose(f), 0);
    usleep(2 * FILE_IDENTITY_SETTLED_NS / 1000);
}

static int give_path(struct broker *cookie, const struct proc_id *id, uint64_t start, uint64_t end,
                     int *ret_fd, struct error *err)
{
    (void)cookie, (void)id, (void)start, (void)end, (void)err;
    return local_open(path, ret_fd);
}

static struct local_files local;
static struct symbol_files files;
static struct elf_cache *cache;
static int wake_fd;
static const struct proc_id ID = { .host_pid = 1 };

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/flamed-test-elf-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/large", folder);
    local = (struct local_files){ 0 };
    files = local_symbol_files(&local);
    files.mapped = give_path;
    cache = NULL;
    memory_budget_init(&memory);
    fix_places(&memory);
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_ge(wake_fd, 0);
}

static void teardown(void)
{
    elf_cache_free(cache);
    close(wake_fd);
    unlink(path);
    rmdir(folder);
}

static int load(struct elf_ref *ret)
{
    return elf_cache_load(cache, /* owner= */ 1, &files, &ID, 0, 4096, ret, NULL);
}

static void wait_for_all(void)
{
    uint64_t until_ns = clock_monotonic_ns() + WAIT_NS;
    struct elf_cache_stats stats;

    for (;;) {
        elf_cache_stats(cache, &stats);
        if (!stats.reading)
            return;
        ck_assert_msg(elf_cache_wait(cache, until_ns), "nothing came");
        elf_cache_poll(cache);
    }
}

static void check_image(struct elf_ref ref)
{
    struct elf_image *image = elf_cache_get(cache, ref);
    const struct symbol *s;

    ck_assert_ptr_nonnull(image);
    s = symbol_table_find(&image->symbols, TEXT_START + (uint64_t)(SYMBOLS - 1) * 16 + 3);
    ck_assert_ptr_nonnull(s);
    ck_assert(span_eq_str(symbol_name(&image->symbols, s), "function_00049999"));
}

/* Measured by this thread's own CPU time, so that other load does not matter. */
START_TEST(a_large_file_costs_the_caller_nothing)
{
    struct elf_ref ref = ELF_REF_NULL, again = ELF_REF_NULL, third = ELF_REF_NULL;
    struct elf_cache_stats stats;
    uint64_t at_once_ns, here_ns;

    write_elf(SYMBOLS);
    ck_assert_int_eq(elf_cache_new(4, /* background= */ false, wake_fd, &memory, &cache), 0);
    at_once_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ck_assert_int_eq(load(&ref), 0);
    at_once_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - at_once_ns;
    check_image(ref);
    cache = elf_cache_free(cache);

    ck_assert_int_eq(elf_cache_new(4, /* background= */ true, wake_fd, &memory, &cache), 0);
    here_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ck_assert_int_eq(load(&ref), ELF_CACHE_PENDING);
    ck_assert_int_eq(load(&again), ELF_CACHE_PENDING);
    ck_assert(!elf_cache_get(cache, ref));
    wait_for_all();
    here_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - here_ns;
    ck_assert_int_eq(elf_cache_settle(cache, &ref), 0);
    ck_assert_int_eq(elf_cache_settle(cache, &again), 0);
    check_image(ref);
    ck_assert_uint_eq(ref.slot, again.slot); /* the same file, read once */
    ck_assert_int_eq(load(&third), 0);
    ck_assert_uint_eq(ref.slot, third.slot);
    elf_cache_stats(cache, &stats);
    ck_assert_uint_eq(stats.files, 1);
    ck_assert_msg(here_ns * 10 < at_once_ns, "%llu ns of CPU here, %llu ns at once",
                  (unsigned long long)here_ns, (unsigned long long)at_once_ns);
}
END_TEST

START_TEST(what_cannot_be_read_is_told)
{
    struct elf_ref ref = ELF_REF_NULL, none = ELF_REF_NULL;
    struct elf_cache_stats stats;
    FILE *f = fopen(path, "w");

    put(f, "junk", 4);
    fclose(f);
    ck_assert_int_eq(elf_cache_new(4, /* background= */ true, wake_fd, &memory, &cache), 0);
    ck_assert_int_eq(elf_cache_settle(cache, &none), -EAGAIN);
    ck_assert_int_eq(load(&ref), ELF_CACHE_PENDING);
    wait_for_all();
    ck_assert_int_eq(elf_cache_settle(cache, &ref), -ENOEXEC);
    elf_cache_stats(cache, &stats);
    ck_assert_uint_eq(stats.failed, 1);
}
END_TEST

START_TEST(more_than_can_wait_are_asked_for_again)
{
    struct elf_ref refs[ELF_CACHE_READINGS_MAX + 1] = { 0 };
    size_t last = ARRAY_SIZE(refs) - 1;

    write_elf(10);
    ck_assert_int_eq(elf_cache_new(4, /* background= */ true, wake_fd, &memory, &cache), 0);
    for (size_t i = 0; i < ARRAY_SIZE(refs); i++)
        ck_assert_int_eq(load(&refs[i]), ELF_CACHE_PENDING);
    wait_for_all();
    for (size_t i = 0; i < last; i++)
        ck_assert_int_eq(elf_cache_settle(cache, &refs[i]), 0);
    ck_assert_int_eq(elf_cache_settle(cache, &refs[last]), -EAGAIN);
    ck_assert_int_eq(load(&refs[last]), 0);
}
END_TEST

static int load_small(struct broker *cookie, const struct proc_id *id, uint64_t start, uint64_t end,
                      int *ret_fd, struct error *err)
{
    (void)cookie, (void)id, (void)start, (void)end, (void)err;
    return local_open("/proc/self/exe", ret_fd);
}

/* Twelve large files of one owner are requested before a small one of another owner. */
START_TEST(files_of_one_owner_do_not_starve_another)
{
    struct elf_ref alice[12] = { 0 }, bob = ELF_REF_NULL;
    struct symbol_files small = files;
    size_t before = 0;

    small.mapped = load_small;
    ck_assert_int_eq(elf_cache_new(16, /* background= */ true, wake_fd, &memory, &cache), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(alice); i++) {
        write_elf(SYMBOLS + i);
        ck_assert_int_eq(load(&alice[i]), ELF_CACHE_PENDING);
        unlink(path);
    }
    ck_assert_int_eq(elf_cache_load(cache, /* owner= */ 2, &small, &ID, 0, 4096, &bob, NULL),
                     ELF_CACHE_PENDING);
    while (elf_cache_settle(cache, &bob) == ELF_CACHE_PENDING) {
        ck_assert(elf_cache_wait(cache, clock_monotonic_ns() + WAIT_NS));
        elf_cache_poll(cache);
    }
    ck_assert_ptr_nonnull(elf_cache_get(cache, bob));
    for (size_t i = 0; i < ARRAY_SIZE(alice); i++)
        before += elf_cache_settle(cache, &alice[i]) == 0;
    ck_assert_uint_le(before, 4); /* each file takes two steps */
}
END_TEST

/* Waits only for the eventfd, as the engine does. */
START_TEST(the_owner_is_woken_when_a_file_is_read)
{
    struct pollfd woken = { .fd = wake_fd, .events = POLLIN };
    struct elf_ref ref = ELF_REF_NULL;
    eventfd_t n;

    write_elf(10);
    ck_assert_int_eq(elf_cache_new(4, /* background= */ true, wake_fd, &memory, &cache), 0);
    ck_assert_int_eq(poll(&woken, 1, 0), 0);
    ck_assert_int_eq(load(&ref), ELF_CACHE_PENDING);
    while (elf_cache_settle(cache, &ref) == ELF_CACHE_PENDING) {
        ck_assert_int_eq(poll(&woken, 1, WAIT_NS / NSEC_PER_MSEC), 1);
        ck_assert_int_eq(eventfd_read(wake_fd, &n), 0);
        elf_cache_poll(cache);
    }
    ck_assert_ptr_nonnull(elf_cache_get(cache, ref));
}
END_TEST

START_TEST(it_ends_in_the_middle)
{
    struct elf_ref ref = ELF_REF_NULL;

    write_elf(SYMBOLS);
    ck_assert_int_eq(elf_cache_new(4, /* background= */ true, wake_fd, &memory, &cache), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(load(&ref), ELF_CACHE_PENDING);
    cache = elf_cache_free(cache); /* a sanitizer reports leaks */
    ck_assert_uint_eq(memory.kept.used, 0);
}
END_TEST

/* ---- memory ---- */

/* Returns the memory for symbols of @count functions. */
static uint64_t taken_by(uint32_t count)
{
    struct elf_ref ref = ELF_REF_NULL;

    write_elf(count);
    ck_assert_int_eq(elf_cache_load(cache, /* owner= */ 9, &files, &ID, 0, 4096, &ref, NULL), 0);
    return shares_used(&memory.symbols, 9);
}

static int load_of(uint64_t owner, uint32_t count, struct elf_ref *ret)
{
    unlink(path);
    write_elf(count);
    return elf_cache_load(cache, owner, &files, &ID, 0, 4096, ret, NULL);
}

static bool is_named(struct elf_ref ref)
{
    struct elf_image *image = elf_cache_get(cache, ref);

    return image && image->symbols.count;
}

/* A file waits while another thread reads one. A reading costs no owner room. */
START_TEST(a_reading_has_its_turn_and_is_charged_to_no_owner)
{
    struct elf_ref ref = ELF_REF_NULL;

    write_elf(SYMBOLS);
    ck_assert_int_eq(elf_cache_new(4, /* background= */ true, wake_fd, &memory, &cache), 0);
    reading_turn_begin();
    ck_assert_int_eq(load(&ref), ELF_CACHE_PENDING);
    ck_assert(elf_cache_wait(cache, clock_monotonic_ns() + WAIT_NS)); /* its headers */
    elf_cache_poll(cache);
    ck_assert(!elf_cache_wait(cache, clock_monotonic_ns() + 50 * NSEC_PER_MSEC));
    ck_assert_uint_eq(memory.kept.used, 0);
    reading_turn_end();
    wait_for_all();
    ck_assert_int_eq(elf_cache_settle(cache, &ref), 0);
    ck_assert(is_named(ref));
    ck_assert_uint_eq(memory.kept.used, memory.symbols.used);
}
END_TEST

/* Loads @count files of @owner, the first with @first symbols. */
static void load_files(uint64_t owner, uint32_t first, struct elf_ref *ret, size_t count)
{
    for (uint32_t i = 0; i < count; i++)
        load_of(owner, first + i, &ret[i]);
    wait_for_all();
    for (size_t i = 0; i < count; i++)
        elf_cache_settle(cache, &ret[i]);
}

static size_t count_named(const struct elf_ref *refs, size_t count)
{
    size_t named = 0;

    while (count)
        named += is_named(refs[--count]);
    return named;
}

/* Two owners fill their shares with other data than symbols. Others keep theirs while the files of
 * a new owner are read, which are named, too. */
START_TEST(other_data_costs_nobody_symbols_in_use)
{
    struct elf_ref carols[6] = { 0 }, daves[3] = { 0 };
    struct elf_cache_stats stats;

    ck_assert_int_eq(elf_cache_new(32, /* background= */ true, wake_fd, &memory, &cache), 0);
    load_files(3, SYMBOLS, carols, ARRAY_SIZE(carols));
    for (uint64_t owner = 1; owner < 3; owner++) {
        while (shares_room_lasting(&memory.perf_maps, owner) >= 1 << 20)
            shares_force(&memory.perf_maps, owner, 1 << 20);
    }
    load_files(4, SYMBOLS + 20, daves, ARRAY_SIZE(daves));
    ck_assert_uint_eq(count_named(carols, ARRAY_SIZE(carols)), ARRAY_SIZE(carols));
    ck_assert_uint_eq(count_named(daves, ARRAY_SIZE(daves)), ARRAY_SIZE(daves));
    /* Without any room dave's next file has no symbols, but carol's stay. */
    shares_force(&memory.perf_maps, 1, memory.lasting.max);
    load_files(4, SYMBOLS + 40, daves, 1);
    ck_assert_uint_eq(count_named(carols, ARRAY_SIZE(carols)), ARRAY_SIZE(carols));
    ck_assert(!is_named(daves[0]));
    elf_cache_stats(cache, &stats);
    ck_assert_uint_eq(stats.evicted, 0);
}
END_TEST

/* An owner that is alone may use its share to the end, also while its file is read. */
START_TEST(the_last_of_a_share_is_for_symbols)
{
    struct elf_ref refs[3] = { 0 };

    shares_force(&memory.lasting, 1, memory.lasting.max / 2 - (16 << 20));
    ck_assert_int_eq(elf_cache_new(8, /* background= */ true, wake_fd, &memory, &cache), 0);
    load_files(1, SYMBOLS, refs, ARRAY_SIZE(refs));
    ck_assert_uint_eq(count_named(refs, ARRAY_SIZE(refs)), ARRAY_SIZE(refs));
}
END_TEST

/* alice's files, always in use, fill her share. Her further files get no symbols, and bob's still
 * do. */
START_TEST(an_owner_has_a_share_of_memory)
{
    struct elf_ref alice[10], bob = ELF_REF_NULL;
    struct elf_cache_stats stats;
    size_t named;
    uint64_t one;

    ck_assert_int_eq(elf_cache_new(32, /* background= */ false, wake_fd, &memory, &cache), 0);
    one = taken_by(SYMBOLS);
    cache = elf_cache_free(cache);
    ck_assert_uint_eq(memory.symbols.used, 0);
    shares_init(&memory.symbols, 10 * one);
    ck_assert_int_eq(elf_cache_new(32, /* background= */ false, wake_fd, &memory, &cache), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(alice); i++)
        ck_assert_int_eq(load_of(1, SYMBOLS + i, &alice[i]), 0);
    named = count_named(alice, ARRAY_SIZE(alice));
    ck_assert_uint_eq(named, 4); /* of five files; those without symbols need some memory, too */
    ck_assert(is_named(alice[0]));
    elf_cache_stats(cache, &stats);
    ck_assert_uint_eq(stats.nameless, ARRAY_SIZE(alice) - named);
    ck_assert_uint_eq(stats.left_out, ARRAY_SIZE(alice) - named);
    ck_assert_int_eq(load_of(2, SYMBOLS + 20, &bob), 0);
    ck_assert(is_named(bob));
    /* The same file for another owner, who has room. */
    ck_assert_int_eq(load_of(1, SYMBOLS + 9, &alice[9]), 0);
    ck_assert(!is_named(alice[9]));
    ck_assert_int_eq(elf_cache_load(cache, 3, &files, &ID, 0, 4096, &bob, NULL), 0);
    ck_assert(is_named(bob));
}
END_TEST

/* An owner with more memory gives way to one with less, never the other way round. */
START_TEST(who_has_more_gives_way)
{
    struct elf_ref alice[8], bob[6];
    uint64_t one;

    ck_assert_int_eq(elf_cache_new(32, /* background= */ false, wake_fd, &memory, &cache), 0);
    one = taken_by(SYMBOLS);
    cache = elf_cache_free(cache);
    shares_init(&memory.symbols, 10 * one);
    ck_assert_int_eq(elf_cache_new(32, /* background= */ false, wake_fd, &memory, &cache), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(alice); i++)
        ck_assert_int_eq(load_of(1, SYMBOLS + i, &alice[i]), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(bob); i++)
        ck_assert_int_eq(load_of(2, SYMBOLS + 20 + i, &bob[i]), 0);
    ck_assert(is_named(bob[0]) && is_named(bob[1]) && is_named(bob[2]));
    ck_assert_uint_ge(count_named(alice, ARRAY_SIZE(alice)), 2);
    ck_assert_uint_le(memory.symbols.used, memory.symbols.max);
}
END_TEST

/* Once there is room, a file that was left out is read when it is requested again. */
START_TEST(what_was_left_out_comes_when_there_is_room)
{
    struct elf_ref ref = ELF_REF_NULL;
    uint64_t until_ns = clock_monotonic_ns() + WAIT_NS;

    ck_assert_int_eq(elf_cache_new(4, /* background= */ false, wake_fd, &memory, &cache), 0);
    shares_force(&memory.symbols, 1, memory.symbols.max);
    ck_assert_int_eq(load_of(1, SYMBOLS, &ref), 0);
    ck_assert(elf_cache_get(cache, ref) && !is_named(ref));
    elf_cache_poll(cache);
    ck_assert(elf_cache_get(cache, ref));
    shares_give(&memory.symbols, 1, memory.symbols.max);
    while (elf_cache_get(cache, ref)) {
        ck_assert_uint_lt(clock_monotonic_ns(), until_ns);
        elf_cache_poll(cache);
        poll(NULL, 0, 10);
    }
    ck_assert_int_eq(load(&ref), 0);
    ck_assert(is_named(ref));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("elf_cache");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 200);
    tcase_add_test(tc, a_large_file_costs_the_caller_nothing);
    tcase_add_test(tc, what_cannot_be_read_is_told);
    tcase_add_test(tc, more_than_can_wait_are_asked_for_again);
    tcase_add_test(tc, files_of_one_owner_do_not_starve_another);
    tcase_add_test(tc, the_owner_is_woken_when_a_file_is_read);
    tcase_add_test(tc, it_ends_in_the_middle);
    tcase_add_test(tc, a_reading_has_its_turn_and_is_charged_to_no_owner);
    tcase_add_test(tc, other_data_costs_nobody_symbols_in_use);
    tcase_add_test(tc, the_last_of_a_share_is_for_symbols);
    tcase_add_test(tc, an_owner_has_a_share_of_memory);
    tcase_add_test(tc, who_has_more_gives_way);
    tcase_add_test(tc, what_was_left_out_comes_when_there_is_room);
    return suite_run_case("elf_cache", tc);
}
