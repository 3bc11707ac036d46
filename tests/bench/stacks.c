/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples one process without the rest of flamed. Prints how many of its stacks are whole, why the
 * others are not, and the cost of a sample. Also checks the stacks: callers in compiled code must
 * return to a call with debug information of the VM. Interpreted callers must be at a bytecode that
 * calls. Needs root.
 *   stacks PID SECONDS HZ [-v]     (-v: shows some stacks that are not whole)
 */
#include "relocations.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "hotspot/hotspot.h"
#include "sample/sample.h"
#include "sample/sampler.h"
#include "sample/sampler_events.h"
#include "tests/read_jvm.h"
#include "unwind/unwind.h"
#include "unwind_tables/table_loader.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_BYTES ((size_t)32 << 20)
#define THREADS_MAX 65536
#define CARRIER "ForkJoinPool-1-" /* the threads that virtual threads run on, by the JDK's name */

static const char *const ENDS[UNWIND_END_COUNT] = {
    "root",   "unchecked", "limit",    "no process",  "no mapping", "no rule", "memory", "progress",
    "return", "no blob",   "compiled", "interpreted", "stub",       "runtime", "thread",
};

static struct {
    int pid, mem;
    bool verbose;
    struct sampler *sampler;
    struct hotspot_vm *vm;
    struct maps maps;
    uint64_t ends[UNWIND_END_COUNT], java_ends[UNWIND_END_COUNT];
    uint64_t samples, java, frames, kinds[8], kernel, shown, deepest, skipped;
    uint64_t callers, exact, leaf, interpreted, at_invoke, carriers, carriers_whole;
    /* Callers by the relocation of their call: those at an exact PcDesc, and the others; last:
     * unknown. */
    uint64_t relocations[2][RELOCATION_TYPES + 1];
    uint64_t checked[1u << 16]; /* words that were checked lately */
    uint8_t verdicts[1u << 16];
    bool java_tid[THREADS_MAX * 64];
} run;

static int open_mapped(struct broker *ctx, const struct proc_id *id, uint64_t start, uint64_t end,
                       int *ret_fd, struct error *err)
{
    char path[128];

    (void)ctx;
    for (size_t i = 0; i < run.maps.count; i++) {
        if (run.maps.entries[i].start == start && span_eq_str(run.maps.entries[i].path, "[vdso]")) {
            _cleanup_close_ int out = memfd_create("vdso", MFD_CLOEXEC);
            _cleanup_close_ int mem = open_proc_file(id->host_pid, "mem");
            char page[4096];

            for (uint64_t at = start; at < end; at += sizeof(page)) {
                if (pread(mem, page, sizeof(page), (off_t)at) != sizeof(page) ||
                    write(out, page, sizeof(page)) != sizeof(page))
                    return -EIO;
            }
            *ret_fd = take_fd(&out);
            return 0;
        }
    }
    snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, id->host_pid, start,
             end);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? error_errno(err, "cannot open %s", path) : 0;
}

static int put_rows(struct broker *ctx, uint32_t first, const struct unwind_row *rows,
                    uint32_t count, struct error *err)
{
    (void)ctx;
    (void)err;
    return sampler_put_rows(run.sampler, first, rows, count);
}

static int put_process(struct broker *ctx, int32_t host_pid, const struct unwind_process *p,
                       struct error *err)
{
    (void)ctx;
    (void)err;
    return sampler_put_process(run.sampler, host_pid, p);
}

static int read_maps(void)
{
    _cleanup_close_ int fd = open_proc_file(run.pid, "maps");

    maps_deinit(&run.maps);
    return fd < 0 ? -errno : maps_of(fd, &run.maps);
}

