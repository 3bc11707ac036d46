/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: ELF files as compilers and strip leave them, and as somebody hostile would write
 * them. */
#include "suite.h"

#include "symbolize/elf_cache.h"

#include "symbol_files.h"

#include <elf.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

static char dir[] = "/tmp/flamed-test-elf-XXXXXX";

static const char SOURCE_C[] =
    "__attribute__((noinline)) static int hidden(int x) { __asm__ volatile(\"\"); return x * 3; }\n"
    "__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }\n"
    "int __under(int x) { return x; }\n"
    "int weak_name(int x) __attribute__((weak, alias(\"__under\")));\n"
    "__asm__(\".text\\nbare_label:\\n.skip 64, 0x90\\n.globl sized\\n.type sized, "
    "@function\\nsized:\\n\"\n"
    "        \"ret\\n.skip 15, 0x90\\n.size sized, 16\\n.skip 16, 0x90\\n\");\n"
    "int not_code = 4;\n"
    "int main(int c, char **v) { (void)v; return shown(c) + weak_name(c) + not_code; }\n";

static const char SOURCE_CXX[] = "namespace space { template <class T> struct Box { "
                                 "__attribute__((noinline)) T get(T x) const; };\n"
                                 "template <class T> T Box<T>::get(T x) const { return x + 1; }\n"
                                 "template struct Box<int>; }\n"
                                 "int main(int c, char **) { return space::Box<int>().get(c); }\n";

/* Runs a program to its end; false when it is missing or fails. */
static bool run(const char *const argv[])
{
    int status;
    pid_t pid;

    return posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) == 0 &&
           waitpid(pid, &status, 0) == pid && status == 0;
}

static const char *at(const char *name)
{
    static char paths[8][256];
    static unsigned n;
    char *path = paths[n++ % ARRAY_SIZE(paths)];

    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

static void write_file(const char *path, const void *p, size_t n)
{
    _cleanup_fclose_ FILE *f = fopen(path, "we");

    if (!f || fwrite(p, 1, n, f) != n)
        abort(); /* also called where check does not run yet */
}

static bool build_all(void)
{
    write_file(at("a.c"), SOURCE_C, sizeof(SOURCE_C) - 1);
    write_file(at("b.cc"), SOURCE_CXX, sizeof(SOURCE_CXX) - 1);
    return run((const char *[]){ "gcc", "-O1", "-pie", "-fPIE", "-Wl,--build-id", "-o", at("pie"),
                                 at("a.c"), NULL }) &&
           run((const char *[]){ "gcc", "-O1", "-no-pie", "-Wl,--build-id", "-o", at("fixed"),
                                 at("a.c"), NULL }) &&
           run((const char *[]){ "gcc", "-O1", "-shared", "-fPIC", "-Wl,--build-id", "-o",
                                 at("shared"), at("a.c"), NULL }) &&
           run((const char *[]){ "gcc", "-O1", "-g", "-pie", "-fPIE", "-Wl,--build-id=none", "-o",
                                 at("noid"), at("a.c"), NULL }) &&
           run((const char *[]){ "g++", "-O1", "-o", at("cxx"), at("b.cc"), NULL }) &&
           /* a stripped file with its symbols elsewhere: by build-id, by link, packed inside */
           run((const char *[]){ "objcopy", "--only-keep-debug", at("pie"), at("pie.debug"),
                                 NULL }) &&
           run((const char *[]){ "objcopy", "--strip-all", at("pie"), at("stripped"), NULL }) &&
           run((const char *[]){ "objcopy", "--strip-all", at("shared"), at("bare"), NULL }) &&
           run((const char *[]){ "objcopy", "--only-keep-debug", at("noid"), at("noid.debug"),
                                 NULL }) &&
           run((const char *[]){ "objcopy", "--strip-all", at("noid"), at("unlinked"), NULL }) &&
           run((const char *[]){ "objcopy", "--add-gnu-debuglink", at("noid.debug"), at("unlinked"),
                                 at("linked"), NULL }) &&
           run((const char *[]){ "objcopy", "--only-keep-debug", "--strip-debug", at("pie"),
                                 at("mini"), NULL }) &&
           run((const char *[]){ "xz", "-kf", at("mini"), NULL });
}

static bool add_mini(void)
{
    char section[300];

    snprintf(section, sizeof(section), ".gnu_debugdata=%s", at("mini.xz"));
    return run((const char *[]){ "objcopy", "--add-section", section, at("stripped"),
                                 at("minidebug"), NULL });
}

/* ---- one file ---- */

struct loaded {
    struct elf_file *file;
    struct symbol_table symbols;
    int fd;
};

static void loaded_deinit(struct loaded *l)
{
    elf_file_close(l->file);
    symbol_table_deinit(&l->symbols);
    close_fd(l->fd);
}

static struct loaded load(const char *path)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    struct loaded l = { .fd = open(path, O_RDONLY | O_CLOEXEC) };
    struct error err = ERROR_NULL;

    ck_assert_msg(elf_file_open(l.fd, &l.file, &err) == 0, "%s: %s", path, err.msg);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(l.file, &b), 0);
    ck_assert_int_eq(symbol_table_build(&b, &l.symbols), 0);
    return l;
}

