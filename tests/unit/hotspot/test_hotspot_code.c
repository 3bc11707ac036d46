/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/ compared with a running JVM's own output: the list of compiled code, line tables. */
#include "hotspot/code/leaf_methods.h"

#include "hotspot_jvm.h"

#define HANDLERS "Handlers"

/* ---- code ---- */

static struct code_list after;

static const struct hotspot_code *same_code(const struct code_list *l, const struct hotspot_code *c)
{
    for (int i = 0; i < l->n; i++) {
        if (l->codes[i].blob == c->blob && l->codes[i].compile_id == c->compile_id)
            return &l->codes[i];
    }
    return NULL;
}

/* Returns true if the blob of @c has no stub of its own inside. */
static bool whole_blob(const struct code_list *l, const struct hotspot_code *c)
{
    for (int i = 0; i < l->n; i++) {
        if (l->codes[i].blob == c->blob && l->codes[i].part)
            return false;
    }
    return true;
}

/* ---- input of the rule for loops ---- */

/* Releases that lay out an nmethod's tables, or number bytecodes, differently. */
static const int LAYOUTS[] = { 8, 17, 25, 28 };

/* Writes "java.lang.String.hashCode(" for a method: the text that a perf map's line has for it. */
static void method_text(uint64_t method, char *buf, size_t size)
{
    struct hotspot_method m;

    ck_assert_int_eq(hotspot_method_read(vm, method, &m), 0);
    snprintf(buf, size, "%.*s.%.*s(", m.class_name_n, m.class_name, m.name_n, m.name);
    for (char *c = buf; *c; c++) {
        if (*c == '/')
            *c = '.';
    }
}

static bool is_boundary(const struct leaf_input *in, uint32_t at)
{
    for (size_t i = 0; i < in->instruction_count; i++) {
        if (in->instructions[i].at >= at)
            return in->instructions[i].at == at;
    }
    return false;
}

static void check_ways(const struct hotspot_code *c, const struct leaf_input *in,
                       const struct leaf_way *ways, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(ways[i].from > 0 && is_boundary(in, ways[i].from) &&
                          is_boundary(in, ways[i].to),
                      "id %d: way %zu of %zu: from %#x to %#x", c->compile_id, i, n, ways[i].from,
                      ways[i].to);
}

/* Reads what leads from one instruction of @c to another. Returns false if the code changed. */
static bool read_ways(const struct hotspot_code *c, struct leaf_material *ret)
{
    _cleanup_(u64_cache_deinit) struct u64_cache stubs;
    struct blob b;

    u64_cache_init(&stubs, 1024);
    memory_begin(&vm->memory);
    return blob_read(vm, c->blob, c->blob + ((uint64_t)1 << 20), &b) == 0 &&
           b.compile_id == c->compile_id && leaf_read_code(vm, &stubs, &b, ret) == 0;
}

/* Returns the number of loops in the bytecodes of the method @address. */
static uint32_t count_loops(uint64_t address, struct leaf_material *m)
{
    _cleanup_(leaf_methods_deinit) struct leaf_methods methods = { 0 };
    uint32_t number;
    char name[1600];

    ck_assert_int_eq(leaf_methods_init(vm, m, &methods), 0);
    ck_assert_int_eq(leaf_methods_find(&methods, address, &number), 0);
    method_text(address, name, sizeof(name));
    ck_assert_msg(m->methods[number].known, "the bytecodes of %s) cannot be read", name);
    return m->methods[number].count;
}

/* Both tables lead from an instruction to another one. The method with the catch has a handler, and
 * one loop. All bytecodes are known. */
