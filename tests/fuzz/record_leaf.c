/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a corpus file for fuzz_leaf from a running JVM: record_leaf PID CLASS METHOD > FILE.
 * Records the newest code of that method, and writes facts about it to stderr.
 */
#include "hotspot/code/leaf_methods.h"
#include "hotspot/code/scopes.h"
#include "leaf_file.h"
#include "tests/read_jvm.h"

#include <signal.h>

#define RESOLVED_MAX 64 /* methods, with their callees */

struct choice {
    struct hotspot_vm *vm;
    const char *class_name, *method;
    struct hotspot_code found;
};

static int choose(void *cookie, const struct hotspot_code *c)
{
    struct choice *ch = cookie;
    struct hotspot_method m;

    if (c->kind == HOTSPOT_CODE_COMPILED && hotspot_method_read(ch->vm, c->method, &m) == 0 &&
        span_eq_str((struct span){ m.class_name, m.class_name_n }, ch->class_name) &&
        span_eq_str((struct span){ m.name, m.name_n }, ch->method) &&
        c->compile_id >= ch->found.compile_id)
        ch->found = *c;
    return 0;
}

static void put(const void *p, size_t count, size_t size)
{
    if (count > 0)
        fwrite(p, size, count, stdout);
}

static size_t find_calls(const struct leaf_material *m, struct leaf_file_call *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < m->in.instruction_count; i++) {
        if (m->instructions[i].flow == LEAF_SLOW || m->instructions[i].flow == LEAF_TRAP)
            ret[n++] = (struct leaf_file_call){ m->instructions[i].at, m->instructions[i].flow };
    }
    return n;
}

static void find_names(struct hotspot_vm *vm, const struct leaf_material *m,
                       struct leaf_file_name *ret)
{
    for (size_t i = 0; i < m->in.method_count; i++) {
        struct hotspot_method names;

        if (hotspot_method_read(vm, m->addresses[i], &names) == 0)
            snprintf(ret[i].text, LEAF_FILE_NAME, "%.*s", names.name_n, names.name);
    }
}

static void print_ranges(const struct leaf_material *m, struct leaf_graph *g,
                         const struct leaf_file_name *names)
{
    struct leaf_ranges r = { 0 };

    for (size_t i = 0; i < g->loop_count; i++)
        fprintf(stderr, "loop %zu at %x, %u blocks, in %d\n", i,
                g->instructions[g->blocks[g->loops[i].head].first].at, g->loops[i].body_count,
                (int)g->loops[i].parent);
    if (leaf_ranges_make(&m->in, g, &r) < 0)
        return;
    for (size_t i = 0; i < r.count; i++) {
        const struct leaf_range *at = &r.at[i];

        fprintf(stderr, "%6x %6x %s", at->start, at->end,
                at->verdict == LEAF_UNSURE ? "unsure" : "inferred");
        if (at->callee != LEAF_NONE)
            fprintf(stderr, " (%s@%d)", names[at->callee].text, at->callee_bci);
        for (uint32_t k = at->drop; at->chain != LEAF_NONE && k < m->chains[at->chain].count; k++) {
            const struct leaf_frame *f = &m->frames[m->chains[at->chain].first + k];

            fprintf(stderr, " %s@%d", names[f->method].text, f->bci);
        }
        fprintf(stderr, "\n");
    }
    free(r.at);
}

static int record(struct hotspot_vm *vm, const struct hotspot_code *code)
{
    static struct leaf_file_name names[LEAF_METHODS_MAX];
    static struct leaf_file_call calls[LEAF_INSTRUCTIONS_MAX];
    struct u64_cache stubs = { .max = 64 };
    struct leaf_material m = { 0 };
    struct leaf_methods methods;
    struct leaf_graph g;
    struct blob b;
    size_t call_count;

    if (blob_read(vm, code->blob, code->end + (1 << 20), &b) != 0 ||
        leaf_read_code(vm, &stubs, &b, &m) != 0 || leaf_methods_init(vm, &m, &methods) != 0 ||
        leaf_read_records(vm, &b, &methods, &m) != 0 ||
        leaf_graph_make(m.instructions, m.in.instruction_count, &m.in.ways, &g) != 0)
        return 1;
    for (uint32_t i = 0; i < m.in.method_count && i < RESOLVED_MAX; i++)
        leaf_methods_resolve(&methods, i);
    m.in.wanted = NULL;
    call_count = find_calls(&m, calls);
    find_names(vm, &m, names);
    print_ranges(&m, &g, names);
    put(m.in.aarch64 ? "LARM" : "LEAF", 1, 4);
    const uint32_t counts[] = {
        (uint32_t)m.in.ways.trap_count,
        (uint32_t)m.in.ways.handler_count,
        (uint32_t)m.in.ways.table_count,
        (uint32_t)m.in.record_count,
        (uint32_t)m.in.chain_count,
        (uint32_t)m.in.frame_count,
        (uint32_t)m.in.method_count,
        (uint32_t)m.in.span_count,
        (uint32_t)call_count,
        (uint32_t)m.in.method_count,
        (uint32_t)m.in.invoke_count,
        (uint32_t)m.in.sign_count,
        (uint32_t)m.in.constants.n,
    };
    put(counts, ARRAY_SIZE(counts), sizeof(*counts));
    put(m.traps, counts[0], sizeof(*m.traps));
    put(m.handlers, counts[1], sizeof(*m.handlers));
    put(m.tables, counts[2], sizeof(*m.tables));
    put(m.records, counts[3], sizeof(*m.records));
    put(m.chains, counts[4], sizeof(*m.chains));
    put(m.frames, counts[5], sizeof(*m.frames));
    put(m.methods, counts[6], sizeof(*m.methods));
    put(m.spans, counts[7], sizeof(*m.spans));
    put(calls, call_count, sizeof(*calls));
    put(names, counts[9], sizeof(*names));
    put(m.invokes, counts[10], sizeof(*m.invokes));
    put(m.signs, counts[11], sizeof(*m.signs));
    put(m.in.constants.p, m.in.constants.n, 1);
    put(m.in.code.p, m.in.code.n, 1);
    leaf_graph_deinit(&g);
    leaf_methods_deinit(&methods);
    leaf_material_deinit(&m);
    return 0;
}

int main(int argc, char **argv)
{
    struct choice ch = { 0 };
    struct read_jvm jvm;
    pid_t pid;
    int r = 1;

    if (argc != 4) {
        fprintf(stderr, "usage: %s PID CLASS METHOD > FILE\n", argv[0]);
        return 2;
    }
    pid = (pid_t)strtol(argv[1], NULL, 10);
    ch.class_name = argv[2];
    ch.method = argv[3];
    kill(pid, SIGSTOP);
    jvm = read_jvm_open(pid);
    ch.vm = jvm.vm;
    if (hotspot_vm_codes(ch.vm, &(struct hotspot_codes_at){ 0 }, choose, &ch) >= 0 && ch.found.blob)
        r = record(ch.vm, &ch.found);
    kill(pid, SIGCONT);
    read_jvm_close(&jvm);
    return r;
}
