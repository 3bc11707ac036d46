/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/: calls that are made in one turn, pages kept for a moment, and abandoned calls. */
#include "suite.h"

#include "hotspot/vm.h"
#include "proc/stall_readers.h"

#include <fcntl.h>
#include <unistd.h>

static int proc_fd, reads;
static atomic_int unread_ahead; /* reads that each would cost the engine's thread a turn */
static atomic_int hang_fd = -1; /* a read of this fd hangs; -1: none hangs */
static char target[MEMORY_PAGE * 3] __attribute__((aligned(4096)));

static ssize_t read_target(void *cookie, uint64_t address, void *buf, size_t n)
{
    char byte;

    (void)cookie;
    if (address < MEMORY_PAGE)
        return -EFAULT;
    reads++;
    unread_ahead += readers_are_used();
    if (hang_fd >= 0 && read(hang_fd, &byte, 1) < 0)
        return -errno;
    memcpy(buf, (const char *)(uintptr_t)address, n); /* NOLINT(performance-no-int-to-ptr) */
    return (ssize_t)n;
}

/* Reads what lies at the same place of @cookie. */
static ssize_t read_other(void *cookie, uint64_t address, void *buf, size_t n)
{
    memcpy(buf, (const char *)cookie + (address - (uintptr_t)target), n);
    return (ssize_t)n;
}

static struct hotspot_vm *new_vm(void)
{
    struct hotspot_vm *vm = calloc(1, sizeof(*vm));

    ck_assert_ptr_nonnull(vm);
    atomic_init(&vm->users, 1);
    vm->id = (struct proc_id){ .host_pid = INT32_MAX - 3, .start_ticks = 1 };
    memory_init(&vm->memory, read_target, NULL);
    return vm;
}

static void setup(void)
{
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    readers_use(proc_fd);
    reads = 0;
    unread_ahead = 0;
    hang_fd = -1;
}

static void teardown(void)
{
    close(proc_fd);
}

static int sum(struct hotspot_vm *vm, void *arg)
{
    uint32_t *offsets = arg;
    uint64_t v;
    int total = 0;

    memory_continue(&vm->memory);
    for (int i = 0; i < 2; i++) {
        int r = memory_number(&vm->memory, (uintptr_t)target + offsets[i], 1, &v);

        if (r < 0)
            return r;
        total += (int)v;
    }
    return total;
}

/* Answers come from pages read after the sample, and not long ago. */
START_TEST(keeps_pages_for_a_moment)
{
    struct hotspot_vm *vm = new_vm();
    uint32_t near[] = { 0, 8 }, far[] = { 0, 4096 };
    uint64_t before_ns = clock_monotonic_ns();

    target[0] = 1;
    target[8] = 2;
    target[4096] = 3;
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 3);
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 3);
    ck_assert_int_eq(reads, 2); /* no moment is set: each call reads again */

    memory_moment(&vm->memory, before_ns, before_ns + 1);
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 3);
    target[0] = 11;
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 3);
    ck_assert_int_eq(vm_ask(vm, sum, far, sizeof(far)), 4);
    ck_assert_int_eq(reads, 4);
    memory_moment(&vm->memory, before_ns + 1, before_ns + 1000); /* another sample of that moment */
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 3);
    ck_assert_int_eq(reads, 4);

    memory_moment(&vm->memory, before_ns + 2, before_ns + 1000); /* read before the sample */
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 13);
    ck_assert_int_eq(reads, 5);
    target[0] = 21;
    memory_moment(&vm->memory, before_ns, before_ns + 1000 + MEMORY_MOMENT_NS); /* long ago */
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 23);
    target[0] = 31;
    memory_moment(&vm->memory, 0, 0);
    ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 33);
    hotspot_vm_close(vm);
}
END_TEST