static void show(const struct sample_record *rec, const uint64_t *frames)
{
    static const char *const KINDS[8] = { "native", "compiled", "interpreted", "stub",
                                          "signal", "?",        "?",           "mark" };

    printf("--- %.16s tid %u end %s, %u kernel frames\n", rec->comm, rec->host_tid,
           ENDS[rec->user_end], rec->kernel_count);
    for (unsigned i = 0; i < rec->user_count; i++) {
        uint64_t word = frames[rec->kernel_count + i], pc = word & UNWIND_PC_MASK;
        unsigned kind = (unsigned)(word >> UNWIND_KIND_SHIFT);
        const struct mapping *m = maps_find(&run.maps, pc);
        struct hotspot_code code;

        if (i > 6 && i + 6 < rec->user_count)
            continue;
        if (i == 0) {
            uint8_t bytes[32];

            if (pread(run.mem, bytes, sizeof(bytes), (off_t)pc - 12) == sizeof(bytes)) {
                for (size_t k = 0; k < sizeof(bytes); k++)
                    printf("%s%02x", k == 12 ? " | " : " ", bytes[k]);
                printf("\n");
            }
        }
        printf("  %2u %-11s %012" PRIx64 " ", i, KINDS[kind], pc);
        if (kind == UNWIND_INTERPRETED) {
            i++;
            printf("\n");
        } else if (run.vm && hotspot_code_find(run.vm, pc, &code) == 0)
            printf("%s kind %d +0x%" PRIx64 " blob %" PRIx64 "\n", code.name, code.kind,
                   pc - code.start, code.blob);
        else if (m)
            printf("%.*s+0x%" PRIx64 "\n", (int)m->path.n, m->path.p, pc - m->start + m->offset);
        else
            printf("\n");
    }
}

/* Returns where the verdict on @word is stored: 0 right, 1 wrong, 2 unknowable, 3 not known yet. */
static uint8_t *verdict_of(uint64_t word)
{
    size_t slot = (size_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 48);

    if (run.checked[slot] != word) {
        run.checked[slot] = word;
        run.verdicts[slot] = 3;
    }
    return &run.verdicts[slot];
}

/* Where the call before @ra goes: call rel32, or mov r10,imm64; call r10. 0: elsewhere. */
static uint64_t call_target(uint64_t ra)
{
    uint8_t p[13];
    uint64_t target;
    int32_t relative;

    if (pread(run.mem, p, sizeof(p), (off_t)(ra - sizeof(p))) != sizeof(p))
        return 0;
    if (p[8] == 0xe8) {
        memcpy(&relative, p + 9, sizeof(relative));
        return ra + (uint64_t)(int64_t)relative;
    }
    memcpy(&target, p + 2, sizeof(target));
    return memcmp(p, "\x49\xba", 2) == 0 && memcmp(p + 10, "\x41\xff\xd2", 3) == 0 ? target : 0;
}

/* A leaf call has no debug information: it is true when it calls the very code that stands above
 * it. */
static bool is_leaf_call(uint64_t ra, uint64_t callee_pc)
{
    struct hotspot_code target, callee;
    uint64_t at = call_target(ra);

    return at && hotspot_code_find(run.vm, at, &target) == 0 &&
           hotspot_code_find(run.vm, callee_pc, &callee) == 0 && target.blob == callee.blob;
}

/* Of the call before @ra: call rel32; mov r10,imm64; call r10; or an inline cache's, by its call.
 */
static unsigned relocation_of(uint64_t ra)
{
    struct hotspot_code code;
    int type;

    if (hotspot_code_find(run.vm, ra - 1, &code) != 0)
        return RELOCATION_TYPES;
    type = relocation_at(run.vm, &code, ra - 5);
    if (type == 0)
        type = relocation_at(run.vm, &code, ra - 13);
    return type < 0 ? RELOCATION_TYPES : (unsigned)type;
}

/* Whether debug information stands exactly at @pc of @code, as it does at the return address of
 * every call but those of leaf routines. 1, 0, or -errno. */
