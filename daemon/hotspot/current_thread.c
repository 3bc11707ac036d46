/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds how native code of the VM gets the JavaThread of its own thread. The tables of the VM lack
 * that. The JavaThread is in a thread-local variable of libjvm, or in JDK 8 a value of
 * pthread_setspecific(). So flamed searches the data of glibc for each thread. It looks for the one
 * place that holds the JavaThread of every thread in the VM's list.
 */
#include "hotspot/vm.h"

#include "unwind/frames.h"

#define CURRENT_THREADS_MAX 16 /* threads to compare */
#define CURRENT_THREADS_MIN 2
#define CURRENT_MODULES_MAX 63 /* with thread-local variables; libjvm's was 1 to 4 */
#define CURRENT_WORDS_MAX 32   /* words of libjvm's thread-local variables; it has 5 to 12 */
#define TABLE_ENTRIES_MAX 4096 /* entries of a thread's dtv */
#define SELF_STEP 16           /* bytes between distances to try */
/* Offset in glibc's struct pthread, which the thread pointer leads to. An entry of
 * pthread_setspecific() has a sequence number and the value. The first 32 keys have their entries
 * there. */
#define SPECIFIC_WORD (0x310 / 8 + 1)
#define SPECIFIC_WORDS 2
#define SPECIFIC_KEYS 32

struct listed {
    uint64_t java_thread, self; /* self: what pthread_self() returns in that thread */
    uint64_t table;             /* address of its dtv; 0: none */
    uint64_t base;              /* address of the searched memory; 0: none */
};

struct look {
    struct hotspot_vm *vm;
    struct listed threads[CURRENT_THREADS_MAX];
    size_t count;
    uint64_t oldest; /* address of the oldest thread's JavaThread */
};

static int look_at(void *cookie, uint64_t thread)
{
    struct look *k = cookie;
    const struct hotspot_layout *l = &k->vm->layout;
    uint64_t osthread = 0, pointer = 0;
    int r = field_u64(k->vm, thread, l->thread_osthread, &osthread)
                ?: field_u64(k->vm, osthread, l->osthread_pointer, &pointer);

    if (r < 0)
        return r == -EFAULT ? 0 : r;          /* the thread is ending, or starting */
    if (!k->oldest || !l->thread_smr_list_at) /* the linked list ends with the oldest */
        k->oldest = thread;
    if (k->count < CURRENT_THREADS_MAX)
        k->threads[k->count++] = (struct listed){ thread, pointer, 0, 0 };
    return 0;
}

static uint64_t word_at(struct hotspot_vm *vm, uint64_t at)
{
    uint64_t word;

    return at && memory_u64(&vm->memory, at, &word) == 0 ? word : 0;
}

/* Returns whether each thread has its own JavaThread @word words behind its base. A thread with a
 * zero there is beginning or ending, and does not count. */
static bool is_place(const struct look *k, unsigned word)
{
    size_t right = 0;

    for (size_t i = 0; i < k->count; i++) {
        const struct listed *t = &k->threads[i];
        uint64_t found = t->base ? word_at(k->vm, t->base + (uint64_t)word * 8) : 0;

        if (found && found != t->java_thread)
            return false;
        right += found != 0;
    }
    return right >= CURRENT_THREADS_MIN;
}

/* Finds the dtv of each thread: its thread pointer is @distance bytes behind pthread_self(). If the
 * distance is a guess, the number of entries below the dtv must be plausible. Returns whether
 * enough threads have a dtv. */
static bool has_tables(struct look *k, unsigned distance)
{
    size_t count = 0;

    for (size_t i = 0; i < k->count; i++) {
        struct listed *t = &k->threads[i];
        uint64_t entries;

        t->table = word_at(k->vm, t->self + distance + UNWIND_DTV_AT);
        entries = t->table ? word_at(k->vm, t->table - UNWIND_DTV_BYTES) : 0;
        if (UNWIND_SELF_MAX && (!entries || entries > TABLE_ENTRIES_MAX))
            t->table = 0;
        count += t->table != 0;
    }
    return count >= CURRENT_THREADS_MIN;
}

/* Sets the base of each thread to its variables of @module. Returns whether enough threads have
 * such variables. */
static bool has_module(struct look *k, unsigned module)
{
    size_t count = 0;

    for (size_t i = 0; i < k->count; i++) {
        struct listed *t = &k->threads[i];

        t->base = t->table ? word_at(k->vm, t->table + (uint64_t)module * UNWIND_DTV_BYTES) : 0;
        if (t->base >= MEMORY_ADDRESS_MAX)
            t->base = 0; /* not allocated yet */
        count += t->base != 0;
    }
    return count >= CURRENT_THREADS_MIN;
}

static bool find_in_tables(struct look *k, struct unwind_locks *ret)
{
    for (unsigned module = 1; module <= CURRENT_MODULES_MAX; module++) {
        if (!has_module(k, module))
            continue;
        for (unsigned word = 0; word < CURRENT_WORDS_MAX; word++) {
            if (is_place(k, word)) {
                ret->current_module = (uint8_t)module;
                ret->current_word = (uint8_t)word;
                return true;
            }
        }
    }
    return false;
}

static bool find_variable(struct look *k, struct unwind_locks *ret)
{
    for (unsigned distance = UNWIND_SELF_MIN; distance <= UNWIND_SELF_MAX; distance += SELF_STEP) {
        if (has_tables(k, distance) && find_in_tables(k, ret))
            return true;
    }
    return false;
}

/* Finds the JavaThread among the values of pthread_setspecific(). Not on aarch64, where these
 * values lie below the thread pointer. */
static bool find_value(struct look *k, struct unwind_locks *ret)
{
    if (UNWIND_SELF_MAX)
        return false;
    for (size_t i = 0; i < k->count; i++)
        k->threads[i].base = k->threads[i].self;
    for (unsigned key = 0; key < SPECIFIC_KEYS; key++) {
        unsigned word = SPECIFIC_WORD + key * SPECIFIC_WORDS;

        if (is_place(k, word)) {
            ret->current_module = 0;
            ret->current_word = (uint8_t)word;
            return true;
        }
    }
    return false;
}

static int find(struct hotspot_vm *vm, void *arg)
{
    struct unwind_locks *ret = arg;
    struct look k = { .vm = vm };
    int r;

    memory_begin(&vm->memory);
    r = threads_visit(vm, look_at, &k);
    /* The oldest thread is main, or the first that Java started: a plain JavaThread, unlike some of
     * the VM's own threads, which have subclasses. */
    if (r == 0 && (find_variable(&k, ret) || find_value(&k, ret)))
        ret->thread_vtable = (uint32_t)word_at(vm, k.oldest);
    return r;
}

bool current_thread_find(struct hotspot_vm *vm, struct unwind_locks *ret)
{
    return !layout_has(vm->layout.osthread_pointer) ||
           vm_call(vm, find, ret, sizeof(*ret)) != -ETIMEDOUT;
}