/* More pages than lines of the cache. The last page read is right; an earlier one is read again. */
START_TEST(pages_that_share_lines_are_told_apart)
{
    struct hotspot_vm *vm = new_vm();
    char *big = aligned_alloc(MEMORY_PAGE, MEMORY_PAGE * MEMORY_LINES * 3);
    uint64_t v;

    ck_assert_ptr_nonnull(big);
    memset(big, 0, MEMORY_PAGE * MEMORY_LINES * 3);
    for (unsigned i = 0; i < MEMORY_LINES * 3; i++)
        memcpy(big + i * MEMORY_PAGE, &i, sizeof(i));
    memory_begin(&vm->memory);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < MEMORY_LINES * 3; i++) {
            unsigned at = i * 37 % (MEMORY_LINES * 3);

            ck_assert_int_eq(memory_number(&vm->memory, (uintptr_t)big + at * MEMORY_PAGE, 4, &v),
                             0);
            ck_assert_uint_eq(v, at);
        }
    }
    free(big);
    hotspot_vm_close(vm);
}
END_TEST

/* Memories share the cache of a thread: each reads its own pages. */
START_TEST(memories_have_pages_of_their_own)
{
    static char others[MEMORY_PAGE * 3] __attribute__((aligned(4096)));
    struct hotspot_memory one, other;
    uint64_t v, address = (uintptr_t)target;

    memory_init(&one, read_target, NULL);
    memory_init(&other, read_other, others);
    target[0] = 1;
    others[0] = 2;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(memory_number(&one, address, 1, &v), 0);
        ck_assert_uint_eq(v, 1);
        ck_assert_int_eq(memory_number(&one, address + MEMORY_PAGE, 1, &v), 0);
        ck_assert_int_eq(memory_number(&other, address, 1, &v), 0);
        ck_assert_uint_eq(v, 2);
    }
    /* What the other one has overwritten is not kept. */
    one.only_kept = true;
    ck_assert_int_eq(memory_number(&one, address, 1, &v), -EAGAIN);
    ck_assert(one.missed);
}
END_TEST

/* A question that is not answered by what is kept leaves that as it was. */
START_TEST(a_question_in_vain_drops_no_page)
{
    size_t row = MEMORY_PAGE * MEMORY_LINES; /* pages at this distance share their lines */
    struct hotspot_vm *vm = new_vm();
    char *big = aligned_alloc(MEMORY_PAGE, row * (MEMORY_WAYS + 1));
    uint64_t v;

    ck_assert_ptr_nonnull(big);
    memset(big, 0, row * (MEMORY_WAYS + 1));
    memory_moment(&vm->memory, 1, 2);
    for (size_t i = 0; i < MEMORY_WAYS; i++)
        ck_assert_int_eq(memory_number(&vm->memory, (uintptr_t)big + i * row, 1, &v), 0);
    ck_assert_int_eq(reads, MEMORY_WAYS);
    vm->memory.only_kept = true;
    ck_assert_int_eq(memory_number(&vm->memory, (uintptr_t)big + MEMORY_WAYS * row, 1, &v),
                     -EAGAIN);
    ck_assert(vm->memory.missed);
    for (size_t i = 0; i < MEMORY_WAYS; i++)
        ck_assert_int_eq(memory_number(&vm->memory, (uintptr_t)big + i * row, 1, &v), 0);
    ck_assert_int_eq(reads, MEMORY_WAYS);
    free(big);
    hotspot_vm_close(vm);
}
END_TEST

/* A call that reads ahead. It ends at a word that is not kept. */
static int keep_both(struct hotspot_vm *vm, void *arg)
{
    const uint32_t *offsets = arg;
    uint64_t v;

    memory_continue(&vm->memory);
    for (int i = 0; i < 2 && !vm->memory.missed; i++)
        memory_number(&vm->memory, (uintptr_t)target + offsets[i], 1, &v);
    return 0;
}

/* Words that are not kept are read, all in one turn. */
START_TEST(a_question_in_vain_is_made_in_full)
{
    struct hotspot_vm *vm = new_vm();
    uint32_t far[] = { 0, 4096 };
    uint64_t before_ns = clock_monotonic_ns();

    target[0] = 1;
    target[4096] = 3;
    memory_moment(&vm->memory, before_ns, before_ns + 1);
    ck_assert_int_eq(vm_ask(vm, keep_both, far, sizeof(far)), 0);
    ck_assert_int_eq(reads, 2);
    ck_assert_int_eq(vm_ask(vm, sum, far, sizeof(far)), 4);
    ck_assert_int_eq(reads, 2);
    hotspot_vm_close(vm);
}
END_TEST

static int hang(struct hotspot_vm *vm, void *arg)
{
    char byte = 0;

    (void)arg;
    memory_begin(&vm->memory);
    return (int)read(hang_fd, &byte, 1);
}

