/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot/ without a JVM: its codings, and images of JVM memory (the fuzz corpus), intact and
 * broken. Inlined frames are checked against the source: the line of a caller's frame must contain
 * the call of the inlined method.
 */
#include "suite.h"

#include "hotspot/code/code.h"
#include "hotspot_image.h"

#include <elf.h>
#include <fcntl.h>

#define CORPUS FLAMED_TEST_DATA "/../fuzz/corpus/"
#define PROOF "HotspotProof"
#define LINES_MAX 400

static const int RELEASES[] = { 8, 11, 17, 21, 25, 26, 28 };

/* ---- codings ---- */

static const struct {
    const char *bytes;
    size_t n;
    unsigned excluded;
    bool good;
    uint32_t value;
    size_t left;
} UNSIGNED5_CASES[] = {
    { "\x00", 1, 0, true, 0, 0 },
    { "\xbf\x01", 2, 0, true, 191, 1 },
    { "\xc0\x00", 2, 0, true, 192, 0 },
    { "\xc0\x01", 2, 0, true, 256, 0 },
    { "\x01", 1, 1, true, 0, 0 },
    { "\xbf\x05", 2, 1, true, 190, 1 },
    { "\xc0\x01", 2, 1, true, 191, 0 }, /* JDK 20 did not move the threshold */
    { "\x00", 1, 1, false, 0, 1 },      /* not written since JDK 20 */
    { "\xc0", 1, 0, false, 0, 1 },      /* cut */
    { "", 0, 0, false, 0, 0 },
    { "\xff\xff\xff\xff\xff\x07", 6, 0, true, 255U * (1 + 64 + 4096 + 262144 + 16777216), 1 },
};

START_TEST(takes_unsigned5)
{
    struct span s = { UNSIGNED5_CASES[_i].bytes, UNSIGNED5_CASES[_i].n };
    uint32_t v = 77;

    ck_assert_int_eq(unsigned5_take(&s, UNSIGNED5_CASES[_i].excluded, &v),
                     UNSIGNED5_CASES[_i].good);
    ck_assert_uint_eq(v, UNSIGNED5_CASES[_i].good ? UNSIGNED5_CASES[_i].value : 77);
    ck_assert_uint_eq(s.n, UNSIGNED5_CASES[_i].left);
}
END_TEST

/* bci 0 line 10; bci 3 line 11; bci 3 + 40 line 11 - 5 by an escape; then a second entry for
 * bci 43. */
#define TABLE                                                                                      \
    "\x02"         /* bci 0, line + 2 */                                                           \
    "\x19"         /* bci 3, line 3 */                                                             \
    "\xff\x50\x03" /* bci 43, line 1: signed 40 and -2 */                                          \
    "\x04"         /* bci 43, line 5 */                                                            \
    "\x00\xff"

static const struct {
    int32_t bci;
    uint32_t line;
} LINE_CASES[] = { { 0, 2 },  { 1, 2 },  { 2, 2 },  { 3, 3 },
                   { 42, 3 }, { 43, 1 }, { 44, 5 }, { 65535, 5 } };

START_TEST(finds_lines)
{
    ck_assert_uint_eq(lines_find(SPAN(TABLE), 0, LINE_CASES[_i].bci), LINE_CASES[_i].line);
}
END_TEST

START_TEST(refuses_broken_lines)
{
    ck_assert_uint_eq(lines_find(SPAN(""), 0, 3), 0);
    ck_assert_uint_eq(lines_find(SPAN("\xff"), 0, 3), 0);
    ck_assert_uint_eq(lines_find(SPAN("\xff\x50"), 0, 3), 0);
    ck_assert_uint_eq(lines_find(SPAN("\xff\x01\x03"), 0, 3), 0); /* bci -1 */
}
END_TEST

START_TEST(gets_fields_inside_only)
{
    static const uint8_t OBJECT[] = { 1, 2, 0xfe, 0xff, 0xff, 0xff, 7, 8, 9 };

    ck_assert_int_eq(layout_get((struct layout_field){ 2, 4, true }, OBJECT, 9), -2);
    ck_assert_int_eq(layout_get((struct layout_field){ 2, 4, false }, OBJECT, 9), 0xfffffffe);
    ck_assert_int_eq(layout_get((struct layout_field){ 8, 1, false }, OBJECT, 9), 9);
    ck_assert_int_eq(layout_get((struct layout_field){ 8, 2, false }, OBJECT, 9), 0);
    ck_assert_int_eq(layout_get((struct layout_field){ 10, 1, false }, OBJECT, 9), 0);
    ck_assert_int_eq(layout_get((struct layout_field){ -1, 4, false }, OBJECT, 9), 0);
}
END_TEST

