/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot/ compared with a running JVM's own output: flags, the command line. Also names that a
 * patched class file has made hostile.
 */
#include "hotspot_jvm.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

/* ---- flags ---- */

/* Lines of jcmd: "     intx MaxInlineLevel   = 15   {C2 product} {default}". */
START_TEST(flags_are_what_jcmd_prints)
{
    static const char *const ARGS[] = { "-XX:+PreserveFramePointer", "-XX:MaxInlineLevel=11",
                                        "-XX:MaxHeapSize=96m", PROOF, NULL };
    unsigned same = 0;

    if (!start(RELEASES[_i], ARGS, "ready"))
        return;
    jcmd(RELEASES[_i], "VM.flags", "-all");
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        char type[32], name[96], value[64];
        uint64_t got, want;

        *end = '\0';
        if (sscanf(line, " %31s %95s = %63s", type, name, value) != 3 ||
            strncmp(type, "cc", 2) == 0 || strcmp(type, "double") == 0)
            continue;
        if (strcmp(type, "bool") == 0)
            want = strcmp(value, "true") == 0;
        else
            want = value[0] == '-' ? (uint64_t)strtoll(value, NULL, 10) : strtoull(value, NULL, 10);
        ck_assert_msg(hotspot_vm_flag(vm, name, &got) == 0, "%s not found", name);
        ck_assert_msg(got == want, "%s is %" PRIu64 ", not %s", name, got, value);
        same++;
    }
    fprintf(stderr, "JDK %d: %u flags as jcmd prints\n", RELEASES[_i], same);
    ck_assert_uint_gt(same, 400);
    ck_assert_int_eq(hotspot_vm_flag(vm, "NoSuchFlag", &(uint64_t){ 0 }), -ENOENT);
}
END_TEST

/* ---- allocation ---- */

/* The functions that stubs call to allocate, in libjvm: one of each kind per compiler. */
START_TEST(functions_that_allocate_are_found)
{
    enum { ALL = (1u << ALLOC_KINDS) - (1u << ALLOC_C2_INSTANCE) };
    static const struct {
        const char *options[3];
        uint32_t kinds; /* bits */
    } MODES[] = {
        { { NULL }, ALL },
        { { "-XX:TieredStopAtLevel=1", NULL }, ALL & ~((1u << ALLOC_C1_INSTANCE) - 1) },
        { { "-XX:-TieredCompilation", NULL },
          ALL & (~((1u << ALLOC_INTERPRETER_INSTANCE) - 1) | ((1u << ALLOC_C1_INSTANCE) - 1)) },
        { { "-Xint", NULL }, ALL & ~((1u << ALLOC_INTERPRETER_INSTANCE) - 1) },
    };

    for (size_t m = 0; m < ARRAY_SIZE(MODES); m++) {
        const char *args[] = { PROOF, NULL, NULL };
        struct hotspot_allocators a = { 0 };
        uint32_t kinds = 0;

        if (MODES[m].options[0]) {
            args[0] = MODES[m].options[0];
            args[1] = PROOF;
        }
        if (!start(RELEASES[_i], args, "ready"))
            return;
        for (int i = 0; i < 200 && !a.complete; i++) {
            ck_assert_int_eq(hotspot_vm_allocators(vm, &a), 0);
            usleep(a.complete ? 0 : 50000);
        }
        ck_assert(a.complete);
        for (uint32_t i = 0; i < a.count; i++) {
            ck_assert(!hotspot_vm_in_code_cache(vm, a.at[i].function));
            for (uint32_t k = 0; k < i; k++)
                ck_assert_uint_ne(a.at[i].function, a.at[k].function);
            kinds |= 1u << a.at[i].kind;
        }
        ck_assert_msg(kinds == (MODES[m].kinds & ~(1u << ALLOC_C2_FILLED)),
                      "JDK %d, %s: kinds %x, not %x", RELEASES[_i], args[0], kinds,
                      MODES[m].kinds & ~(1u << ALLOC_C2_FILLED));
        ck_assert_uint_eq(a.vm.reference_bytes, 4);
        stop();
    }
}
END_TEST

START_TEST(classes_of_arrays_have_names)
{
    static const char *const ARGS[] = { PROOF, NULL };
    char name[HOTSPOT_CLASS_NAME_MAX];

    if (!start(RELEASES[_i], ARGS, "ready"))
        return;
    ck_assert_int_eq(hotspot_class_name(vm, 4, name), 2);
    ck_assert_mem_eq(name, "[Z", 2);
    ck_assert_int_eq(hotspot_class_name(vm, 11, name), 2);
    ck_assert_mem_eq(name, "[J", 2);
    ck_assert_int_lt(hotspot_class_name(vm, 12, name), 0);
    ck_assert_int_lt(hotspot_class_name(vm, 3, name), 0);
    ck_assert_int_lt(hotspot_class_name(vm, HOTSPOT_CLASS_ARRAY_OF, name), 0);
}
END_TEST