START_TEST(tables_and_bytecodes_are_read)
{
    static const char *const ARGS[] = { "-XX:CompileCommand=quiet",
                                        "-XX:CompileCommand=dontinline,Handlers.risky", HANDLERS,
                                        NULL };
    size_t handlers = 0, traps = 0, methods = 0;

    if (!start(LAYOUTS[_i], ARGS, "ready"))
        return;
    before.n = 0;
    ck_assert_int_gt(hotspot_vm_codes(vm, &(struct hotspot_codes_at){ 0 }, take_code, &before),
                     100);
    for (int i = 0; i < before.n; i++) {
        const struct hotspot_code *c = &before.codes[i];
        _cleanup_(leaf_material_deinit) struct leaf_material m = { 0 };
        uint32_t loops;
        char name[1600];

        if (c->kind != HOTSPOT_CODE_COMPILED || c->part || !read_ways(c, &m))
            continue;
        loops = count_loops(c->method, &m);
        methods++;
        check_ways(c, &m.in, m.in.ways.handlers, m.in.ways.handler_count);
        check_ways(c, &m.in, m.in.ways.traps, m.in.ways.trap_count);
        traps += m.in.ways.trap_count;
        method_text(c->method, name, sizeof(name));
        if (strcmp(name, HANDLERS ".caught(") == 0) {
            handlers += m.in.ways.handler_count;
            ck_assert_uint_eq(loops, 1);
        }
    }
    fprintf(stderr, "JDK %d: %zu methods, %zu handlers of the catch, %zu implicit exceptions\n",
            LAYOUTS[_i], methods, handlers, traps);
    ck_assert_uint_gt(handlers, 0);
    ck_assert_uint_gt(traps, 0);
}
END_TEST

START_TEST(code_is_what_the_perf_map_lists)
{
    static const char *const ARGS[] = { PROOF, NULL };
    _cleanup_buf_ struct buf map = BUF_NULL;
    unsigned compiled = 0, intrinsics = 0, stubs = 0, parts = 0;
    char path[64];

    if (!start(RELEASES[_i], ARGS, "ready"))
        return;
    usleep(500000); /* waits until the compilers are idle */
    before.n = after.n = 0;
    ck_assert_int_gt(hotspot_vm_codes(vm, &(struct hotspot_codes_at){ 0 }, take_code, &before),
                     100);
    jcmd(RELEASES[_i], "Compiler.perfmap", NULL);
    ck_assert_int_gt(hotspot_vm_codes(vm, &(struct hotspot_codes_at){ 0 }, take_code, &after), 100);
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", jvm.pid);
    buf_init(&map, TEXT_MAX);
    ck_assert_int_eq(buf_read_at(&map, AT_FDCWD, path), 0);
    unlink(path);
    for (int i = 0; i < before.n; i++) {
        const struct hotspot_code *c = &before.codes[i];
        char key[48], want[1600], *line;
        struct hotspot_code found;

        if (c->part) { /* the JVM's map has the blob, but not the stubs in it */
            parts++;
            continue;
        }
        if (!same_code(&after, c) || (c->kind == HOTSPOT_CODE_STUB && !whole_blob(&before, c)))
            continue;
        snprintf(key, sizeof(key), "0x%016" PRIx64 " 0x%016" PRIx64 " ", c->start,
                 c->end - c->start);
        line = strstr(map.p, key);
        ck_assert_msg(line, "%s (kind %d, id %d, %s) is not in the map", key, c->kind,
                      c->compile_id, c->name);
        span_copy((struct span){ line, strcspn(line, "\n") }, text, sizeof(text));
        if (c->method) {
            method_text(c->method, want, sizeof(want));
            compiled++;
            intrinsics += strncmp(want, "java.lang.invoke.MethodHandle.linkTo", 36) == 0;
        } else {
            snprintf(want, sizeof(want), "%s", c->name);
            stubs++;
        }
        ck_assert_msg(strstr(text, want), "'%s' is not '%s'", text, want);
        if (c->start == c->end || c->kind == HOTSPOT_CODE_INTERPRETER)
            continue;
        ck_assert_int_eq(hotspot_code_find(vm, c->start + (c->end - c->start) / 2, &found), 0);
        ck_assert_uint_eq(found.blob, c->blob);
        ck_assert_int_eq(found.compile_id, c->compile_id);
        ck_assert_int_eq(hotspot_code_still(vm, &found), 1);
        found.compile_id++;
        ck_assert_int_eq(hotspot_code_still(vm, &found), !c->method);
    }
    fprintf(stderr, "JDK %d: %u compiled, %u stubs as in the perf map, %u others within those\n",
            RELEASES[_i], compiled, stubs, parts);
    ck_assert_uint_gt(compiled, 20);
    ck_assert_uint_gt(intrinsics, 0);
    ck_assert_uint_gt(stubs, 50);
    ck_assert_uint_gt(parts, 100);
}
END_TEST

