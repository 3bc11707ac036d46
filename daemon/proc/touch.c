/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/touch.h"

#include <stdatomic.h>
#include <unistd.h>

#define OWNERS 1024 /* processes in turn cost a look into /proc only where they share a place */

/* The number is written last, and before what comes next: odd while a reading is under way. */
static struct {
    atomic_int tid; /* 0: none is watched */
    atomic_uint_least64_t number;
    atomic_int host_pid;
    atomic_uint_least64_t start_ticks;
    atomic_uint_least64_t owner;
    atomic_int what;
    atomic_uint_least64_t seen; /* the reading of the last look; 0: none */
    atomic_uint looks;          /* at it, after the first */
} touch;

static _Thread_local bool is_watched;

/* The watched thread's. */
static int owners_proc_fd;
static struct {
    struct proc_id id;
    uint64_t owner; /* 0: free */
} owners[OWNERS];

/* Known before the first reading of a process: who holds us by it can end it the moment after. */
static uint64_t owner_of(const struct proc_id *id)
{
    size_t i = (uint32_t)id->host_pid % OWNERS;

    if (!owners[i].owner || !proc_id_equal(&owners[i].id, id)) {
        owners[i].id = *id;
        owners[i].owner = proc_owner(owners_proc_fd, id);
    }
    return owners[i].owner;
}

void touch_watch(int proc_fd)
{
    is_watched = true;
    owners_proc_fd = proc_fd;
    atomic_store(&touch.tid, gettid());
}

void touch_begin(const struct proc_id *id, enum touch_what what)
{
    if (!is_watched)
        return;
    atomic_store_explicit(&touch.host_pid, id->host_pid, memory_order_relaxed);
    atomic_store_explicit(&touch.start_ticks, id->start_ticks, memory_order_relaxed);
    atomic_store_explicit(&touch.owner, owner_of(id), memory_order_relaxed);
    atomic_store_explicit(&touch.what, (int)what, memory_order_relaxed);
    atomic_store_explicit(&touch.number,
                          atomic_load_explicit(&touch.number, memory_order_relaxed) + 1,
                          memory_order_release);
}

void touch_end(void)
{
    if (is_watched)
        atomic_store_explicit(&touch.number,
                              atomic_load_explicit(&touch.number, memory_order_relaxed) + 1,
                              memory_order_release);
}

const char *touch_name(enum touch_what what)
{
    return what == TOUCH_MEMORY ? "memory" : what == TOUCH_CMDLINE ? "command line" : "mappings";
}

static bool read_stand(unsigned least, struct touch_stand *ret)
{
    uint64_t seen = atomic_load(&touch.seen);
    struct touch_stand s = { .id = { .host_pid = atomic_load(&touch.host_pid),
                                     .start_ticks = atomic_load(&touch.start_ticks) },
                             .owner = atomic_load(&touch.owner),
                             .what = (enum touch_what)atomic_load(&touch.what),
                             .seconds = atomic_load(&touch.looks) };

    if (s.seconds < least || seen != atomic_load(&touch.number))
        return false;
    *ret = s;
    return true;
}

bool touch_look(int proc_fd, struct touch_stand *ret)
{
    uint64_t number = atomic_load(&touch.number);
    struct proc_stat stat;

    if (number % 2 == 0 || proc_read_stat(proc_fd, atomic_load(&touch.tid), &stat) != 0 ||
        (stat.state != 'D' && stat.state != 'S')) { /* FUSE's first wait is S */
        atomic_store(&touch.looks, 0);
        atomic_store(&touch.seen, 0);
    } else if (number != atomic_load(&touch.seen)) {
        atomic_store(&touch.looks, 0);
        atomic_store(&touch.seen, number);
    } else {
        atomic_fetch_add(&touch.looks, 1);
    }
    return read_stand(1, ret);
}

bool touch_stands(unsigned looks, struct touch_stand *ret)
{
    return read_stand(looks, ret);
}
