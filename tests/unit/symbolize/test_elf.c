/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: ELF files in the forms that compilers and strip make, and their cache. */
#include "built_elf.h"
#include "suite.h"

#include "symbolize/elf_cache.h"

#include "symbol_files.h"

#include <fcntl.h>
#include <unistd.h>

/* ---- one file ---- */

START_TEST(functions_of_a_compiled_file)
{
    static const char *const FILES[] = { "pie", "fixed", "shared", "pie.debug" };
    _cleanup_(built_close) struct built l = built_load(built_path(FILES[_i]));
    const struct symbol *shown = built_symbol(&l.symbols, "shown"), *sized, *label;

    ck_assert(shown);
    ck_assert(built_symbol(&l.symbols, "hidden")); /* a static function */
    ck_assert(built_symbol(&l.symbols, "weak_name"));
    ck_assert_msg(!built_symbol(&l.symbols, "__under"),
                  "the exported name without underscores is better");
    ck_assert(!built_symbol(&l.symbols, "not_code"));
    sized = built_symbol(&l.symbols, "sized");
    label = built_symbol(&l.symbols, "bare_label");
    ck_assert(sized && label);
    ck_assert_uint_eq(sized->bytes, 16);
    ck_assert_uint_eq(symbol_end(label), sized->start);
    ck_assert_msg(!symbol_table_find(&l.symbols, symbol_end(sized)),
                  "behind a sized function is no name");
    ck_assert(symbol_table_find(&l.symbols, symbol_end(shown) - 1) == shown);
    ck_assert_uint_eq(elf_file_build_id(l.file).n, 20);
    if (_i == 0 || _i == 2)
        ck_assert(built_symbol(&l.symbols, "[plt]"));
}
END_TEST

START_TEST(offsets_become_addresses)
{
    static const char *const FILES[] = { "pie", "fixed", "shared" };
    _cleanup_(built_close) struct built l = built_load(built_path(FILES[_i]));
    const struct symbol *shown = built_symbol(&l.symbols, "shown");
    size_t count;
    const struct elf_segment *s = elf_file_segments(l.file, &count);
    uint64_t vaddr;
    bool found = false;

    ck_assert_uint_ge(count, 2);
    for (size_t i = 0; i < count; i++) {
        if (!s[i].exec)
            continue;
        found = true;
        ck_assert(elf_segments_vaddr(s, count, shown->start - s[i].vaddr + s[i].offset, &vaddr));
        ck_assert_uint_eq(vaddr, shown->start);
    }
    ck_assert(found);
    ck_assert(!elf_segments_vaddr(s, count, UINT64_MAX, &vaddr));
}
END_TEST

/* Two segments have the same byte of the file, as at the border of text and data. The executable
 * one counts. */
START_TEST(the_executable_segment_is_meant)
{
    static const struct elf_segment SEGMENTS[] = {
        { .offset = 0, .file_size = 0x2000, .vaddr = 0x400000 },
        { .offset = 0x1000, .file_size = 0x1000, .vaddr = 0x801000, .exec = true },
        { .offset = 0x1800, .file_size = 0x1000, .vaddr = 0x901800 },
    };
    uint64_t vaddr;

    ck_assert(elf_segments_vaddr(SEGMENTS, 3, 0x1900, &vaddr));
    ck_assert_uint_eq(vaddr, 0x801900);
    ck_assert(elf_segments_vaddr(SEGMENTS, 3, 0x100, &vaddr));
    ck_assert_uint_eq(vaddr, 0x400100);
    ck_assert(elf_segments_vaddr(SEGMENTS, 3, 0x2100, &vaddr));
    ck_assert_uint_eq(vaddr, 0x902100);
    ck_assert(!elf_segments_vaddr(SEGMENTS, 3, 0x2800, &vaddr));
}
END_TEST

