/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to hotspot/: the opened JVM, shared by the files of this folder. Declarations about code
 * are in hotspot/code/code.h. An internal function returns 0 (or a documented count), or an error.
 * -EFAULT: the address is unreadable. -EBADMSG: the data is malformed. -ESRCH: the process is gone.
 * The functions of hotspot.h turn these into their outcomes.
 */
#pragma once

#include "hotspot/allocated.h"
#include "hotspot/code/stubs.h"
#include "hotspot/counters.h"
#include "hotspot/hotspot.h"
#include "hotspot/layout.h"
#include "hotspot/memory.h"
#include "hotspot/thread_variable.h"
#include "hotspot/virtual_layout.h"

#include <stdatomic.h>
#include <stddef.h>

#define CODE_HEAPS_MAX 8 /* HotSpot has one to four */
#define CODE_HEAP_BYTES_MAX ((uint64_t)4 << 30)
#define CODE_HOPS_MAX 96        /* steps in the segment map; 35 were seen in a live JDK 25 */
#define CODE_CHECKS 64          /* cached results; an overwritten one is checked again */
#define CODELETS_MAX 2048       /* codelets of the interpreter; about 270 exist */
#define NMETHOD_HEADER_MAX 1024 /* sizeof(nmethod) is 224..376 */
#define NMETHOD_DATA_MAX ((uint32_t)64 << 20)

struct code_heap {
    uint64_t at;        /* address of its CodeHeap */
    uint64_t low, high; /* reserved range: never changes */
    uint64_t segmap;    /* one byte per segment */
    unsigned log2_segment;
};

/* A piece of the interpreter: the code of one bytecode or one entry. */
struct codelet {
    uint64_t start, end;
    int32_t bytecode; /* number of the bytecode that it runs; < 0: of none, or unknown */
    char name[STUBS_NAME_MAX];
};

/* Offsets of the fields of java.lang.Thread and String that make a thread's name, and the coding of
 * references. */
struct name_layout {
    bool known, unusable;
    bool compressed_oops, compressed_klass, compact_headers, coloured_oops;
    bool zgc; /* ZGC of any kind */
    bool shenandoah;
    uint64_t oop_base, klass_base;
    uint32_t oop_shift, klass_shift;
    uint32_t mark_shift; /* compact headers: shift of the class in the mark */
    uint64_t string_klass;
    uint32_t thread_name, string_value, string_coder; /* bytes into the object; coder 0: JDK 8 */
};

/* State of the search for ZGC's forwarding tables. */
struct zgc {
    bool known, unusable;
    unsigned tries;       /* failed attempts, because memory was unreadable at that moment */
    uint64_t next_ns;     /* CLOCK_MONOTONIC of the next attempt */
    struct unwind_zgc at; /* maps: by UNWIND_MAP_OLD and UNWIND_MAP_YOUNG; of one map: the first */
};

/* State of the search for the layout of locks. */
struct lock_search {
    bool unusable;
    unsigned current_looks; /* searches for unwind_locks.thread_vtable so far */
};

/* Code that was still in place after flamed had read everything about it. */
struct code_check {
    uint64_t epoch; /* epoch of the memory at the check; 0: the entry is free */
    uint64_t blob;
    int32_t compile_id;
};

#define PROOF_NOTE_MAX 512

/* Results of the checks of an unknown release. */
struct proof {
    bool objects_off, allocation_off; /* the checks failed, so flamed does not use these */
    char note[PROOF_NOTE_MAX];        /* "": nothing had to be checked */
};

/* Results of hotspot_vm_areas() that stay valid for later calls. */
struct kept_areas {
    bool class_space_known;
    uint64_t class_space;       /* bytes; 0: none */
    uint64_t classes;           /* the caller's @classes with which @metaspace was read */
    struct vm_range *metaspace; /* owned; NULL: unknown */
    size_t metaspace_count;
};

struct listed_thread {
    struct hotspot_thread thread;
    size_t name_at; /* begin of the thread's name in the names */
};

/* The Java threads, from the read until the caller's function has got them. */
struct listed_threads {
    struct listed_thread *all; /* owned */
    size_t count, room;
    struct buf names; /* names, one after the other */
};

/* The number of unloaded classes that the last walk of waiting threads read. */
struct kept_unloads {
    uint64_t at_ns; /* CLOCK_MONOTONIC of the reading; 0: there was none */
    uint64_t sum;
    int result; /* what hotspot_vm_unloads() returns */
};

/* Addresses of two counters of unloaded classes; 0: the JVM has none. */
struct unload_places {
    uint64_t at[2];
    bool looked;
    unsigned tries; /* of hotspot_vm_unload_places() that failed so far */
    struct kept_unloads kept;
};