static void read_file(const char *path, struct buf *ret)
{
    buf_init(ret, (size_t)1 << 20);
    ck_assert_msg(buf_read_at(ret, AT_FDCWD, path) == 0, "%s", path);
}

/* ---- images ---- */

static struct image image;
static struct hotspot_vm *vm;
static char lines[LINES_MAX][200];

static void load(int jdk)
{
    _cleanup_buf_ struct buf file = BUF_NULL;
    char path[300];

    snprintf(path, sizeof(path), CORPUS "hotspot/jdk%d", jdk);
    read_file(path, &file);
    ck_assert(image_parse(buf_span(&file), &image));
}

static int flags_result; /* not 0: the result of each reading of flags */

int __real_hotspot_vm_flags(struct hotspot_vm *v, struct hotspot_flag *flags, size_t n);
int __wrap_hotspot_vm_flags(struct hotspot_vm *v, struct hotspot_flag *flags, size_t n);
int __wrap_hotspot_vm_flags(struct hotspot_vm *v, struct hotspot_flag *flags, size_t n)
{
    return flags_result ?: __real_hotspot_vm_flags(v, flags, n);
}

static int open_image(struct error *err)
{
    return hotspot_vm_open_memory(image_read, &image, image.base, NULL, &vm, err);
}

static void unload(void)
{
    vm = hotspot_vm_close(vm);
    image_deinit(&image);
}

static void read_source(void)
{
    FILE *f = fopen(FLAMED_TEST_DATA "/../jvm/java/" PROOF ".java", "re");

    ck_assert_ptr_nonnull(f);
    for (size_t n = 1; n < LINES_MAX && fgets(lines[n], sizeof(lines[n]), f); n++)
        ;
    fclose(f);
}

/* Counts frames at whose caller's line the source has the call. */
static int check_frames(const struct hotspot_location *at, int n)
{
    char callee[64] = "";
    int good = 0;

    for (int i = 0; i < n; i++) {
        uint32_t line = hotspot_method_line(vm, at[i].method, at[i].bci);
        struct hotspot_method m;
        char call[80];

        ck_assert_int_eq(hotspot_method_read(vm, at[i].method, &m), 0);
        ck_assert_int_eq(at[i].inlined, i + 1 < n);
        if (i > 0 && span_eq_str((struct span){ m.class_name, m.class_name_n }, PROOF)) {
            snprintf(call, sizeof(call), "%s(", callee);
            ck_assert_uint_lt(line, LINES_MAX);
            ck_assert_msg(strstr(lines[line], call), "line %u of %.*s does not call %s", line,
                          m.name_n, m.name, callee);
            good++;
        }
        span_copy((struct span){ m.name, m.name_n }, callee, sizeof(callee));
    }
    return good;
}

START_TEST(reads_an_image_of_each_release)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct error err = ERROR_NULL;
    int inlined = 0, stubs = 0, interpreter = 0, native = 0, nothing = 0;

    load(RELEASES[_i]);
    read_source();
    ck_assert_msg(open_image(&err) == 0, "%s", err.msg);
    ck_assert_int_eq(hotspot_vm_jdk(vm), RELEASES[_i]);
    ck_assert_str_eq(hotspot_vm_name(vm), "OpenJDK 64-Bit Server VM");
    for (size_t i = 0; i < image.pc_count; i++) {
        bool is_return = image.pcs[i] & IMAGE_RETURN;
        uint64_t pc = image.pcs[i] & ~IMAGE_RETURN;
        struct hotspot_code code;
        int r = hotspot_code_find(vm, pc - is_return, &code);

        nothing += r == HOTSPOT_NO_CODE;
        if (r != 0)
            continue;
        ck_assert_int_eq(hotspot_code_still(vm, &code), 1);
        if (code.kind == HOTSPOT_CODE_COMPILED) {
            int n = hotspot_code_locate(vm, &code, pc, is_return, at);

            ck_assert_int_ge(n, 1);
            inlined += check_frames(at, n);
            code.compile_id++;
            ck_assert_int_eq(hotspot_code_locate(vm, &code, pc, is_return, at), 0);
        }
        native += code.kind == HOTSPOT_CODE_NATIVE;
        stubs += code.kind == HOTSPOT_CODE_STUB && code.name[0];
        interpreter += code.kind == HOTSPOT_CODE_INTERPRETER &&
                       strcmp(code.name, "slow signature handler") == 0;
    }
    ck_assert_int_ge(inlined, 3);
    ck_assert_int_eq(native, 1);
    ck_assert_int_eq(stubs, RELEASES[_i] < 28 ? 1 : 4); /* later images have some of one blob */
    ck_assert_int_eq(interpreter, 1);
    ck_assert_int_eq(nothing, 1);
}
END_TEST

