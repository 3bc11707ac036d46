/* SPDX-License-Identifier: Apache-2.0 */
/* A feeder with tables in memory and the files of this process, for test_feeder.c. */
#pragma once

#include "suite.h"

#include "unwind_tables/table_loader.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_identity.h"
#include "tests/maps_of.h"
#include "unwind_tables/ehframe.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define ROWS 1000000u

static struct unwind_row rows[ROWS];
static struct unwind_process last;
static int32_t last_pid;
static unsigned opened, vdso_opened, row_puts, process_puts, forgotten;
static const char *file; /* the file behind every mapping; NULL: the one in the maps */
static int file_access;  /* how it is opened */
static int open_result;
static struct maps maps;
static struct feeder *feeder;
static struct shares copies;
static bool copied; /* true: the broker gives copies of files */
static uint32_t rows_max = ROWS;

/* Returns a copy, as the broker does: another file each time. */
static int open_vdso(void)
{
    const struct mapping *m = maps_find(&maps, getauxval(AT_SYSINFO_EHDR));
    int fd = memfd_create("vdso", MFD_CLOEXEC);

    ck_assert(fd >= 0 && m);
    ck_assert(write(fd, (const void *)(uintptr_t)m->start, m->end - m->start) > 0);
    return fd;
}

/* Returns a copy like the broker's, of a file without code. */
static int open_copy(void)
{
    int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert(fd >= 0 && ftruncate(fd, 65536) == 0);
    ck_assert(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0);
    return fd;
}

static int open_mapped(struct broker *ctx, const struct proc_id *id, uint64_t start, uint64_t end,
                       int *ret_fd, struct error *err)
{
    char path[4096];

    (void)ctx;
    (void)id;
    (void)end;
    (void)err;
    opened++;
    if (open_result)
        return open_result;
    if (file) {
        *ret_fd = open(file, file_access | O_CLOEXEC);
        return *ret_fd < 0 ? -errno : 0;
    }
    if (span_eq_str(maps_find(&maps, start)->path, "[vdso]")) {
        vdso_opened++;
        *ret_fd = open_vdso();
        return 0;
    }
    if (copied) {
        *ret_fd = open_copy();
        return 0;
    }
    *ret_fd =
        open(span_copy(maps_find(&maps, start)->path, path, sizeof(path)), O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? -errno : 0;
}

static int put_rows(struct broker *ctx, uint32_t first, const struct unwind_row *from,
                    uint32_t count, struct error *err)
{
    (void)ctx;
    (void)err;
    ck_assert(first <= rows_max && count <= rows_max - first);
    memcpy(rows + first, from, count * sizeof(*from));
    row_puts++;
    return 0;
}

static int put_process(struct broker *ctx, int32_t host_pid, const struct unwind_process *p,
                       struct error *err)
{
    (void)ctx;
    (void)err;
    if (!p) {
        forgotten++;
        return 0;
    }
    last = *p;
    last_pid = host_pid;
    process_puts++;
    return 0;
}

static void read_own_maps(void)
{
    _cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

    maps_deinit(&maps);
    ck_assert_int_eq(maps_of(fd, &maps), 0);
}

static void new_feeder(uint32_t max, bool background)
{
    struct feeder_io io = { .rows_max = max,
                            .background = background,
                            .copies = &copies,
                            .open_mapped = open_mapped,
                            .put_rows = put_rows,
                            .put_process = put_process };

    rows_max = max;
    ck_assert_int_eq(feeder_new(&io, &feeder), 0);
}

static void setup(void)
{
    opened = vdso_opened = row_puts = process_puts = forgotten = 0;
    open_result = 0;
    file = NULL;
    file_access = O_RDONLY;
    read_own_maps();
    copied = false;
    shares_init(&copies, UINT64_C(64) << 20);
    new_feeder(ROWS, false);
}

static void teardown(void)
{
    feeder = feeder_free(feeder);
    maps_deinit(&maps);
}

static int update(int32_t pid, const struct unwind_vm *vm)
{
    struct feeder_process p = { .id = { .host_pid = pid }, .exec_id = 3, .maps = &maps, .vm = vm };

    return feeder_update(feeder, &p, NULL);
}