/* Where the VM keeps compiled code and stubs. */
struct vm_code {
    struct code_heap heaps[CODE_HEAPS_MAX];
    size_t heap_count;
    uint64_t low, high; /* bounds around all heaps */
    uint64_t interpreter_start, interpreter_end;
    uint64_t call_stub_return;             /* return address into entry frames */
    struct code_check checks[CODE_CHECKS]; /* checks of this moment, by the code's address */
    struct codelet *codelets;              /* owned; sorted; NULL until needed */
    size_t codelet_count;
    uint64_t nmethod_name, native_name; /* addresses seen in CodeBlob::_name; 0: not yet */
};

#define RESOURCE_BYTES_MAX ((size_t)8192)
#define RESOURCE_PAIR_BYTES_MAX ((size_t)1200) /* longer pairs are left out */

/* What a tracer in the VM states about itself. */
struct vm_tracer {
    struct thread_record record;
    uint32_t resource_bytes; /* 0: not read */
    char resource[RESOURCE_BYTES_MAX];
};

struct hotspot_vm {
    int mem_fd;          /* borrowed; memory of @id; both unused with another reader */
    struct proc_id id;   /* this process; both unused with another reader of memory */
    atomic_int users;    /* number of holders, plus a call that runs or is abandoned */
    uint64_t unanswered; /* see hotspot_vm_unanswered() */
    struct hotspot_memory memory;
    struct hotspot_layout layout;
    char version[128], name[128];
    struct proof proof;
    struct vm_code code;
    bool jvmci, jvmci_compiles;  /* it may compile; it compiles all code of level 4 */
    struct leaf_maps *leaf_maps; /* owned; NULL until needed */
    struct name_layout names;
    struct zgc zgc;
    struct unwind_locks locks; /* klass_bytes 0: unknown */
    struct lock_search lock_search;
    struct stubs stubs;
    struct kept_areas kept_areas;
    struct counters_places counters_places;
    uint64_t counters_start, counters_bytes; /* used memory of the counters; 0: not read yet */
    struct unload_places unloads;
    struct vm_tracer tracer;
    struct allocated allocated;
    struct listed_threads listed;
    struct virtual_layout virtual_layout;
    struct thread_layout thread_layout;
    struct thread_reader *thread_reader; /* owned; NULL until needed */
};

/* Reads the field @f, which this JDK must have, of the VM's struct at @at. Returns as
 * memory_u64(). */
static inline int field_u64(struct hotspot_vm *vm, uint64_t at, struct layout_field f,
                            uint64_t *ret)
{
    return memory_u64(&vm->memory, at + (uint64_t)f.offset, ret);
}

/* Does the same for 32 bits. */
static inline int field_u32(struct hotspot_vm *vm, uint64_t at, struct layout_field f,
                            uint32_t *ret)
{
    return memory_u32(&vm->memory, at + (uint64_t)f.offset, ret);
}

/* Does the same for a number of @width bytes. Returns as memory_number(). */
static inline int field_number(struct hotspot_vm *vm, uint64_t at, struct layout_field f,
                               unsigned width, uint64_t *ret)
{
    return memory_number(&vm->memory, at + (uint64_t)f.offset, width, ret);
}

/* Does the same as hotspot_vm_open(), with any reader of memory (for tests and the fuzzer).
 * @layout, if not NULL, is used in place of the tables. Borrows @cookie. */
int hotspot_vm_open_memory(memory_read_fn read, void *cookie, uint64_t libjvm_base,
                           const struct hotspot_layout *layout, struct hotspot_vm **ret,
                           struct error *err);

/* Refuses the JVM with a sentence: sets @err and gives HOTSPOT_UNSUPPORTED. */
#define hotspot_refuse(err, ...)                                                                   \
    (error_set((err), -EOPNOTSUPP, __VA_ARGS__), (int)HOTSPOT_UNSUPPORTED)

/* Copies the memory of the counters, inside a vm_call_fn; the caller frees *ret. Return: 0;
 * -ENOENT: the JVM keeps no counters; -errno. */
int counters_memory(struct hotspot_vm *vm, uint64_t *ret_start, char **ret, size_t *ret_n);

/* ---- live.c ---- */

/* Returns the address of @field in the VM's heap (CollectedHeap), inside a vm_call_fn; 0: not
 * known. */
uint64_t vm_heap_field(struct hotspot_vm *vm, struct layout_field field);

/* ---- pauses.c ---- */