/* Flags that were not read this time are no flags with their defaults. */
START_TEST(takes_no_default_for_unread_flags)
{
    struct hotspot_allocators allocators = { 0 };
    struct hotspot_live live = { 0 };
    struct error err = ERROR_NULL;

    load(25);
    flags_result = -EAGAIN;
    ck_assert_int_eq(open_image(&err), HOTSPOT_NOT_READY);
    flags_result = HOTSPOT_GONE;
    ck_assert_int_eq(open_image(&err), HOTSPOT_GONE);
    flags_result = 0;
    ck_assert_int_eq(open_image(&err), 0);
    vm->layout.klass_layout_helper = vm->layout.object_array_element = vm->layout.pool_resolved =
        (struct layout_field){ .width = 4 };
    flags_result = -EAGAIN;
    ck_assert_int_eq(hotspot_vm_allocators(vm, &allocators), -EAGAIN);
    ck_assert_int_eq(hotspot_vm_live(vm, &live), -EAGAIN);
    flags_result = 0;
    ck_assert_int_eq(hotspot_vm_live(vm, &live), 0);
    unload();
}
END_TEST

static int32_t main_tid;

static void see_thread(void *cookie, const struct hotspot_thread *t)
{
    ++*(int *)cookie;
    ck_assert_uint_ne(t->java_thread, 0);
    if (span_eq_str(t->name, "main"))
        main_tid = t->ns_tid;
}

/* An unloaded class's memory, partly reused: its methods get no name. */
START_TEST(refuses_methods_of_classes_that_are_gone)
{
    struct hotspot_location at[HOTSPOT_INLINE_MAX];
    struct hotspot_code code;
    struct hotspot_method m;
    uint64_t pool, holder, name;
    struct error err = ERROR_NULL;
    struct image_page *p;
    int n = 0;

    load(RELEASES[_i]);
    ck_assert_int_eq(open_image(&err), 0);
    for (size_t i = 0; i < image.pc_count && n < 1; i++) {
        bool is_return = image.pcs[i] & IMAGE_RETURN;
        uint64_t pc = image.pcs[i] & ~IMAGE_RETURN;

        if (hotspot_code_find(vm, pc - is_return, &code) == 0 && code.kind == HOTSPOT_CODE_COMPILED)
            n = hotspot_code_locate(vm, &code, pc, is_return, at);
    }
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(hotspot_method_read(vm, at[0].method, &m), 0);
    memory_begin(&vm->memory);
    memory_u64(&vm->memory, m.const_method + (uint64_t)vm->layout.const_constants.offset, &pool);
    memory_u64(&vm->memory, pool + (uint64_t)vm->layout.pool_holder.offset, &holder);
    memory_u64(&vm->memory, holder + (uint64_t)vm->layout.klass_name.offset, &name);
    if (_i % 2) { /* now there is a class with other constants */
        holder += (uint64_t)vm->layout.instance_constants.offset;
        p = image_page(&image, holder & ~UINT64_C(4095), false);
        p->bytes[holder & 4095] ^= 8;
    } else { /* the name was freed, and the allocator overwrote it */
        name += (uint64_t)vm->layout.symbol_body.offset;
        p = image_page(&image, name & ~UINT64_C(4095), false);
        p->bytes[name & 4095] = '\0';
    }
    ck_assert_int_eq(hotspot_method_read(vm, at[0].method, &m), -EBADMSG);
    unload();
}
END_TEST

START_TEST(names_the_threads_of_an_image)
{
    struct error err = ERROR_NULL;
    int threads = 0;

    load(RELEASES[_i]);
    ck_assert_int_eq(open_image(&err), 0);
    main_tid = 0;
    ck_assert_int_eq(hotspot_vm_threads(vm, HOTSPOT_THREAD_NAME, see_thread, &threads), threads);
    ck_assert_int_gt(threads, 5);
    ck_assert_int_gt(main_tid, 0);
}
END_TEST

