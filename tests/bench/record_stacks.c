/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_stacks PID MOST: stops threads of the bench's JVM again and again, and walks each stack
 * with the unwinder's host build. It writes those that differ from all before, at most MOST: the
 * registers, every word that the walk read, and the result.
 * tests/unit/unwind/test_unwind_recorded.c replays them. Needs the right to trace; never use it on
 * a JVM that matters.
 */
#include "unwind_host.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "hotspot/hotspot.h"
#include "proc/proc.h"
#include "tests/read_jvm.h"
#include "unwind_tables/table_loader.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#define ROWS_MAX (1u << 20)
#define READS_MAX 20000
#define SEEN_MAX 4096

static struct unwind_row rows[ROWS_MAX];
static struct unwind_process process;
static struct unwind_walk w;
static struct maps maps;
static struct hotspot_vm *vm;
static char text[READS_MAX * 40];
static size_t text_n;
static struct piece {
    uint64_t low;
    uint32_t n;
} pieces[READS_MAX]; /* pieces of this stack that are written already */
static uint32_t row_seen[READS_MAX];
static size_t piece_count, row_count;
static uint64_t seen[SEEN_MAX];
static size_t seen_count;

static int open_mapped(struct broker *ctx, const struct proc_id *id, uint64_t start, uint64_t end,
                       int *ret_fd, struct error *err)
{
    char path[96];

    (void)ctx, (void)err;
    snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, id->host_pid, start,
             end);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

static int put_rows(struct broker *ctx, uint32_t first, const struct unwind_row *from,
                    uint32_t count, struct error *err)
{
    (void)ctx, (void)err;
    memcpy(rows + first, from, count * sizeof(*from));
    return 0;
}

static int put_process(struct broker *ctx, int32_t host_pid, const struct unwind_process *p,
                       struct error *err)
{
    (void)ctx, (void)host_pid, (void)err;
    if (p)
        process = *p;
    return 0;
}

static void add(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void add(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (text_n < sizeof(text))
        text_n += (size_t)vsnprintf(text + text_n, sizeof(text) - text_n, fmt, ap);
    va_end(ap);
}

static void add_hex(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add("%02x", ((const uint8_t *)p)[i]);
}

/* Writes each piece once per stack. */
static void on_read(uint64_t from, const void *p, uint32_t bytes)
{
    for (size_t i = 0; i < piece_count; i++) {
        if (from >= pieces[i].low && from + bytes <= pieces[i].low + pieces[i].n)
            return;
    }
    if (piece_count < READS_MAX)
        pieces[piece_count++] = (struct piece){ from, bytes };
    add("m %" PRIx64 " ", from);
    add_hex(p, bytes);
    add("\n");
}

static void on_row(uint32_t index, const struct unwind_row *row)
{
    for (size_t i = 0; i < row_count; i++) {
        if (row_seen[i] == index)
            return;
    }
    if (row_count < READS_MAX)
        row_seen[row_count++] = index;
    add("r %u ", index);
    add_hex(row, sizeof(*row));
    add("\n");
}

/* Returns a hash of the leaf and the kinds of the first frames: stacks with the same hash count as
 * alike. */
static uint64_t looks(uint32_t words)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ w.end;

    for (uint32_t i = 0; i < MIN(words, 6u); i++) {
        unsigned kind = (unsigned)(host.out[i] >> UNWIND_KIND_SHIFT);
        struct hotspot_code code = { .name = "" };

        if (kind == UNWIND_STUB)
            hotspot_code_find(vm, host.out[i] & UNWIND_PC_MASK, &code);
        h = (h ^ kind) * UINT64_C(0x100000001b3);
        for (const char *c = code.name; *c; c++)
            h = (h ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
        i += kind == UNWIND_INTERPRETED;
    }
    return h;
}

/* Writes a comment for readers of the file. */
static void describe(uint32_t words)
{
    static const char *const KINDS[8] = { "native", "compiled", "interpreted", "stub",
                                          "signal", "?",        "?",           "mark" };

    printf("#");
    for (uint32_t i = 0; i < words; i++) {
        unsigned kind = (unsigned)(host.out[i] >> UNWIND_KIND_SHIFT);
        struct hotspot_code code = { .name = "" };

        if (kind == UNWIND_STUB)
            hotspot_code_find(vm, host.out[i] & UNWIND_PC_MASK, &code);
        if (i < 24)
            printf(" %s%s%.24s", KINDS[kind], code.name[0] ? ":" : "", code.name);
        i += kind == UNWIND_INTERPRETED;
    }
    printf("\n");
}

/* Reads the registers of a stopped thread. */
static bool read_registers(int tid, struct host_registers *ret)
{
    struct user_regs_struct u;
    struct iovec to = { &u, sizeof(u) };

    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &to) < 0)
        return false;
#ifdef UNWIND_AARCH64
    *ret = (struct host_registers){ .pc = u.pc,
                                    .sp = u.sp,
                                    .fp = u.regs[29],
                                    .more.link = u.regs[30],
                                    .more.method = u.regs[12],
                                    .more.bcp = u.regs[22],
                                    .more.thread = u.regs[28],
                                    .more.sender = u.regs[19],
                                    .more.sender_17 = u.regs[13] };
