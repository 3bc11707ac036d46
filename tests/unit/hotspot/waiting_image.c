/* SPDX-License-Identifier: Apache-2.0 */
#include "waiting_image.h"

#include "proc/proc.h"

#include <unistd.h>

static const struct unwind_row ROWS[] = {
    [WAITING_SP] = { .pc = WAITING_SP * WAITING_TEXT_ROW, .base = UNWIND_BASE_SP, .cfa = 2 },
    [WAITING_FP] = { .pc = WAITING_FP * WAITING_TEXT_ROW,
                     .base = UNWIND_BASE_FP,
                     .cfa = 2,
                     .fp = -2 },
    [WAITING_ROOT] = { .pc = WAITING_ROOT * WAITING_TEXT_ROW, .base = UNWIND_BASE_ROOT },
    [WAITING_SIGNAL] = { .pc = WAITING_SIGNAL * WAITING_TEXT_ROW, .base = UNWIND_BASE_SIGNAL },
    [WAITING_PLT] = { .pc = WAITING_PLT * WAITING_TEXT_ROW, .base = UNWIND_BASE_PLT, .cfa = 1 },
    [WAITING_FP_LOAD] = { .pc = WAITING_FP_LOAD * WAITING_TEXT_ROW,
                          .base = UNWIND_BASE_FP_LOAD,
                          .cfa = -1 },
    [WAITING_SP_LOAD] = { .pc = WAITING_SP_LOAD * WAITING_TEXT_ROW,
                          .base = UNWIND_BASE_SP_LOAD,
                          .cfa = 2 },
    [WAITING_NONE] = { .pc = WAITING_NONE * WAITING_TEXT_ROW, .base = UNWIND_BASE_NONE },
};

static ssize_t copy(const void *bytes, uint64_t low, size_t size, uint64_t address, void *buf,
                    size_t n)
{
    if (address < low || address - low >= size)
        return -EIO;
    n = MIN(n, size - (address - low));
    memcpy(buf, (const uint8_t *)bytes + (address - low), n);
    return (ssize_t)n;
}

static ssize_t read_image(void *cookie, uint64_t address, void *buf, size_t n)
{
    const struct waiting_image *w = cookie;
    ssize_t got;

    if (w->gone)
        return 0;
    got = copy(w->stack, WAITING_STACK, sizeof(w->stack), address, buf, n);
    return got >= 0 ? got : copy(w->code, WAITING_CODE, sizeof(w->code), address, buf, n);
}

struct waiting_image *waiting_image_new(int proc_fd)
{
    struct waiting_image *w = calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    memory_init(&w->vm.memory, read_image, w);
    atomic_init(&w->vm.users, 1);
    w->vm.id.host_pid = (int32_t)getpid();
    w->batch.proc_fd = proc_fd;
    w->batch.rows = ROWS;
    w->batch.row_count = ARRAY_SIZE(ROWS);
    w->batch.max_words = SAMPLE_USER_MAX;
    w->batch.process = (struct unwind_process){
        .slot = 1,
        .mapping_count = 2,
        .mappings = { { WAITING_TEXT, WAITING_TEXT + WAITING_FAR * WAITING_TEXT_ROW, WAITING_TEXT,
                        0, ARRAY_SIZE(ROWS) },
                      { WAITING_TEXT + WAITING_FAR * WAITING_TEXT_ROW,
                        WAITING_TEXT + WAITING_ROWS * WAITING_TEXT_ROW, WAITING_TEXT,
                        UINT32_MAX - 2, 2 } },
    };
    return w;
}

struct waiting_image *waiting_image_free(struct waiting_image *w)
{
    free(w);
    return NULL;
}

int waiting_image_walk(struct waiting_image *w)
{
    struct hotspot_waiting_batch *b = &w->batch;

    return hotspot_walk_waiting(&w->vm, &b);
}

struct hotspot_waiting *waiting_image_add(struct waiting_image *w, uint64_t pc, uint64_t sp,
                                          uint64_t fp)
{
    struct hotspot_waiting *t = &w->batch.threads[w->batch.count++];
    uint64_t runs = 0;

    *t = (struct hotspot_waiting){ .host_tid = (int32_t)gettid() };
    if (proc_read_runs(w->batch.proc_fd, w->vm.id.host_pid, t->host_tid, &runs) == 0)
        t->registers[SAMPLE_REGISTER_RUNS] = runs;
    t->registers[SAMPLE_REGISTER_PC] = pc;
    t->registers[SAMPLE_REGISTER_SP] = sp;
    t->registers[SAMPLE_REGISTER_FP] = fp;
    return t;
}