/* An unknown release is refused with a sentence that names it. */
START_TEST(refuses_an_unknown_release)
{
    struct error err = ERROR_NULL;
    struct image_page *p;
    uint64_t at;

    load(RELEASES[_i]);
    ck_assert_int_eq(open_image(&err), 0);
    at = vm->layout.jdk_version_at
             ? vm->layout.jdk_version_at + (uint64_t)vm->layout.jdk_version_major.offset
             : vm->layout.vm_major_version_at;
    vm = hotspot_vm_close(vm);
    p = image_page(&image, at & ~UINT64_C(4095), false);
    p->bytes[at & 4095] = 99;
    ck_assert_int_eq(open_image(&err), HOTSPOT_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.msg, "JDK 99"));
}
END_TEST

/* While the dynamic linker still maps libjvm, other bytes lie at the place of its dynamic
 * section. */
START_TEST(waits_for_the_dynamic_linker)
{
    struct error err = ERROR_NULL;
    const struct image_page *head;
    const Elf64_Ehdr *eh;
    const Elf64_Phdr *ph;

    load(RELEASES[_i]);
    head = image_page(&image, image.base, false);
    eh = (const void *)head->bytes;
    ph = (const void *)(head->bytes + eh->e_phoff);
    while (ph->p_type != PT_DYNAMIC)
        ph++;
    for (uint64_t at = image.base + ph->p_vaddr; at < image.base + ph->p_vaddr + ph->p_memsz; at++)
        image_page(&image, at & ~UINT64_C(4095), true)->bytes[at & 4095] = 0;
    ck_assert_int_eq(open_image(&err), HOTSPOT_NOT_READY);
}
END_TEST

/* Changes the text @name of the tables. */
static int rename_text(const char *name)
{
    size_t n = strlen(name) + 1;
    int found = 0;

    for (size_t i = 0; i < image.page_count; i++) {
        uint8_t *bytes = image.pages[i].bytes;

        for (size_t at = 1; at + n <= MEMORY_PAGE; at++) {
            if (bytes[at - 1] == 0 && memcmp(bytes + at, name, n) == 0) {
                bytes[at] = 'X';
                found++;
            }
        }
    }
    return found;
}

/* The tables of 25.0.2 lack continuations: walks over virtual threads search for their end. */
START_TEST(reads_a_25_without_continuations)
{
    static const char *const GONE[] = { NULL, "_cont_entry", "ContinuationEntry" };
    struct error err = ERROR_NULL;
    struct unwind_vm u;

    load(25);
    if (GONE[_i])
        ck_assert_int_gt(rename_text(GONE[_i]), 0);
    ck_assert_int_eq(open_image(&err), 0);
    ck_assert_int_eq(hotspot_vm_unwinding(vm, &u), 0);
    ck_assert_int_eq(u.cont_entry_bytes > 0, _i < 2);
    ck_assert(_i == 0 || !u.thread_cont_entry);
    ck_assert(u.virtual_threads);
}
END_TEST

/* Changes each byte of libjvm's header and tables. The result is always an outcome with a
 * sentence. */
START_TEST(survives_changed_tables)
{
    load(RELEASES[_i]);
    for (size_t p = 0; p < MIN(image.page_count, (size_t)40); p++) {
        for (size_t at = 0; at < 4096; at += 509) {
            uint8_t kept = image.pages[p].bytes[at];

            image.pages[p].bytes[at] = (uint8_t)(kept ^ 0x55);
            image_exercise(&image);
            image.pages[p].bytes[at] = kept;
        }
    }
}
END_TEST

static bool is_text(const struct image_page *p, size_t at, const char *text)
{
    size_t n = strlen(text) + 1;

    return at + n <= sizeof(p->bytes) && memcmp(p->bytes + at, text, n) == 0 &&
           (at == 0 || p->bytes[at - 1] == 0);
}

/* Puts @value @behind bytes after each word of the image that is the address of the text @name. */
static unsigned forge_rows(const char *name, size_t behind, uint64_t value)
{
    uint64_t text = 0, word;
    unsigned forged = 0;

    for (size_t p = 0; p < image.page_count; p++) {
        for (size_t at = 0; at < sizeof(image.pages[p].bytes) && !text; at++) {
            if (is_text(&image.pages[p], at, name))
                text = image.pages[p].address + at;
        }
    }
    for (size_t p = 0; p < image.page_count; p++) {
        uint8_t *bytes = image.pages[p].bytes;

        for (size_t at = 0; at + behind + 8 <= sizeof(image.pages[p].bytes); at += 8) {
            memcpy(&word, bytes + at, sizeof(word));
            if (text && word == text) {
                memcpy(bytes + at + behind, &value, sizeof(value));
                forged++;
            }
        }
    }
    return forged;
}