static int at_exact_pc_desc(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t blob, end, size = l->sizeof_PcDesc;
    uint8_t desc[64];
    struct blob b;
    int r = codecache_block(vm, code->start, &blob, &end);

    if (r == 0)
        r = blob_read(vm, blob, end, &b);
    if (r != 0 || blob != code->blob || b.compile_id != code->compile_id || size > sizeof(desc))
        return r < 0 ? r : -ENOENT;
    for (uint64_t at = b.scopes_pcs; at + size <= b.scopes_pcs_end; at += size) {
        r = memory_read(&vm->memory, at, desc, size);
        if (r < 0)
            return r;
        if (b.code_begin + (uint64_t)layout_get(l->pc_desc_pc, desc, size) == pc)
            return 1;
    }
    return 0;
}

static uint8_t judge_compiled(uint64_t word)
{
    uint64_t pc = word & UNWIND_PC_MASK;
    struct hotspot_code code;
    int r;

    if (hotspot_code_find(run.vm, pc - 1, &code) != 0 || code.kind != HOTSPOT_CODE_COMPILED ||
        ((uint64_t)code.compile_id & UNWIND_ID_MASK) != (word >> UNWIND_PC_BITS & UNWIND_ID_MASK))
        return 2;
    r = at_exact_pc_desc(run.vm, &code, pc);
    return r < 0 ? 2 : r == 0;
}

/* invoke*, also as the interpreter rewrites them (fast_invokevfinal, invokehandle of JDK 8 to 28)
 */
static uint8_t judge_interpreted(uint64_t bcp)
{
    uint8_t bytecode;

    if (pread(run.mem, &bytecode, 1, (off_t)bcp) != 1)
        return 2;
    return !((bytecode >= 0xb6 && bytecode <= 0xba) || (bytecode >= 226 && bytecode <= 234));
}

static void check_callers(const uint64_t *words, unsigned count)
{
    bool from_java = false;   /* the frame before is Java's, or a stub's */
    bool interrupted = false; /* by a signal, whose handler is the frame before: no call */
    uint8_t *verdict;

    for (unsigned i = 0; i < count; i++) {
        unsigned kind = (unsigned)(words[i] >> UNWIND_KIND_SHIFT);

        if (kind == UNWIND_COMPILED && i && !interrupted) {
            verdict = verdict_of(words[i]);
            if (*verdict == 3)
                *verdict = judge_compiled(words[i]);
            run.callers += *verdict < 2;
            run.exact += *verdict == 0;
            if (*verdict < 2)
                run.relocations[*verdict][relocation_of(words[i] & UNWIND_PC_MASK)]++;
            if (*verdict == 1 && words[i - 1] >> UNWIND_KIND_SHIFT == UNWIND_STUB)
                run.leaf += is_leaf_call(words[i] & UNWIND_PC_MASK, words[i - 1] & UNWIND_PC_MASK);
        }
        if (kind == UNWIND_INTERPRETED && i + 1 < count) {
            i++;
            if (from_java && words[i]) {
                verdict = verdict_of(words[i]);
                if (*verdict) /* the next class that is loaded may lie where one was dropped */
                    *verdict = judge_interpreted(words[i]);
                run.interpreted += *verdict < 2;
                run.at_invoke += *verdict == 0;
            }
        }
        from_java = kind != UNWIND_NATIVE && kind != UNWIND_MARK;
        interrupted = kind == UNWIND_SIGNAL;
    }
}