static void wait_for_none(void)
{
    uint64_t until_ns = clock_monotonic_ns() + 10 * NSEC_PER_SEC;
    struct readers_stats s;

    do {
        usleep(1000);
        readers_stats(&s);
    } while (s.held && clock_monotonic_ns() < until_ns);
    ck_assert_uint_eq(s.held, 0);
}

/* Until the abandoned call returns, its memory is neither used nor freed. */
START_TEST(a_call_that_is_left_keeps_the_vm)
{
    struct hotspot_vm *vm = new_vm();
    uint32_t near[] = { 0, 8 };
    struct hotspot_method m;
    struct hotspot_code code = { .kind = HOTSPOT_CODE_COMPILED };
    uint64_t v;
    int fds[2];

    target[0] = target[8] = 1;
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
        hang_fd = fds[0];
        ck_assert_int_eq(vm_call(vm, hang, near, sizeof(near)), -ETIMEDOUT);
        ck_assert(vm_is_left(vm));
        hotspot_vm_moment(vm, clock_monotonic_ns());
        ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), -ETIMEDOUT);
        ck_assert_int_lt(hotspot_method_read(vm, 0x1000, &m), 0);
        ck_assert_int_eq(hotspot_code_find(vm, 0x1000, &code), HOTSPOT_NO_CODE);
        ck_assert_int_lt(hotspot_code_still(vm, &code), 0);
        ck_assert_int_lt(hotspot_vm_flag(vm, "UseG1GC", &v), 0);
        ck_assert_int_eq(reads, round);
        ck_assert_uint_eq(hotspot_vm_unanswered(vm), 6 * (round + 1));
        if (round == 1)
            hotspot_vm_close(vm);
        hang_fd = -1;
        ck_assert_int_eq(write(fds[1], "x", 1), 1);
        wait_for_none();
        if (round == 0) {
            ck_assert(!vm_is_left(vm));
            ck_assert_int_eq(vm_ask(vm, sum, near, sizeof(near)), 2);
            ck_assert_uint_eq(hotspot_vm_unanswered(vm), 6);
        }
        close(fds[0]);
        close(fds[1]);
    }
}
END_TEST

static int hang_and_write(struct hotspot_vm *vm, void *arg)
{
    int r = hang(vm, arg);

    *(uint64_t *)arg += 1; /* the sanitizer sees it if that is freed */
    return r;
}

/* A call works on the given memory itself, which it keeps if it is left. */
START_TEST(a_given_argument_goes_with_the_call)
{
    struct hotspot_vm *vm = new_vm();
    uint64_t *own = calloc(1, sizeof(*own));
    void *arg = own;
    int fds[2];

    ck_assert_ptr_nonnull(own);
    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    hang_fd = fds[0];
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    ck_assert_int_eq(vm_call_given(vm, hang_and_write, &arg, false), 1);
    ck_assert_ptr_eq(arg, own);
    ck_assert_uint_eq(*own, 1);
    ck_assert_int_eq(vm_call_given(vm, hang_and_write, &arg, false), -ETIMEDOUT);
    ck_assert_ptr_null(arg);
    arg = own = calloc(1, sizeof(*own));
    ck_assert_int_eq(vm_call_given(vm, hang_and_write, &arg, false), -ETIMEDOUT);
    ck_assert_ptr_eq(arg, own); /* it has not begun */
    free(own);
    hotspot_vm_close(vm);
    hang_fd = -1;
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    wait_for_none();
    close(fds[0]);
    close(fds[1]);
}
END_TEST

/* ---- lists of threads ---- */

#define LISTED 40

/* A JavaThread with a separate OSThread. */
struct made_java_thread {
    uint64_t next, osthread, stack_base, stack_size, object;
    char page[MEMORY_PAGE];
    uint32_t tid;
};

/* Whole pages, as the reads are of whole pages. */
static struct {
    uint64_t first;
    struct made_java_thread all[LISTED];
} listed __attribute__((aligned(4096)));

static uint64_t address_of(const void *p)
{
    return (uintptr_t)p;
}

static struct hotspot_vm *new_vm_of_threads(void)
{
    struct hotspot_vm *vm = new_vm();
    struct hotspot_layout *l = &vm->layout;