START_TEST(a_stripped_file_knows_where_its_symbols_went)
{
    _cleanup_(built_close) struct built stripped = built_load(built_path("stripped")),
                                        linked = built_load(built_path("linked"));
    _cleanup_(built_close) struct built mini = built_load(built_path("minidebug"));
    _cleanup_(elf_file_closep) struct elf_file *inner = NULL, *none = NULL;
    _cleanup_close_ int debug = open(built_path("noid.debug"), O_RDONLY | O_CLOEXEC);
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    char name[ELF_DEBUGLINK_NAME_MAX + 1];
    uint32_t crc;

    ck_assert(!elf_file_has_symtab(stripped.file));
    ck_assert(!built_symbol(&stripped.symbols, "hidden"));
    ck_assert(!elf_file_debuglink(stripped.file, name, &crc));
    ck_assert_int_eq(elf_file_mini(stripped.file, &none), 1);

    ck_assert(elf_file_debuglink(linked.file, name, &crc));
    ck_assert_str_eq(name, "noid.debug");
    ck_assert(elf_crc_matches(debug, crc));
    ck_assert(!elf_crc_matches(debug, crc ^ 1));

    ck_assert_int_eq(elf_file_mini(mini.file, &inner), 0);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(inner, &b), 0);
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    ck_assert(built_symbol(&t, "hidden"));
}
END_TEST

/* The stripped file has no name for "hidden", but its begin is known. A library exports "shown", so
 * that keeps its name. */
START_TEST(a_stripped_file_knows_where_functions_begin)
{
    static const char *const FILES[] = { "pie", "shared" };
    _cleanup_(built_close) struct built whole = built_load(built_path(FILES[_i])),
                                        bare = built_load(built_path(_i ? "bare" : "stripped"));
    const struct symbol *hidden = built_symbol(&whole.symbols, "hidden"),
                        *shown = built_symbol(&whole.symbols, "shown"), *s;
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    char want[32];

    ck_assert(hidden && shown);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(bare.file, &b), 0);
    ck_assert_int_eq(elf_file_starts(bare.file, &b), 0);
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    snprintf(want, sizeof(want), "+0x%llx", (unsigned long long)hidden->start);
    for (uint64_t at = hidden->start; at < symbol_end(hidden); at++) {
        s = symbol_table_find(&t, at);
        ck_assert(s && span_eq_str(symbol_name(&t, s), want));
    }
    s = symbol_table_find(&t, shown->start);
    snprintf(want, sizeof(want), "+0x%llx", (unsigned long long)shown->start);
    ck_assert(s && span_eq_str(symbol_name(&t, s), _i ? "shown" : want));
    /* A file with symbols needs no debug file. */
    symbol_builder_deinit(&b);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_starts(whole.file, &b), 0);
    ck_assert_uint_eq(b.count, 0);
}
END_TEST

static struct memory_budget memory;

static uint64_t print_of(struct elf_file *f, const struct fingerprint_key *key)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };

    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    elf_file_begin_print(f, key);
    ck_assert_int_eq(elf_file_symbols(f, &b), 0);
    return elf_file_print(f);
}

START_TEST(equal_content_has_an_equal_fingerprint)
{
    _cleanup_(built_close) struct built a = built_load(built_path("pie")),
                                        b = built_load(built_path("pie")),
                                        c = built_load(built_path("fixed"));
    struct fingerprint_key key = fingerprint_key_new(), other = { key.k0 + 1, key.k1 };

    ck_assert_uint_eq(print_of(a.file, &key), print_of(b.file, &key));
    ck_assert_uint_ne(print_of(a.file, &key), print_of(c.file, &key));
    ck_assert_uint_ne(print_of(a.file, &key), print_of(a.file, &other));
}
END_TEST

/* ---- the cache ---- */

static const char *opened; /* the file that "mapped" returns */

static int give_opened(struct broker *cookie, const struct proc_id *id, uint64_t start,
                       uint64_t end, int *ret_fd, struct error *err)
{
    (void)id, (void)start, (void)end, (void)err;
    ((struct local_files *)cookie)->mapped_opens++;
    return local_open(built_path(opened), ret_fd);
}

static struct symbol_files cache_files(struct local_files *l)
{
    struct symbol_files files = local_symbol_files(l);

    files.mapped = give_opened;
    return files;
}

static struct elf_ref cache_load(struct elf_cache *c, const struct symbol_files *files,
                                 const char *name)
{
    struct proc_id id = { .host_pid = 1 };
    struct elf_ref ref = ELF_REF_NULL;
    struct error err = ERROR_NULL;

    opened = name;
    ck_assert_msg(elf_cache_load(c, /* owner= */ 1, files, &id, 0, 4096, &ref, &err) == 0, "%s: %s",
                  name, err.msg);
    return ref;
}

static bool ref_has(struct elf_cache *c, struct elf_ref ref, const char *symbol)
{
    struct elf_image *image = elf_cache_get(c, ref);

    return image && built_symbol(&image->symbols, symbol);
}

