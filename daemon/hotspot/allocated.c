/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look reads the counters while the VM runs. A thread may replace its buffer during the read, so
 * that it seems to have allocated a buffer more or less; the next look is right again. So flamed
 * keeps the greatest number that any look found for a thread.
 */
#include "hotspot/allocated.h"

#include "base/clock.h"
#include "hotspot/vm.h"

#define ALLOCATED_EVERY_NS (NSEC_PER_SEC / 2)
#define ALLOCATED_SHARE 500 /* looks take at most 1 / 500 of a processor's time */
#define ALLOCATED_TRIES 3
#define ALLOCATED_FIRST_LOOKS 4 /* the first looks come soon, so that there is a rate */

ORDER_FUNCTION(compare, struct allocated_thread,
               COMPARE(x->thread, y->thread) ?: COMPARE(x->tid, y->tid))

/* Returns the number of threads that the last look of @a found and that @now lacks. If @ret is not
 * NULL, copies them behind the @count threads in it. */
static size_t missing(const struct allocated *a, const struct allocated_thread *now, size_t count,
                      struct allocated_thread *ret)
{
    size_t n = 0;

    for (size_t i = 0; i < a->count; i++) {
        const struct allocated_thread *old = &a->threads[i];

        if (old->missed || bsearch(old, now, count, sizeof(*now), compare))
            continue;
        if (ret) {
            ret[count + n] = *old;
            ret[count + n].missed = true;
        }
        n++;
    }
    return n;
}

void allocated_add(struct allocated *a, struct allocated_thread *now, size_t count)
{
    struct allocated_thread *all;
    size_t gone;

    qsort(now, count, sizeof(*now), compare);
    for (size_t i = 0; i < count; i++) {
        struct allocated_thread *t = &now[i];
        const struct allocated_thread *old =
            a->count ? bsearch(t, a->threads, a->count, sizeof(*t), compare) : NULL;
        uint64_t before = old ? old->bytes : 0;

        t->missed = false;
        t->bytes = MAX(MIN(t->bytes, ALLOCATED_BYTES_MAX), before);
        a->bytes = MIN(a->bytes + t->bytes - before, (uint64_t)INT64_MAX);
    }
    gone = missing(a, now, count, NULL);
    all = gone ? realloc(now, (count + gone) * sizeof(*now)) : now;
    if (gone && all) {
        missing(a, all, count, all);
        count += gone;
        qsort(all, count, sizeof(*all), compare);
    }
    free(a->threads);
    a->threads = all ? all : now;
    a->count = count;
}

/* ---- of a running JVM ---- */

struct allocated_look {
    struct hotspot_vm *vm;
    struct alloc_vm at;
    struct allocated_thread *threads; /* owned */
    size_t count, room;
};

/* Adds a thread to the look. Skips an unreadable one: it is ending, or starting. */
static int see_thread(void *cookie, uint64_t thread)
{
    struct allocated_look *look = cookie;
    struct hotspot_memory *m = &look->vm->memory;
    uint64_t bytes = 0, start = 0, top = 0, end = 0;
    int32_t tid;
    int r = thread_tid(look->vm, thread, &tid) ?:
            memory_u64(m, thread + look->at.allocated_bytes, &bytes) ?:
            memory_u64(m, thread + look->at.tlab_start, &start) ?:
            memory_u64(m, thread + look->at.tlab_top, &top) ?:
            memory_u64(m, thread + look->at.tlab_end, &end);

    if (r < 0)
        return r == -EFAULT ? 0 : r;
    if (look->count == ALLOCATED_THREADS_MAX)
        return -E2BIG;
    if (!array_grow(&look->threads, &look->room, look->count + 1, 64))
        return -ENOMEM;
    if (start <= top && top <= end)
        bytes += top - start;
    look->threads[look->count++] =
        (struct allocated_thread){ .thread = thread, .bytes = bytes, .tid = tid };
    return 0;
}

/* Reads the head of the list. The head of a linked list changes when threads begin; that of an
 * array changes also when they end. */
static int read_head(struct hotspot_vm *vm, uint64_t *ret)
{
    uint64_t at = vm->layout.thread_smr_list_at;

    return memory_read_direct(&vm->memory, at ? at : vm->layout.thread_list_at, ret, sizeof(*ret));
}

/* Reads all threads of one moment. Return: 0; -EAGAIN: the list changed during the read; -errno. */
static int see_all(struct allocated_look *look, int64_t least)
{
    uint64_t before, after;
    int r = read_head(look->vm, &before);

    look->count = 0;
    memory_begin(&look->vm->memory);
    if (r == 0)
        r = threads_visit(look->vm, see_thread, look) ?: read_head(look->vm, &after);
    /* In a linked list, a thread that ends may cut the walk short. */
    if (r == 0 && (before != after || (int64_t)look->count < least))
        r = -EAGAIN;
    return r;
}

void allocated_read(struct hotspot_vm *vm, int64_t threads_live, uint64_t look_ns)
{
    struct allocated_look look = { .vm = vm };
    struct allocated *a = &vm->allocated;
    uint64_t now_ns = clock_monotonic_ns(), cpu_ns;
    int r = -EAGAIN;

    if (now_ns < a->next_ns || (a->looks >= ALLOCATED_FIRST_LOOKS && now_ns - a->at_ns < look_ns) ||
        !hotspot_vm_allocation(vm, &look.at))
        return;
    cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; r == -EAGAIN && i < ALLOCATED_TRIES; i++)
        r = see_all(&look, threads_live);
    now_ns = clock_monotonic_ns();
    cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
    a->next_ns = now_ns + MAX(ALLOCATED_EVERY_NS, cpu_ns * ALLOCATED_SHARE);
    if (r == 0 && look.count) {
        allocated_add(a, TAKE_PTR(look.threads), look.count);
        a->at_ns = now_ns;
        a->looks++;
    }
    free(look.threads);
}