    for (size_t i = 0; i < LISTED; i++) {
        struct made_java_thread *t = &listed.all[i];

        *t = (struct made_java_thread){ .osthread = address_of(&t->tid),
                                        .stack_base = 0x10000 * (i + 2),
                                        .stack_size = 0x1000,
                                        .tid = 1000 + (uint32_t)i };
        if (i + 1 < LISTED)
            t->next = address_of(&listed.all[i + 1]);
    }
    listed.first = address_of(&listed.all[0]);
    l->thread_list_at = address_of(&listed.first);
    l->thread_osthread = (struct layout_field){ .offset = 8 };
    l->thread_stack_base = (struct layout_field){ .offset = 16 };
    l->thread_stack_size = (struct layout_field){ .offset = 24 };
    l->thread_owner_id = (struct layout_field){ .offset = -1 };
    vm->names.unusable = true;
    return vm;
}

struct seen_threads {
    int count;
    bool owners;
};

static void see_thread(void *cookie, const struct hotspot_thread *t)
{
    struct seen_threads *s = cookie;

    ck_assert_int_eq(t->ns_tid, 1000 + s->count);
    ck_assert_uint_eq(t->java_thread, address_of(&listed.all[s->count]));
    ck_assert_uint_eq(t->name.n, 0);
    ck_assert_uint_eq(t->stack_high, s->owners ? listed.all[s->count].stack_base : 0);
    ck_assert_uint_eq(t->stack_low, s->owners ? listed.all[s->count].stack_base - 0x1000 : 0);
    s->count++;
}

/* A list fills hundreds of pages. It is read in one turn, not in one per page. */
START_TEST(threads_are_listed_in_one_turn)
{
    struct hotspot_vm *vm = new_vm_of_threads();
    struct seen_threads seen = { .count = 0 };

    ck_assert_int_eq(hotspot_vm_threads(vm, HOTSPOT_THREAD_NAME, see_thread, &seen), LISTED);
    ck_assert_int_eq(seen.count, LISTED);
    ck_assert_int_gt(reads, LISTED);
    ck_assert_int_eq(unread_ahead, 0);
    seen = (struct seen_threads){ .owners = true };
    ck_assert_int_eq(hotspot_vm_threads(vm, HOTSPOT_THREAD_OWNER, see_thread, &seen), LISTED);
    ck_assert_int_eq(seen.count, LISTED);
    /* A thread that is ending is left out. */
    listed.all[LISTED - 1].osthread = 0;
    seen = (struct seen_threads){ .count = 0 };
    ck_assert_int_eq(hotspot_vm_threads(vm, 0, see_thread, &seen), LISTED - 1);
    hotspot_vm_close(vm);
}
END_TEST

START_TEST(one_thread_is_known_by_its_memory)
{
    struct hotspot_vm *vm = new_vm_of_threads();
    struct seen_threads seen = { .count = 0 };
    uint64_t first = address_of(&listed.all[0]);

    /* The first word of each thread is the address of the next. */
    ck_assert_int_eq(hotspot_vm_thread(vm, first, 0, see_thread, &seen), 0);
    vm->locks.thread_vtable = (uint32_t)listed.all[0].next;
    ck_assert_int_eq(hotspot_vm_thread(vm, first, 0, see_thread, &seen), 1);
    ck_assert_int_eq(seen.count, 1);
    ck_assert_int_eq(hotspot_vm_thread(vm, address_of(&listed.all[1]), 0, see_thread, &seen), 0);
    ck_assert_int_eq(hotspot_vm_thread(vm, 0, 0, see_thread, &seen), 0);
    ck_assert_int_eq(hotspot_vm_thread(vm, 31, 0, see_thread, &seen), 0);
    ck_assert(hotspot_thread_is(vm, first, 1000));
    ck_assert(!hotspot_thread_is(vm, first, 1001)); /* another thread in the same memory */
    hotspot_vm_close(vm);
}
END_TEST