#else
    *ret = (struct host_registers){ .pc = u.rip,
                                    .sp = u.rsp,
                                    .fp = u.rbp,
                                    .more.link = u.rax,
                                    .more.method = u.rbx,
                                    .more.bcp = u.r13,
                                    .more.thread = u.r15 };
#endif
    return true;
}

/* Writes the registers that a walk begins with. */
static void put_registers(const struct host_registers *r)
{
    printf("g %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64,
           r->pc, r->sp, r->fp, r->more.link, r->more.method, r->more.bcp, r->more.thread);
#ifdef UNWIND_AARCH64
    printf(" %" PRIx64 " %" PRIx64, r->more.sender, r->more.sender_17);
#endif
}

static bool record(int tid)
{
    struct host_registers r;
    uint64_t look;
    uint32_t words;
    bool same = true;

    if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
        return false;
    ptrace(PTRACE_INTERRUPT, tid, 0, 0);
    if (waitpid(tid, NULL, __WALL) != tid || !read_registers(tid, &r)) {
        ptrace(PTRACE_DETACH, tid, 0, 0);
        return false;
    }
    memset(host.known, 0, sizeof(host.known));
    text_n = piece_count = row_count = 0;
    words = host_walk(&w, &process, &r, 1, HOST_WORDS_MAX);
    for (uint32_t tick = 2; tick <= 4; tick++) /* records the words of later walks, too */
        same &= host_walk(&w, &process, &r, tick / 2, HOST_WORDS_MAX) == words;
    look = looks(words);
    ptrace(PTRACE_DETACH, tid, 0, 0);
    for (size_t i = 0; i < seen_count; i++) {
        if (seen[i] == look)
            return false;
    }
    if (!same || text_n >= sizeof(text) || words > 120 || w.end != UNWIND_END_ROOT ||
        seen_count == SEEN_MAX)
        return false;
    seen[seen_count++] = look;
    describe(words);
    put_registers(&r);
    printf("\n%.*sw", (int)text_n, text);
    for (uint32_t i = 0; i < words; i++)
        printf(" %" PRIx64, host.out[i]);
    printf("\n");
    return true;
}

static int read_process(int pid)
{
    struct feeder_io io = { .rows_max = ROWS_MAX,
                            .open_mapped = open_mapped,
                            .put_rows = put_rows,
                            .put_process = put_process };
    struct feeder_process p = { .id = { .host_pid = pid }, .maps = &maps };
    struct error err = ERROR_NULL;
    struct feeder *feeder;
    struct unwind_vm v;
    int fd = open_proc_file(pid, "maps");

    host.mem_fd = open_proc_file(pid, "mem");
    if (host.mem_fd < 0 || fd < 0 || maps_of(fd, &maps) < 0 || feeder_new(&io, &feeder) < 0)
        return -EIO;
    close(fd);
    hotspot_vm_open(host.mem_fd, NULL, libjvm_of(&maps), &vm, &err);
    if (!vm || hotspot_vm_unwinding(vm, &v) < 0)
        return -EIO;
    p.vm = &v;
    return feeder_update(feeder, &p, &err);
}

int main(int argc, char **argv)
{
    uint64_t pid, most, end_ns = clock_monotonic_ns() + 60 * NSEC_PER_SEC;
    size_t written = 0;
    char path[64];

    if (argc != 3 || !span_parse_dec(span_of(argv[1]), &pid) ||
        !span_parse_dec(span_of(argv[2]), &most) || read_process((int)pid) < 0) {
        fprintf(stderr, "usage: record_stacks PID MOST\n");
        return 2;
    }
    host.region_count = 1;
    host.regions[0] = (struct host_region){ 0, UINT64_C(1) << UNWIND_PC_BITS, NULL };
    host.rows = rows;
    host.row_count = ROWS_MAX;
    host.on_read = on_read;
    host.on_row = on_row;
    printf("v ");
    for (size_t i = 0; i < offsetof(struct unwind_vm, locks); i++)
        printf("%02x", ((const uint8_t *)&process.vm)[i]);
    printf("\n");
    for (uint32_t i = 0; i < process.mapping_count; i++)
        printf("a %" PRIx64 " %" PRIx64 " %" PRIx64 " %u %u\n", process.mappings[i].start,
               process.mappings[i].end, process.mappings[i].bias, process.mappings[i].first_row,
               process.mappings[i].row_count);
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    while (written < most && clock_monotonic_ns() < end_ns) {
        DIR *dir = opendir(path);
        const struct dirent *e;
        uint64_t tid;

        if (!dir)
            break;
        while (written < most && (e = readdir(dir))) {
            if (span_parse_dec(span_of(e->d_name), &tid))
                written += record((int)tid);
        }
        closedir(dir);
    }
    fprintf(stderr, "%zu stacks\n", written);
    return 0;
}