static void see(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    bool java = rec->host_tid < THREADS_MAX * 64 && run.java_tid[rec->host_tid];

    (void)cookie;
    if (rec->user_end >= UNWIND_END_COUNT)
        return;
    run.samples++;
    run.kernel += (rec->flags & SAMPLE_IN_KERNEL) != 0;
    run.ends[rec->user_end]++;
    run.deepest = MAX(run.deepest, rec->user_count);
    for (unsigned i = 0; i < rec->user_count; i++) {
        unsigned kind = (unsigned)(frames[rec->kernel_count + i] >> UNWIND_KIND_SHIFT);

        run.kinds[kind]++;
        if (kind == UNWIND_MARK &&
            (frames[rec->kernel_count + i] & UNWIND_PC_MASK) == UNWIND_MARK_SKIPPED)
            run.skipped++;
        run.frames++;
        if (kind == UNWIND_INTERPRETED)
            i++;
        if (kind == UNWIND_COMPILED || kind == UNWIND_INTERPRETED)
            java = true;
    }
    if (java) {
        run.java++;
        if (run.vm)
            check_callers(frames + rec->kernel_count, rec->user_count);
        run.java_ends[rec->user_end]++;
        if (strncmp(rec->comm, CARRIER, strlen(CARRIER)) == 0) {
            run.carriers++;
            run.carriers_whole += rec->user_end == UNWIND_END_ROOT;
        }
        if (rec->user_end != UNWIND_END_ROOT && run.verbose && run.shown++ < 12)
            show(rec, frames);
    }
}

static void thread(void *cookie, const struct hotspot_thread *t)
{
    (void)cookie;
    if (t->ns_tid < THREADS_MAX * 64)
        run.java_tid[t->ns_tid] = true;
}

/* A call of Java has a PcDesc, and so has one of the VM that may stop; a leaf call has none. */
static void print_relocations(void)
{
    uint64_t java[2] = { 0 };

    for (unsigned inexact = 0; inexact < 2; inexact++) {
        for (unsigned i = RELOCATION_VIRTUAL_CALL; i <= RELOCATION_STATIC_CALL; i++)
            java[inexact] += run.relocations[inexact][i];
    }
    printf("calls of Java by their relocation: %" PRIu64 " of %" PRIu64 " at an exact PcDesc\n",
           java[0], java[0] + java[1]);
    printf("runtime calls by their relocation: %" PRIu64 " at an exact PcDesc, %" PRIu64
           " leaf calls; without one %" PRIu64 ", not told %" PRIu64 "\n",
           run.relocations[0][RELOCATION_RUNTIME_CALL], run.relocations[1][RELOCATION_RUNTIME_CALL],
           run.relocations[0][0] + run.relocations[1][0],
           run.relocations[0][RELOCATION_TYPES] + run.relocations[1][RELOCATION_TYPES]);
}

