/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where native code of the VM finds the JavaThread of the thread that it runs in. No table says it.
 * It is a variable of libjvm that each thread has its own of, or in JDK 8 a value of pthreads. So
 * flamed looks in what the C library (glibc) keeps of each thread for the one place that has the
 * JavaThread of all that the VM lists.
 */
#include "hotspot/vm.h"

#include "unwind/frames.h"

#define CURRENT_THREADS_MAX 16 /* that are looked at */
#define CURRENT_THREADS_MIN 2
#define CURRENT_MODULES_MAX 63 /* with variables of threads; libjvm's number was 1 to 4 */
#define CURRENT_WORDS_MAX 32   /* of libjvm's variables; it has 5 to 12 */
/* glibc's struct pthread, to which the thread pointer leads. An entry of what pthread_setspecific()
 * sets has a sequence number, and the value. The first 32 keys have theirs there. */
#define SPECIFIC_WORD (0x310 / 8 + 1)
#define SPECIFIC_WORDS 2
#define SPECIFIC_KEYS 32

struct listed {
    uint64_t java_thread, pointer; /* its thread pointer, as pthread_self() gives it */
    uint64_t base;                 /* of what is looked through; 0: it has none */
};

struct look {
    struct hotspot_vm *vm;
    struct listed threads[CURRENT_THREADS_MAX];
    size_t count;
    uint64_t oldest; /* JavaThread */
};

static int look_at(void *cookie, uint64_t thread)
{
    struct look *k = cookie;
    const struct hotspot_layout *l = &k->vm->layout;
    struct hotspot_memory *m = &k->vm->memory;
    uint64_t osthread = 0, pointer = 0;
    int r = memory_u64(m, thread + (uint64_t)l->thread_osthread.offset, &osthread);

    if (r == 0)
        r = memory_u64(m, osthread + (uint64_t)l->osthread_pointer.offset, &pointer);
    if (r < 0)
        return r == -EFAULT ? 0 : r;          /* it is ending, or starting */
    if (!k->oldest || !l->thread_smr_list_at) /* that is the last of the linked list */
        k->oldest = thread;
    if (k->count < CURRENT_THREADS_MAX)
        k->threads[k->count++] = (struct listed){ thread, pointer, 0 };
    return 0;
}

static uint64_t word_at(struct hotspot_vm *vm, uint64_t at)
{
    uint64_t word;

    return at && memory_u64(&vm->memory, at, &word) == 0 ? word : 0;
}

/* Whether each thread has its own JavaThread @word words behind its base. A thread that has none
 * there is about to begin, or to end. */
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

/* Puts where each thread has its variables of @module. Whether enough of them have. */
static bool has_module(struct look *k, unsigned module)
{
    size_t count = 0;

    for (size_t i = 0; i < k->count; i++) {
        struct listed *t = &k->threads[i];
        uint64_t dtv = word_at(k->vm, t->pointer + UNWIND_DTV_AT);

        t->base = dtv ? word_at(k->vm, dtv + (uint64_t)module * UNWIND_DTV_BYTES) : 0;
        if (t->base >= MEMORY_ADDRESS_MAX)
            t->base = 0; /* it has not asked for them yet */
        count += t->base != 0;
    }
    return count >= CURRENT_THREADS_MIN;
}

static bool find_variable(struct look *k, struct unwind_locks *ret)
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

static bool find_value(struct look *k, struct unwind_locks *ret)
{
    for (size_t i = 0; i < k->count; i++)
        k->threads[i].base = k->threads[i].pointer;
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
    /* The oldest is main, or the first that Java started: of no class of its own, as some of the
     * VM's are. */
    if (r == 0 && (find_variable(&k, ret) || find_value(&k, ret)))
        ret->thread_vtable = (uint32_t)word_at(vm, k.oldest);
    return r;
}

void current_thread_find(struct hotspot_vm *vm, struct unwind_locks *ret)
{
    if (layout_has(vm->layout.osthread_pointer))
        vm_call(vm, find, ret, sizeof(*ret));
}