START_TEST(the_cache_finds_debug_files_and_shares)
{
    struct local_files l = { .debug = "/nonexistent" };
    struct symbol_files files = cache_files(&l);
    struct elf_cache *c = NULL;
    struct elf_cache_stats stats;
    struct elf_ref a, b, bare, full;

    memory_budget_init(&memory);
    ck_assert_int_eq(elf_cache_new(10, false, /* wake_fd= */ -1, &memory, &c), 0);
    a = cache_load(c, &files, "pie");
    b = cache_load(c, &files, "pie");
    ck_assert_uint_eq(a.slot, b.slot);
    ck_assert_uint_eq(l.debug_asked, 0); /* it has its own symbols */
    bare = cache_load(c, &files, "stripped");
    ck_assert_uint_eq(l.debug_asked, 1);
    ck_assert(!ref_has(c, bare, "hidden"));
    /* The same file with its debug file has other symbols. The bare one stays as it was. */
    l.debug = built_path("pie.debug");
    full = cache_load(c, &files, "stripped");
    ck_assert(ref_has(c, full, "hidden"));
    ck_assert(!ref_has(c, bare, "hidden"));
    ck_assert_uint_eq(cache_load(c, &files, "stripped").slot, full.slot);
    /* A debug file of another program is refused. */
    l.debug = built_path("fixed");
    ck_assert_uint_eq(cache_load(c, &files, "stripped").slot, bare.slot);
    l.debug = "/nonexistent";
    l.debuglink = built_path("noid.debug");
    ck_assert(ref_has(c, cache_load(c, &files, "linked"), "hidden"));
    ck_assert_str_eq(l.link_name, "noid.debug");
    l.debuglink = built_path("fixed"); /* wrong checksum */
    ck_assert(!ref_has(c, cache_load(c, &files, "linked"), "hidden"));
    ck_assert(ref_has(c, cache_load(c, &files, "minidebug"), "hidden"));
    elf_cache_stats(c, &stats);
    ck_assert_uint_eq(stats.files, 6);
    ck_assert_uint_gt(stats.bytes, 6 * sizeof(struct elf_image));
    elf_cache_free(c);
}
END_TEST

START_TEST(the_least_recently_used_goes)
{
    struct local_files l = { .debug = "/nonexistent" };
    struct symbol_files files = cache_files(&l);
    struct proc_id id = { .host_pid = 1 };
    struct elf_ref pie, fixed, shared, none;
    struct elf_cache *c = NULL;
    struct elf_cache_stats stats;

    memory_budget_init(&memory);
    ck_assert_int_eq(elf_cache_new(2, false, /* wake_fd= */ -1, &memory, &c), 0);
    pie = cache_load(c, &files, "pie");
    fixed = cache_load(c, &files, "fixed");
    ck_assert(ref_has(c, pie, "shown"));
    shared = cache_load(c, &files, "shared");
    ck_assert(!elf_cache_get(c, fixed));
    ck_assert(ref_has(c, pie, "shown"));
    ck_assert(ref_has(c, shared, "shown"));
    ck_assert(!elf_cache_get(c, ELF_REF_NULL));
    opened = "bad";
    built_write(built_path("bad"), "junk", 4);
    ck_assert_int_lt(elf_cache_load(c, /* owner= */ 1, &files, &id, 0, 1, &none, NULL), 0);
    elf_cache_stats(c, &stats);
    ck_assert_uint_eq(stats.files, 2);
    ck_assert_uint_eq(stats.evicted, 1);
    ck_assert_uint_eq(stats.failed, 1);
    elf_cache_free(c);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("elf");
    TCase *tc = tcase_create("elf");
    int failed = built_set_up();

    if (failed)
        return failed;
    tcase_add_loop_test(tc, functions_of_a_compiled_file, 0, 4);
    tcase_add_loop_test(tc, offsets_become_addresses, 0, 3);
    tcase_add_test(tc, the_executable_segment_is_meant);
    tcase_add_test(tc, a_stripped_file_knows_where_its_symbols_went);
    tcase_add_loop_test(tc, a_stripped_file_knows_where_functions_begin, 0, 2);
    tcase_add_test(tc, equal_content_has_an_equal_fingerprint);
    tcase_add_test(tc, the_cache_finds_debug_files_and_shares);
    tcase_add_test(tc, the_least_recently_used_goes);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    failed = suite_run(s);
    built_tear_down();
    return failed;
}