int main(int argc, char **argv)
{
    struct sampler_event event;
    struct feeder_io io = { .rows_max = SAMPLER_ROWS_MAX,
                            .open_mapped = open_mapped,
                            .put_rows = put_rows,
                            .put_process = put_process };
    struct feeder_process p = { 0 };
    struct sample_stats stats;
    struct feeder_stats fed;
    struct feeder *feeder;
    struct unwind_vm vm;
    struct error err = ERROR_NULL;
    struct ring *ring;
    uint64_t seconds, hz, end_ns, next_ns = 0, begin_ns;
    size_t bytes;
    uint32_t set;
    int mem = -1;

    if (argc < 4 || !span_parse_dec(span_of(argv[2]), &seconds) ||
        !span_parse_dec(span_of(argv[3]), &hz) || hz == 0) {
        fprintf(stderr, "usage: stacks PID SECONDS HZ [-v]\n");
        return 2;
    }
    run.pid = (int)strtol(argv[1], NULL, 10);
    run.verbose = argc > 4;
    begin_ns = clock_monotonic_ns();
    if (sampler_new(-1, RING_BYTES, SAMPLE_USER_MAX, &run.sampler, &err) < 0) {
        fprintf(stderr, "%s (%s)\n", err.msg, err.remedy);
        return 1;
    }
    printf("loaded in %.0f ms\n", (double)(clock_monotonic_ns() - begin_ns) / 1e6);
    if (ring_open(sampler_ring_fd(run.sampler, &bytes), RING_BYTES, &ring, &err) < 0 ||
        feeder_new(&io, &feeder) < 0 || read_maps() < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    p.id.host_pid = run.pid;
    if (libjvm_of(&run.maps)) {
        run.mem = mem = open_proc_file(run.pid, "mem");
        if (hotspot_vm_open(mem, NULL, libjvm_of(&run.maps), &run.vm, &err) != 0)
            fprintf(stderr, "%s\n", err.msg);
    }
    if (run.vm && hotspot_vm_unwinding(run.vm, &vm) == 0)
        p.vm = &vm;
    p.maps = &run.maps;
    begin_ns = clock_monotonic_ns();
    if (feeder_update(feeder, &p, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    feeder_stats(feeder, &fed);
    printf("%" PRIu64 " rows of %" PRIu64 " files in %.0f ms\n", fed.rows, fed.files,
           (double)(clock_monotonic_ns() - begin_ns) / 1e6);
    sampler_filter_process(run.sampler, run.pid, 1);
    if (sampler_describe(EVENT_CPU, SPAN_NULL, /* devices_fd= */ -1, &event, &err) < 0 ||
        sampler_start_event(run.sampler, &event, NSEC_PER_SEC / hz, &set, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    end_ns = clock_monotonic_ns() + seconds * NSEC_PER_SEC;
    while (clock_monotonic_ns() < end_ns) {
        if (clock_monotonic_ns() > next_ns) {
            next_ns = clock_monotonic_ns() + NSEC_PER_SEC;
            if (run.vm)
                hotspot_vm_threads(run.vm, /* what= */ 0, thread, NULL);
            read_maps();
            feeder_update(feeder, &p, &err);
        }
        usleep(10000);
        ring_drain(ring, 1000000, see, NULL);
    }
    sampler_stats(run.sampler, &stats);
    printf("%" PRIu64 " samples, %" PRIu64 " in the kernel, %.1f words each, deepest %" PRIu64
           ", lost %" PRIu64 ", malformed %" PRIu64 "\n",
           run.samples, run.kernel, (double)run.frames / (double)MAX(run.samples, UINT64_C(1)),
           run.deepest, stats.lost_ring + stats.lost_other, ring_malformed(ring));
    printf("%.0f ns a sample in the program\n",
           (double)stats.time_ns / (double)MAX(stats.samples, UINT64_C(1)));
    printf("frames: native %" PRIu64 " compiled %" PRIu64 " interpreted %" PRIu64 " stub %" PRIu64
           " signal %" PRIu64 " mark %" PRIu64 "\n",
           run.kinds[0], run.kinds[1], run.kinds[2], run.kinds[3], run.kinds[4], run.kinds[7]);
    printf("java threads: %" PRIu64 " of %" PRIu64 " whole, %.3f %%\n", run.java_ends[0], run.java,
           100.0 * (double)run.java_ends[0] / (double)MAX(run.java, UINT64_C(1)));
    printf("of these %" PRIu64 " of %" PRIu64 " on carriers of virtual threads whole\n",
           run.carriers_whole, run.carriers);
    printf("callers in compiled code: %" PRIu64 " of %" PRIu64 " at an exact PcDesc, %.2f %%\n",
           run.exact, run.callers,
           100.0 * (double)run.exact / (double)MAX(run.callers, UINT64_C(1)));
    printf("of the others %" PRIu64 " of %" PRIu64 " called the stub above them\n", run.leaf,
           run.callers - run.exact);
    print_relocations();
    printf("interpreted callers: %" PRIu64 " of %" PRIu64 " at an invoke, %.2f %%\n", run.at_invoke,
           run.interpreted,
           100.0 * (double)run.at_invoke / (double)MAX(run.interpreted, UINT64_C(1)));
    printf("native frames skipped: %" PRIu64 "\n", run.skipped);
    for (size_t i = 1; i < UNWIND_END_COUNT; i++) {
        if (run.ends[i])
            printf("  %-12s %8" PRIu64 " all, %8" PRIu64 " java\n", ENDS[i], run.ends[i],
                   run.java_ends[i]);
    }
    feeder_free(feeder);
    ring_close(ring);
    sampler_free(run.sampler);
    hotspot_vm_close(run.vm);
    maps_deinit(&run.maps);
    close_fd(mem);
    return 0;
}