static const struct symbol *find_name(const struct symbol_table *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++) {
        if (span_eq_str(symbol_name(t, &t->symbols[i]), name))
            return &t->symbols[i];
    }
    return NULL;
}

START_TEST(functions_of_a_compiled_file)
{
    static const char *const FILES[] = { "pie", "fixed", "shared", "pie.debug" };
    _cleanup_(loaded_deinit) struct loaded l = load(at(FILES[_i]));
    const struct symbol *shown = find_name(&l.symbols, "shown"), *sized, *label;

    ck_assert(shown);
    ck_assert(find_name(&l.symbols, "hidden")); /* static */
    ck_assert(find_name(&l.symbols, "weak_name"));
    ck_assert_msg(!find_name(&l.symbols, "__under"),
                  "the exported name without underscores is better");
    ck_assert(!find_name(&l.symbols, "not_code"));
    sized = find_name(&l.symbols, "sized");
    label = find_name(&l.symbols, "bare_label");
    ck_assert(sized && label);
    ck_assert_uint_eq(sized->end - sized->start, 16);
    ck_assert_uint_eq(label->end, sized->start);
    ck_assert_msg(!symbol_table_find(&l.symbols, sized->end), "behind a sized function is no name");
    ck_assert(symbol_table_find(&l.symbols, shown->end - 1) == shown);
    ck_assert_uint_eq(elf_file_build_id(l.file).n, 20);
    if (_i == 0 || _i == 2)
        ck_assert(find_name(&l.symbols, "[plt]"));
}
END_TEST

START_TEST(offsets_become_addresses)
{
    static const char *const FILES[] = { "pie", "fixed", "shared" };
    _cleanup_(loaded_deinit) struct loaded l = load(at(FILES[_i]));
    const struct symbol *shown = find_name(&l.symbols, "shown");
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

/* Two segments hold the same byte of the file, as at the seam of text and data: the executable one
 * is meant. */
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
    _cleanup_(loaded_deinit) struct loaded stripped = load(at("stripped")),
                                           linked = load(at("linked"));
    _cleanup_(loaded_deinit) struct loaded mini = load(at("minidebug"));
    _cleanup_(elf_file_closep) struct elf_file *inner = NULL, *none = NULL;
    _cleanup_close_ int debug = open(at("noid.debug"), O_RDONLY | O_CLOEXEC);
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    char name[ELF_DEBUGLINK_NAME_MAX + 1];
    uint32_t crc;

    ck_assert(!elf_file_has_symtab(stripped.file));
    ck_assert(!find_name(&stripped.symbols, "hidden"));
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
    ck_assert(find_name(&t, "hidden"));
}
END_TEST

/* "hidden" has no name in the stripped file, but its begin is known, and "shown" keeps its own name
 * in a library, which exports it. */