/* Finds where the VM says that a collection moves objects while no thread runs Java. Return: 0;
 * -ENOENT: the VM's layout is not known; -EAGAIN: unreadable at this moment; or as
 * memory_u64(). */
int pauses_find(struct hotspot_vm *vm, struct unwind_pauses *ret);

/* ---- call.c ---- */

/* Reads the number of unloaded classes for later calls of hotspot_vm_unloads(), inside a
 * vm_call_fn. */
void unloads_keep(struct hotspot_vm *vm);
/* Reads the request of a waiting thread into @ret, by @path, inside a vm_call_fn. @process has the
 * layout of this VM. @java_thread: the thread's JavaThread; 0: unknown. */
void vm_context(struct hotspot_vm *vm, struct context_path *path, struct unwind_process *process,
                uint64_t java_thread, struct sample_context *ret);

typedef int (*vm_call_fn)(struct hotspot_vm *vm, void *arg);
/* Runs @fn(@vm, @arg) as one reading of the process and returns its result. @fn gets a copy of the
 * @n bytes of @arg, which is copied back; it must use no other memory of the caller. Returns
 * -ETIMEDOUT if @fn did not run, or did not return in time. */
int vm_call(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n);
/* Does the same without copies: *arg is from malloc(), and is NULL afterwards if the call has not
 * returned. @asleep_only: only the work's time asleep is charged to the owner of the process. The
 * rate of samples already bounds its CPU time. */
int vm_call_given(struct hotspot_vm *vm, vm_call_fn fn, void **arg, bool asleep_only);
/* Does the same, but answers at once if the cached memory of this moment suffices. To find that
 * out, calls @fn first with reads from the cache only; so @fn must have no wrong side effects
 * then. */
int vm_ask(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n);
/* Returns whether only cached memory may answer now; then marks the answer as missing. For work
 * that must not be done in part. */
bool vm_reads_nothing(struct hotspot_vm *vm);
/* Returns whether a call still runs; the caller must not use what that call may change in @vm. */
bool vm_is_left(const struct hotspot_vm *vm);
/* Drops a reference to @vm, and frees it with the last one. */
void vm_unref(struct hotspot_vm *vm);

/* ---- fields.c ---- */

struct field_wanted {
    const char *name, *signature; /* as in class files; @signature NULL: any */
    bool is_static;               /* static fields have their offset in the class's mirror */
    uint32_t injected; /* not 0: number, from 1, among the nameless fields that the VM adds to the
                          class (JDK 21 up) */
};
/* Gets the offset of a field that the class with the InstanceKlass at @klass declares itself.
 * Return: 0; -ENOENT; -errno. */
int field_find(struct hotspot_vm *vm, uint64_t klass, const struct field_wanted *wanted,
               uint32_t *ret);
/* Gets the offset of instance field @name of the InstanceKlass at @klass. Returns 0, -ENOENT or
 * -errno. */
int field_offset(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);
/* Does the same for a field that the class declares or inherits. */
int field_inherited(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);
/* Gets the offset of static field @name in the mirror of the class at @klass (JDK 21 up). Returns
 * 0, -ENOENT or -errno. */
int field_static(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);

/* ---- threads.c ---- */

typedef int (*threads_visit_fn)(void *cookie, uint64_t java_thread);
/* Calls @fn with the JavaThread of each thread in the VM's list. Stops when @fn returns non-zero,
 * and returns that. Return: 0 (for all threads, or for those before the list was replaced); -ESRCH;
 * -errno. */
int threads_visit(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie);
/* Reads the id of the thread with the JavaThread @thread, in its own pid namespace. Return: 0;
 * -EFAULT: the thread has no id, because it is ending or starting; -ESRCH; -errno. */
int thread_tid(struct hotspot_vm *vm, uint64_t thread, int32_t *ret);

/* ---- zgc.c ---- */

/* Fills in vm->zgc, if this VM runs ZGC (JDK 16 and later) and vm->names are known. If memory is
 * unreadable, a later call tries again, up to a limit. */
void zgc_ready(struct hotspot_vm *vm);
/* Returns the current address of the object at @object. @raw: the reference of eight bytes that
 * leads to the object. */
uint64_t zgc_forward(struct hotspot_vm *vm, uint64_t raw, uint64_t object);

/* ---- thread_lock.c ---- */

/* Does the work of hotspot_lock_read(), inside a vm_call_fn. Uses no page that is cached. Return:
 * 0; -ENOENT; -EAGAIN. */
int vm_lock(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret);
/* Returns what the VM says of its collections now (lock_pause() of unwind/lock_steps.h), for
 * vm_moved(). */