/* ---- threads ---- */

struct read_again {
    unsigned listed, again;
};
static uint64_t java_threads[64];

static void take_thread(void *cookie, const struct hotspot_thread *t)
{
    struct read_again *n = cookie;

    if (n->listed < ARRAY_SIZE(java_threads))
        java_threads[n->listed++] = t->java_thread;
}

static void take_again(void *cookie, const struct hotspot_thread *t)
{
    struct read_again *n = cookie;

    n->again += t->name.n > 0;
}

START_TEST(listed_threads_are_read_again)
{
    static const char *const ARGS[] = { PROOF, NULL };
    struct read_again n = { 0 };

    if (!start(RELEASES[_i], ARGS, "ready"))
        return;
    ck_assert_int_gt(hotspot_vm_threads(vm, 0, take_thread, &n), 0);
    for (unsigned i = 0; i < n.listed; i++)
        hotspot_vm_thread(vm, java_threads[i], HOTSPOT_THREAD_NAME | HOTSPOT_THREAD_LISTED,
                          take_again, &n);
    ck_assert_uint_gt(n.listed, 5);
    fprintf(stderr, "JDK %d: %u of %u threads again\n", RELEASES[_i], n.again, n.listed);
    ck_assert_msg(n.again * 2 > n.listed, "%u of %u", n.again, n.listed); /* some may end */
}
END_TEST

/* ---- command, arguments, version ---- */

START_TEST(tells_how_it_was_started)
{
    static const char *const ARGS[] = { "-Dsecret=a b", "-Xmx77m",   PROOF,
                                        "one two",      "--three=x", NULL };
    _cleanup_buf_ struct buf b = BUF_NULL;
    char version[64];

    if (!start(RELEASES[_i], ARGS, "ready"))
        return;
    buf_init(&b, 4096);
    ck_assert_int_eq(hotspot_vm_command(vm, 4096, &b), 0);
    ck_assert_str_eq(b.p, PROOF " one two --three=x");
    buf_clear(&b);
    ck_assert_int_eq(hotspot_vm_command(vm, 7, &b), 0);
    ck_assert_str_eq(b.p, "Hotspot");
    buf_clear(&b);
    ck_assert_int_eq(hotspot_vm_arguments(vm, 4096, &b), 0);
    ck_assert(memmem(b.p, b.n + 1, "-Dsecret=a b\0-Xmx77m", 21));
    ck_assert_int_eq(hotspot_vm_jdk(vm), RELEASES[_i]);
    snprintf(version, sizeof(version), "%d.", RELEASES[_i]);
    ck_assert_msg(strncmp(hotspot_vm_version(vm), version, strlen(version)) == 0, "%s",
                  hotspot_vm_version(vm));
    ck_assert_ptr_nonnull(strstr(hotspot_vm_name(vm), "64-Bit Server VM"));
    /* Every call about an exited process returns an outcome. */
    kill(jvm.pid, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)jvm.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(hotspot_vm_flag(vm, "MaxHeapSize", &(uint64_t){ 0 }), HOTSPOT_GONE);
    ck_assert_int_eq(hotspot_vm_command(vm, 7, &b), HOTSPOT_GONE);
}
END_TEST

/* ---- hostile names ---- */

static const char EVIL_CLASS[] = "evil\x1b[31m\"<script>\n\x01";
static const char EVIL_METHOD[] = "m\xed\xa0\x80\xff\x7f\xc0\x80\"\r";
/* U+1F600 as two surrogates, like in the JVM's modified UTF-8. */
static const char EVIL_THREAD[] = "t\x1b]0;<script>\n\xf0\x9f\x98\x80";
static const char EVIL_THREAD_MODIFIED[] = "t\x1b]0;<script>\n\xed\xa0\xbd\xed\xb8\x80";