START_TEST(a_stripped_file_knows_where_functions_begin)
{
    static const char *const FILES[] = { "pie", "shared" };
    _cleanup_(loaded_deinit) struct loaded whole = load(at(FILES[_i])),
                                           bare = load(at(_i ? "bare" : "stripped"));
    const struct symbol *hidden = find_name(&whole.symbols, "hidden"),
                        *shown = find_name(&whole.symbols, "shown"), *s;
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(symbol_table_deinit) struct symbol_table t = { 0 };
    char want[32];

    ck_assert(hidden && shown);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(bare.file, &b), 0);
    ck_assert_int_eq(elf_file_starts(bare.file, &b), 0);
    ck_assert_int_eq(symbol_table_build(&b, &t), 0);
    snprintf(want, sizeof(want), "+0x%llx", (unsigned long long)hidden->start);
    for (uint64_t at = hidden->start; at < hidden->end; at++) {
        s = symbol_table_find(&t, at);
        ck_assert(s && span_eq_str(symbol_name(&t, s), want));
    }
    s = symbol_table_find(&t, shown->start);
    snprintf(want, sizeof(want), "+0x%llx", (unsigned long long)shown->start);
    ck_assert(s && span_eq_str(symbol_name(&t, s), _i ? "shown" : want));
    /* Where there are symbols it is not looked for. */
    symbol_builder_deinit(&b);
    symbol_builder_init(&b, ELF_SYMBOLS_MAX, 1 << 20);
    ck_assert_int_eq(elf_file_starts(whole.file, &b), 0);
    ck_assert_uint_eq(b.count, 0);
}
END_TEST

START_TEST(equal_content_has_an_equal_fingerprint)
{
    _cleanup_(loaded_deinit) struct loaded a = load(at("pie")), b = load(at("pie")),
                                           c = load(at("fixed"));
    struct fingerprint_key key = fingerprint_key_new(), other = { key.k0 + 1, key.k1 };

    ck_assert_uint_eq(elf_file_fingerprint(a.file, &key), elf_file_fingerprint(b.file, &key));
    ck_assert_uint_ne(elf_file_fingerprint(a.file, &key), elf_file_fingerprint(c.file, &key));
    ck_assert_uint_ne(elf_file_fingerprint(a.file, &key), elf_file_fingerprint(a.file, &other));
}
END_TEST

/* ---- hostile files ---- */

static size_t read_whole(const char *path, unsigned char *bytes, size_t max)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");

    ck_assert(f);
    return fread(bytes, 1, max, f);
}