/* The late result of an abandoned list is dropped, and does not appear in the next list. */
START_TEST(a_list_that_is_left_is_dropped)
{
    struct hotspot_vm *vm = new_vm_of_threads();
    struct seen_threads seen = { .count = 0 };
    int fds[2];

    ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
    hang_fd = fds[0];
    ck_assert_int_eq(hotspot_vm_threads(vm, 0, see_thread, &seen), -ETIMEDOUT);
    ck_assert_int_eq(hotspot_vm_threads(vm, 0, see_thread, &seen), -ETIMEDOUT);
    ck_assert_int_eq(seen.count, 0);
    hang_fd = -1;
    ck_assert_int_eq(write(fds[1], "x", 1), 1);
    wait_for_none();
    ck_assert_int_eq(hotspot_vm_threads(vm, 0, see_thread, &seen), LISTED);
    ck_assert_int_eq(seen.count, LISTED);
    close(fds[0]);
    close(fds[1]);
    hotspot_vm_close(vm);
}
END_TEST

/* After a detach, the freed JavaThread may still have the number of the same native thread. */
START_TEST(a_detached_thread_is_not_listed)
{
    struct hotspot_vm *vm = new_vm_of_threads();
    struct seen_threads seen = { .count = 0 };
    uint64_t first = address_of(&listed.all[0]);

    vm->layout.thread_object = (struct layout_field){ .offset = 32 };
    vm->thread_layout = (struct thread_layout){ .known = true, .eetop = 16 };
    listed.all[0].object = address_of(target);
    memcpy(target + 16, &first, sizeof(first));
    ck_assert_int_eq(hotspot_vm_thread(vm, first, HOTSPOT_THREAD_LISTED, see_thread, &seen), 1);
    memset(target + 16, 0, sizeof(first));
    ck_assert_int_eq(hotspot_vm_thread(vm, first, HOTSPOT_THREAD_LISTED, see_thread, &seen), 0);
    listed.all[0].object = 0;
    ck_assert_int_eq(hotspot_vm_thread(vm, first, HOTSPOT_THREAD_LISTED, see_thread, &seen), 0);
    vm->thread_layout = (struct thread_layout){ .unusable = true };
    ck_assert_int_eq(hotspot_vm_thread(vm, first, HOTSPOT_THREAD_LISTED, see_thread, &seen), 0);
    hotspot_vm_close(vm);
}
END_TEST

/* ---- classes ---- */

/* A loader and its class, which has a name. */
static struct {
    uint64_t first, next, klasses, next_klass, name, symbol;
} loader __attribute__((aligned(4096)));

/* A walk over the classes that ends early does not prove that there is no tracer. */
START_TEST(a_cut_walk_finds_no_absence)
{
    struct hotspot_vm *vm = new_vm();
    struct hotspot_layout *l = &vm->layout;
    struct context_path path;
    const char *tracer = NULL;

    loader.first = address_of(&loader.next);
    loader.klasses = address_of(&loader.next_klass);
    loader.name = address_of(&loader.symbol);
    loader.symbol = 1 | (uint64_t)'A' << 16;
    l->loaders_at = address_of(&loader.first);
    l->loader_klasses = (struct layout_field){ .offset = 8 };
    l->klass_name = (struct layout_field){ .offset = 8 };
    l->symbol_length.width = 2;
    l->symbol_body = (struct layout_field){ .offset = 2 };
    vm->names.known = true;
    for (int cut = 0; cut < 3; cut++) {
        loader.next = cut == 1 ? 8 : 0; /* 8: freed */
        loader.next_klass = cut == 2 ? 8 : 0;
        ck_assert_int_eq(hotspot_vm_context(vm, &path, &tracer, NULL), cut ? -EAGAIN : -ENOENT);
    }
    hotspot_vm_close(vm);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hotspot_call");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, keeps_pages_for_a_moment);
    tcase_add_test(tc, pages_that_share_lines_are_told_apart);
    tcase_add_test(tc, a_question_in_vain_drops_no_page);
    tcase_add_test(tc, memories_have_pages_of_their_own);
    tcase_add_test(tc, a_question_in_vain_is_made_in_full);
    tcase_add_test(tc, a_call_that_is_left_keeps_the_vm);
    tcase_add_test(tc, a_given_argument_goes_with_the_call);
    tcase_add_test(tc, threads_are_listed_in_one_turn);
    tcase_add_test(tc, one_thread_is_known_by_its_memory);
    tcase_add_test(tc, a_detached_thread_is_not_listed);
    tcase_add_test(tc, a_cut_walk_finds_no_absence);
    tcase_add_test(tc, a_list_that_is_left_is_dropped);
    return suite_run_case("hotspot_call", tc);
}