/* Copies the class file @from, with two of its names replaced. */
static void patch_class(const char *from, const char *to)
{
    static const uint8_t SIZES[] = {
        [3] = 4,  [4] = 4,  [5] = 8,  [6] = 8,  [7] = 2,  [8] = 2, [9] = 4,
        [10] = 4, [11] = 4, [12] = 4, [15] = 3, [16] = 2, [18] = 4
    };
    _cleanup_buf_ struct buf in = BUF_NULL, out = BUF_NULL;
    size_t at = 10, count;
    int fd;

    buf_init(&in, TEXT_MAX);
    buf_init(&out, TEXT_MAX);
    ck_assert_int_eq(buf_read_at(&in, AT_FDCWD, from), 0);
    count = (size_t)(uint8_t)in.p[8] << 8 | (uint8_t)in.p[9];
    buf_add(&out, in.p, at);
    for (size_t i = 1; i < count; i++) {
        uint8_t tag = (uint8_t)in.p[at];
        size_t n = tag == 1 ? 2 + ((size_t)(uint8_t)in.p[at + 1] << 8 | (uint8_t)in.p[at + 2])
                            : SIZES[tag];
        struct span name = { in.p + at + 3, n - 2 };

        if (tag == 1 && (span_eq_str(name, "EvilBody") || span_eq_str(name, "evilMethod"))) {
            struct span evil = name.n == 8 ? span_of(EVIL_CLASS) : span_of(EVIL_METHOD);

            buf_add_char(&out, 1);
            buf_add_char(&out, 0);
            buf_add_char(&out, (char)evil.n);
            buf_add_span(&out, evil);
        } else {
            buf_add(&out, in.p + at, n + 1);
        }
        at += n + 1;
        i += tag == 5 || tag == 6;
    }
    buf_add(&out, in.p + at, in.n - at);
    fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_eq(write(fd, out.p, out.n), (ssize_t)out.n);
    close(fd);
}

static void see_evil(void *cookie, const struct hotspot_thread *t)
{
    *(int *)cookie += span_eq_str(t->name, EVIL_THREAD_MODIFIED);
}

START_TEST(hostile_names_come_as_they_are)
{
    char folder[200], path[256], from[256];
    const char *args[] = { "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
                           "Evil", folder, NULL };
    int found = 0, threads = 0, fd;
    uint64_t deadline;

    snprintf(folder, sizeof(folder), "%s/evil%d", live_classes(), _i);
    snprintf(from, sizeof(from), "%s/EvilBody.class", live_classes());
    ck_assert_int_eq(mkdir(folder, 0755), 0);
    snprintf(path, sizeof(path), "%s/a.bin", folder);
    patch_class(from, path);
    snprintf(path, sizeof(path), "%s/a.name", folder);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_gt(write(fd, EVIL_THREAD, strlen(EVIL_THREAD)), 0);
    close(fd);
    if (!start(RELEASES[_i], args, "started"))
        return;
    for (deadline = clock_monotonic_ns() + 20 * NSEC_PER_SEC;
         !found && clock_monotonic_ns() < deadline;) {
        before.n = 0;
        ck_assert_int_gt(hotspot_vm_codes(vm, &(struct hotspot_codes_at){ 0 }, take_code, &before),
                         0);
        for (int i = 0; i < before.n; i++) {
            struct hotspot_method m;

            if (before.codes[i].method &&
                hotspot_method_read(vm, before.codes[i].method, &m) == 0 &&
                span_starts_with((struct span){ m.class_name, m.class_name_n }, EVIL_CLASS) &&
                span_eq_str((struct span){ m.name, m.name_n }, EVIL_METHOD))
                found++;
        }
        usleep(50000);
    }
    ck_assert_int_gt(found, 0);
    ck_assert_int_gt(hotspot_vm_threads(vm, HOTSPOT_THREAD_NAME, see_evil, &threads), 1);
    ck_assert_int_eq(threads, 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hotspot_jvm");
    TCase *tc = tcase_create("said by the JVM");
    int releases = (int)ARRAY_SIZE(RELEASES);

    if (geteuid() != 0 || (!live_home(17) && !live_home(25))) {
        fprintf(stderr, "needs root and a JDK\n");
        return 77;
    }
    if (!live_compile(PROOF ".java") || !live_compile("EvilBody.java") ||
        !live_compile("Evil.java")) {
        fprintf(stderr, "cannot compile\n");
        return 1;
    }
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, NULL, stop);
    tcase_add_loop_test(tc, flags_are_what_jcmd_prints, 0, releases);
    tcase_add_loop_test(tc, functions_that_allocate_are_found, 0, releases);
    tcase_add_loop_test(tc, classes_of_arrays_have_names, 0, releases);
    tcase_add_loop_test(tc, listed_threads_are_read_again, 0, releases);
    tcase_add_loop_test(tc, tells_how_it_was_started, 0, releases);
    tcase_add_loop_test(tc, hostile_names_come_as_they_are, 0, releases);
    suite_add_tcase(s, tc);
    return suite_run_unforked(s);
}