/* ---- lines ---- */

/* Returns the Method* of the compiled method @name of the proof; 0: none. */
static uint64_t proof_method(const char *name)
{
    for (int i = 0; i < before.n; i++) {
        struct hotspot_method m;

        if (before.codes[i].method && hotspot_method_read(vm, before.codes[i].method, &m) == 0 &&
            span_eq_str((struct span){ m.class_name, m.class_name_n }, PROOF) &&
            span_eq_str((struct span){ m.name, m.name_n }, name)) {
            ck_assert(span_eq_str((struct span){ m.file, m.file_n }, PROOF ".java"));
            return before.codes[i].method;
        }
    }
    return 0;
}

START_TEST(lines_are_those_of_javap)
{
    static const char *const ARGS[] = { PROOF, NULL };
    char javap[320], name[96] = "";
    const char *argv[] = { javap, "-c", "-l", "-p", "-cp", live_classes(), PROOF, NULL };
    unsigned methods = 0, lines = 0;
    uint64_t method = 0;

    if (!start(RELEASES[_i], ARGS, "ready"))
        return;
    before.n = 0;
    ck_assert_int_gt(hotspot_vm_codes(vm, &(struct hotspot_codes_at){ 0 }, take_code, &before),
                     100);
    snprintf(javap, sizeof(javap), "%s/bin/javap", live_home(RELEASES[_i]));
    ck_assert(live_output(argv, text, sizeof(text)));
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        unsigned number;
        char *paren;
        int bci;

        *end = '\0';
        if ((paren = strchr(line, '(')) && !strstr(line, "//") &&
            span_ends_with(span_of(line), ";")) {
            while (paren > line && paren[-1] != ' ')
                paren--;
            snprintf(name, sizeof(name), "%.*s", (int)strcspn(paren, "("), paren);
            method = proof_method(name);
            methods += method != 0;
        } else if (method && sscanf(line, " line %u: %d", &number, &bci) == 2) {
            ck_assert_msg(hotspot_method_line(vm, method, bci) == number, "%s, bci %d: %u, not %u",
                          name, bci, hotspot_method_line(vm, method, bci), number);
            lines++;
        }
    }
    fprintf(stderr, "JDK %d: %u lines of %u methods as javap prints\n", RELEASES[_i], lines,
            methods);
    ck_assert_uint_ge(methods, 5);
    ck_assert_uint_ge(lines, 20);
    ck_assert_uint_eq(hotspot_method_line(vm, proof_method("round"), -1), 0);
    ck_assert_uint_eq(hotspot_method_line(vm, proof_method("round"), 65535), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("hotspot_code");
    TCase *tc = tcase_create("said by the JVM");
    int releases = (int)ARRAY_SIZE(RELEASES);

    if (geteuid() != 0 || (!live_home(17) && !live_home(25))) {
        fprintf(stderr, "needs root and a JDK\n");
        return 77;
    }
    if (!live_compile(PROOF ".java") || !live_compile(HANDLERS ".java")) {
        fprintf(stderr, "cannot compile\n");
        return 1;
    }
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, NULL, stop);
    tcase_add_loop_test(tc, tables_and_bytecodes_are_read, 0, (int)ARRAY_SIZE(LAYOUTS));
    tcase_add_loop_test(tc, code_is_what_the_perf_map_lists, 0, releases);
    tcase_add_loop_test(tc, lines_are_those_of_javap, 0, releases);
    suite_add_tcase(s, tc);
    return suite_run_unforked(s);
}