/* A JVM says that its objects have their class far behind the bytes that flamed reads of them. */
START_TEST(refuses_a_class_outside_of_the_header)
{
    static const char *const NAMES[] = { "_metadata._klass", "_metadata._compressed_klass",
                                         "_compressed_klass" };
    struct error err = ERROR_NULL;
    unsigned forged = 0;
    int r;

    load(RELEASES[_i]);
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++)
        forged += forge_rows(NAMES[i], 24, 60000); /* behind the field's name: its offset */
    ck_assert_uint_gt(forged, 0);
    ck_assert_uint_gt(forge_rows("oopDesc", 32, 65536), 0); /* behind the type's name: its bytes */
    r = open_image(&err);
    if (RELEASES[_i] <= 26)
        ck_assert_int_eq(r, HOTSPOT_UNSUPPORTED);
    if (r == 0) {
        ck_assert_int_lt(vm->layout.oop_klass.offset, 0);
        ck_assert_int_lt(vm->layout.oop_compressed_klass.offset, 0);
    }
}
END_TEST

/* The image with an interpreter's buffer of the largest size that it may ever have. */
static uint64_t queue_limit_at;

static ssize_t read_generating(void *cookie, uint64_t address, void *buf, size_t n)
{
    ssize_t got = image_read(cookie, address, buf, n);
    uint32_t limit = 256 << 10;

    if (got >= 0 && queue_limit_at >= address &&
        queue_limit_at + sizeof(limit) <= address + (size_t)got)
        memcpy((char *)buf + (queue_limit_at - address), &limit, sizeof(limit));
    return got;
}

/* Later the JVM cuts the buffer. The rest becomes stubs and adapters, which are not the
 * interpreter. */
START_TEST(waits_for_the_interpreter)
{
    struct error err = ERROR_NULL;
    int jdk = RELEASES[_i];

    load(jdk);
    ck_assert_int_eq(open_image(&err), 0);
    ck_assert_int_eq(memory_u64(&vm->memory, vm->layout.interpreter_code_at, &queue_limit_at), 0);
    queue_limit_at += (uint64_t)vm->layout.stub_queue_limit.offset;
    vm = hotspot_vm_close(vm);
    ck_assert_int_eq(hotspot_vm_open_memory(read_generating, &image, image.base, NULL, &vm, &err),
                     jdk == 8 ? 0 : HOTSPOT_NOT_READY); /* JDK 8 cuts no buffer */
}
END_TEST

static ssize_t read_nothing(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)address, (void)buf, (void)n;
    return *(int *)cookie;
}

START_TEST(tells_a_gone_process_from_one_that_starts)
{
    struct error err = ERROR_NULL;
    int answer = 0;

    ck_assert_int_eq(hotspot_vm_open_memory(read_nothing, &answer, 0x7f0000000000, NULL, &vm, &err),
                     HOTSPOT_GONE);
    answer = -EIO;
    ck_assert_int_eq(hotspot_vm_open_memory(read_nothing, &answer, 0x7f0000000000, NULL, &vm, &err),
                     HOTSPOT_NOT_READY);
    ck_assert_int_eq(hotspot_vm_open_memory(read_nothing, &answer, 5, NULL, &vm, &err),
                     HOTSPOT_UNSUPPORTED);
    ck_assert(err.msg[0]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hotspot");
    int releases = (int)ARRAY_SIZE(RELEASES);

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, NULL, unload);
    tcase_add_loop_test(tc, takes_unsigned5, 0, (int)ARRAY_SIZE(UNSIGNED5_CASES));
    tcase_add_loop_test(tc, finds_lines, 0, (int)ARRAY_SIZE(LINE_CASES));
    tcase_add_test(tc, refuses_broken_lines);
    tcase_add_test(tc, gets_fields_inside_only);
    tcase_add_loop_test(tc, reads_an_image_of_each_release, 0, releases);
    tcase_add_test(tc, takes_no_default_for_unread_flags);
    tcase_add_loop_test(tc, waits_for_the_interpreter, 0, releases);
    tcase_add_loop_test(tc, refuses_methods_of_classes_that_are_gone, 0, releases);
    tcase_add_loop_test(tc, names_the_threads_of_an_image, 0, releases);
    tcase_add_loop_test(tc, refuses_an_unknown_release, 0, releases);
    tcase_add_loop_test(tc, waits_for_the_dynamic_linker, 0, releases);
    tcase_add_loop_test(tc, reads_a_25_without_continuations, 0, 3);
    tcase_add_loop_test(tc, survives_changed_tables, 0, releases);
    tcase_add_loop_test(tc, refuses_a_class_outside_of_the_header, 0, releases);
    tcase_add_test(tc, tells_a_gone_process_from_one_that_starts);
    return suite_run_case("hotspot", tc);
}