uint64_t vm_pause(struct hotspot_vm *vm);
/* Returns true if objects may have moved since vm_pause() returned @pause. What was read of the
 * heap in between is then not to be trusted. Always false for a VM that does not say so. */
bool vm_moved(struct hotspot_vm *vm, uint64_t pause);

/* ---- locks.c ---- */

/* Reads the class at @klass, a result of vm_lock_klass(). vm->locks must be known. Returns 0 or
 * -errno. */
int lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret);
/* Gets the Klass of the lock at @object. If that object is a java.lang.Class, the result has the
 * bit HOTSPOT_LOCK_OF_CLASS. Returns 0 or -errno. */
int vm_lock_klass(struct hotspot_vm *vm, uint64_t object, uint64_t *ret);
/* Returns the class word of objects of class @klass, without the rest of the mark; 0: there is
 * none. */
uint64_t vm_class_word(const struct hotspot_vm *vm, uint64_t klass);

/* ---- current_thread.c ---- */

/* Finds how a running thread finds its own JavaThread: fills in @ret->current_* and thread_vtable.
 * These members stay 0 if the search fails. Returns false if memory was not read this time. */
bool current_thread_find(struct hotspot_vm *vm, struct unwind_locks *ret);

/* ---- thread_variable.c ---- */

/* Does the work of hotspot_vm_thread_variable(), inside a vm_call_fn. */
int thread_variable_find(struct hotspot_vm *vm, const struct thread_variable_objects *objects,
                         struct thread_variable *ret);

/* ---- allocated.c ---- */

/* Adds up the allocations of threads in vm->allocated, if a look is due and the last one is
 * @look_ns old. @threads_live: least number of threads to expect. If the threads are unreadable
 * now, the old numbers stay. */
void allocated_read(struct hotspot_vm *vm, int64_t threads_live, uint64_t look_ns);

/* ---- threadname.c ---- */

/* Appends the name of the java.lang.Thread of JavaThread @thread, as modified UTF-8. Return: 0;
 * -ENOENT: the thread has no name, or the heap moved during the read; -errno. */
int thread_name_read(struct hotspot_vm *vm, uint64_t thread, struct buf *ret);
/* Gets the java.lang.Thread of the JavaThread at @thread. Return: 0; -ENOENT: the JavaThread has
 * none; -errno. */
int thread_java_object(struct hotspot_vm *vm, uint64_t thread, uint64_t *ret);
/* Fills in vm->names. Return: 0; -ENOENT: never possible; -EAGAIN, -ESRCH or another -errno: not
 * now. */
int names_ready(struct hotspot_vm *vm);
/* Appends the text of the java.lang.String at @string as modified UTF-8. Return: 0; -ENOENT: no
 * String is there; -errno. */
int string_read(struct hotspot_vm *vm, uint64_t string, struct buf *ret);

/* Returns whether @klass is @super or a subclass of it. With @super 0, returns whether
 * java.lang.Object is the root of @klass. */
bool klass_is_below(struct hotspot_vm *vm, uint64_t klass, uint64_t super);

/* ---- heap.c: requires that vm->names are known ---- */

#define HEAP_HEADER_BYTES 16 /* bytes at the start of an object; they include its class */

/* Returns the address in a coloured reference of generational ZGC. */
uint64_t oop_uncolour(uint64_t raw);
/* Returns the bytes of a reference inside an object. */
unsigned heap_reference_bytes(const struct hotspot_vm *vm);
/* Returns the address that the reference @raw in an object leads to; 0: null. */
uint64_t heap_decode(struct hotspot_vm *vm, uint64_t raw);
/* Loads the reference at @at inside an object. Return: 0; -ENOENT: the reference is null;
 * -errno. */
int heap_load(struct hotspot_vm *vm, uint64_t at, uint64_t *ret);
/* Loads the reference in the VM's handle at @at, which is never compressed. Return: 0; -ENOENT: the
 * reference is null; -errno. */
int heap_handle(struct hotspot_vm *vm, uint64_t at, uint64_t *ret);
/* Returns the Klass of the object that has its first HEAP_HEADER_BYTES at @header; 0: none. */
uint64_t heap_klass(const struct hotspot_vm *vm, const void *header);
/* Gets the Klass of the object at @object. Returns 0 or -errno. */
int object_klass(struct hotspot_vm *vm, uint64_t object, uint64_t *ret);
/* Returns the offset of the length in an array. */
unsigned heap_length_at(const struct hotspot_vm *vm);
/* Gets the length of the array at @array, and the address of its elements. Returns 0 or -errno. */
int heap_array(struct hotspot_vm *vm, uint64_t array, unsigned element_bytes, uint32_t *ret_length,
               uint64_t *ret_data);