START_TEST(what_is_no_file_of_ours_is_refused)
{
    static const char ARCHIVE[] = "!<arch>\n", TEXT[] = "hello\n", SHORT[] = "\177ELF\2\1\1";
    static const struct {
        const char *p;
        size_t n;
    } FILES[] = { { ARCHIVE, 8 }, { TEXT, 6 }, { SHORT, 7 }, { "", 0 } };
    _cleanup_close_ int fd = -1, null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct elf_file *f = NULL;
    struct error err = ERROR_NULL;

    write_file(at("bad"), FILES[_i].p, FILES[_i].n);
    fd = open(at("bad"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_lt(elf_file_open(fd, &f, &err), 0);
    ck_assert(err.msg[0]);
    ck_assert_int_eq(elf_file_open(null, &f, NULL), -ENOEXEC);
}
END_TEST

START_TEST(a_giant_is_refused)
{
    _cleanup_close_ int fd = open(at("giant"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct elf_file *f = NULL;

    ck_assert_int_eq(ftruncate(fd, (off_t)ELF_FILE_MAX_BYTES + 1), 0);
    ck_assert_int_eq(elf_file_open(fd, &f, NULL), -EFBIG);
    unlink(at("giant"));
}
END_TEST

/* Each 8 bytes of the headers in turn become extreme: nothing may crash (this test runs under
 * sanitizers), and opening may fail or not. */
START_TEST(spoilt_headers_do_no_harm)
{
    static const uint64_t VALUES[] = { 0, 1, UINT32_MAX, UINT64_MAX, INT64_MAX, UINT64_C(1) << 40 };
    static unsigned char bytes[1 << 20];
    size_t n = read_whole(at("minidebug"), bytes, sizeof(bytes));
    Elf64_Ehdr h;
    struct fingerprint_key key = { 1, 2 };
    unsigned opened = 0;

    ck_assert(n > sizeof(h) && n < sizeof(bytes));
    memcpy(&h, bytes, sizeof(h));
    for (size_t v = 0; v < ARRAY_SIZE(VALUES); v++) {
        for (size_t table = 0; table < 3; table++) {
            size_t from = table == 0 ? 16 : table == 1 ? h.e_phoff : h.e_shoff;
            size_t to = table == 0   ? sizeof(h)
                        : table == 1 ? from + (size_t)h.e_phnum * sizeof(Elf64_Phdr)
                                     : from + (size_t)h.e_shnum * sizeof(Elf64_Shdr);

            for (size_t i = from; i + 8 <= to; i += 8) {
                _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
                _cleanup_buf_ struct buf copy = BUF_NULL;
                _cleanup_(elf_file_closep) struct elf_file *f = NULL, *mini = NULL;
                char name[ELF_DEBUGLINK_NAME_MAX + 1];
                uint64_t saved;
                uint32_t crc;

                memcpy(&saved, bytes + i, 8);
                memcpy(bytes + i, &VALUES[v], 8);
                buf_init(&copy, sizeof(bytes));
                buf_add(&copy, bytes, n);
                memcpy(bytes + i, &saved, 8);
                if (elf_file_open_memory(&copy, &f, NULL) < 0)
                    continue;
                opened++;
                symbol_builder_init(&b, 100000, 1 << 20);
                elf_file_symbols(f, &b);
                elf_file_debuglink(f, name, &crc);
                elf_file_mini(f, &mini);
                elf_file_fingerprint(f, &key);
            }
        }
    }
    ck_assert_uint_gt(opened, 100);
}
END_TEST

/* A file that is cut while we hold it must not end us. */
START_TEST(a_file_cut_short_does_no_harm)
{
    static unsigned char bytes[1 << 20];
    size_t n = read_whole(at("pie"), bytes, sizeof(bytes));
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    _cleanup_(elf_file_closep) struct elf_file *f = NULL;
    _cleanup_close_ int fd = -1;

    write_file(at("cut"), bytes, n);
    fd = open(at("cut"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(elf_file_open(fd, &f, NULL), 0);
    ck_assert_int_eq(truncate(at("cut"), 100), 0);
    symbol_builder_init(&b, 1000, 1 << 20);
    ck_assert_int_eq(elf_file_symbols(f, &b), 0);
    for (size_t i = 0; i < b.count; i++)
        ck_assert_uint_eq(b.entries[i].name_n,
                          strlen("[plt]")); /* of headers read before the cut */
}
END_TEST

START_TEST(a_packed_bomb_is_cut_off)
{
    char section[300];
    _cleanup_(elf_file_closep) struct elf_file *inner = NULL;
    _cleanup_close_ int fd = open(at("zeros"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(ftruncate(fd, (off_t)ELF_MINI_MAX_BYTES * 4), 0);
    ck_assert(run((const char *[]){ "xz", "-kf0", at("zeros"), NULL }));
    snprintf(section, sizeof(section), ".gnu_debugdata=%s", at("zeros.xz"));
    ck_assert(run(
        (const char *[]){ "objcopy", "--add-section", section, at("stripped"), at("bomb"), NULL }));
    {
        _cleanup_(loaded_deinit) struct loaded l = load(at("bomb"));

        ck_assert_int_eq(elf_file_mini(l.file, &inner), 1);
    }
    unlink(at("zeros"));
}
END_TEST

/* ---- the cache ---- */

static const char *opened; /* what "mapped" gives */

static int give_opened(void *cookie, const struct proc_id *id, uint64_t start, uint64_t end,
                       int *ret_fd, struct error *err)
{
    (void)id, (void)start, (void)end, (void)err;
    ((struct local_files *)cookie)->mapped_opens++;
    return local_open(at(opened), ret_fd);
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
    ck_assert_msg(elf_cache_load(c, files, &id, 0, 4096, &ref, &err) == 0, "%s: %s", name, err.msg);
    return ref;
}

static bool ref_has(struct elf_cache *c, struct elf_ref ref, const char *symbol)
{
    struct elf_image *image = elf_cache_get(c, ref);

    return image && find_name(&image->symbols, symbol);
}

START_TEST(the_cache_finds_debug_files_and_shares)
{
    struct local_files l = { .debug = "/nonexistent" };
    struct symbol_files files = cache_files(&l);
    struct elf_cache *c = NULL;
    struct elf_cache_stats stats;
    struct elf_ref a, b, bare, full;

    ck_assert_int_eq(elf_cache_new(10, false, /* wake_fd= */ -1, &c), 0);
    a = cache_load(c, &files, "pie");
    b = cache_load(c, &files, "pie");
    ck_assert_uint_eq(a.slot, b.slot);
    ck_assert_uint_eq(l.debug_asked, 0); /* has its own symbols */
    bare = cache_load(c, &files, "stripped");
    ck_assert_uint_eq(l.debug_asked, 1);
    ck_assert(!ref_has(c, bare, "hidden"));
    /* The same file where its debug file is to be had is another content; the bare one stays as it
     * was. */
    l.debug = at("pie.debug");
    full = cache_load(c, &files, "stripped");
    ck_assert(ref_has(c, full, "hidden"));
    ck_assert(!ref_has(c, bare, "hidden"));
    ck_assert_uint_eq(cache_load(c, &files, "stripped").slot, full.slot);
    /* A debug file of something else is not believed. */
    l.debug = at("fixed");
    ck_assert_uint_eq(cache_load(c, &files, "stripped").slot, bare.slot);
    l.debug = "/nonexistent";
    l.debuglink = at("noid.debug");
    ck_assert(ref_has(c, cache_load(c, &files, "linked"), "hidden"));
    ck_assert_str_eq(l.link_name, "noid.debug");
    l.debuglink = at("fixed"); /* wrong checksum */
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

    ck_assert_int_eq(elf_cache_new(2, false, /* wake_fd= */ -1, &c), 0);
    pie = cache_load(c, &files, "pie");
    fixed = cache_load(c, &files, "fixed");
    ck_assert(ref_has(c, pie, "shown"));
    shared = cache_load(c, &files, "shared");
    ck_assert(!elf_cache_get(c, fixed));
    ck_assert(ref_has(c, pie, "shown"));
    ck_assert(ref_has(c, shared, "shown"));
    ck_assert(!elf_cache_get(c, ELF_REF_NULL));
    opened = "bad";
    write_file(at("bad"), "junk", 4);
    ck_assert_int_lt(elf_cache_load(c, &files, &id, 0, 1, &none, NULL), 0);
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
    int failed;

    if (!mkdtemp(dir))
        return 1;
    if (!build_all() || !add_mini()) {
        fprintf(stderr, "skipped: gcc, g++, objcopy and xz are needed\n");
        run((const char *[]){ "rm", "-rf", dir, NULL });
        return 77;
    }
    tcase_add_loop_test(tc, functions_of_a_compiled_file, 0, 4);
    tcase_add_loop_test(tc, offsets_become_addresses, 0, 3);
    tcase_add_test(tc, the_executable_segment_is_meant);
    tcase_add_test(tc, a_stripped_file_knows_where_its_symbols_went);
    tcase_add_loop_test(tc, a_stripped_file_knows_where_functions_begin, 0, 2);
    tcase_add_test(tc, equal_content_has_an_equal_fingerprint);
    tcase_add_loop_test(tc, what_is_no_file_of_ours_is_refused, 0, 4);
    tcase_add_test(tc, a_giant_is_refused);
    tcase_add_test(tc, spoilt_headers_do_no_harm);
    tcase_add_test(tc, a_file_cut_short_does_no_harm);
    tcase_add_test(tc, a_packed_bomb_is_cut_off);
    tcase_add_test(tc, the_cache_finds_debug_files_and_shares);
    tcase_add_test(tc, the_least_recently_used_goes);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    failed = suite_run(s);
    run((const char *[]){ "rm", "-rf", dir, NULL });
    return failed;
}
