/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of hotspot/: the opened JVM, and what the files of this folder share. What they share of
 * code is in hotspot/code/code.h. An internal function returns 0 (or a documented count). -EFAULT:
 * the memory of the target does not hold it. -EBADMSG: it holds nonsense. -ESRCH: the process is
 * gone. The door turns these into its outcomes.
 */
#pragma once

#include "hotspot/allocated.h"
#include "hotspot/code/stubs.h"
#include "hotspot/counters.h"
#include "hotspot/hotspot.h"
#include "hotspot/layout.h"
#include "hotspot/memory.h"
#include "hotspot/virtual_layout.h"

#include <stdatomic.h>
#include <stddef.h>

#define CODE_HEAPS_MAX 8 /* HotSpot has one to four */
#define CODE_HEAP_BYTES_MAX ((uint64_t)4 << 30)
#define CODE_HOPS_MAX 96        /* steps in the segment map; 35 were seen in a live JDK 25 */
#define CODE_CHECKS 64          /* of a moment; a lost one is made again */
#define CODELETS_MAX 2048       /* of the interpreter; about 270 exist */
#define NMETHOD_HEADER_MAX 1024 /* sizeof(nmethod) is 224..376 */
#define NMETHOD_DATA_MAX ((uint32_t)64 << 20)

struct code_heap {
    uint64_t at;        /* its CodeHeap */
    uint64_t low, high; /* reserved range: never changes */
    uint64_t segmap;    /* one byte per segment */
    unsigned log2_segment;
};

/* A piece of the interpreter: the code of one bytecode or one entry. */
struct codelet {
    uint64_t start, end;
    char name[STUBS_NAME_MAX];
};

/* Where the fields of java.lang.Thread and String that make a thread's name lie. */
struct name_layout {
    bool known, unusable;
    bool compressed_oops, compressed_klass, compact_headers, coloured_oops;
    bool zgc; /* of any kind */
    uint64_t oop_base, klass_base;
    uint32_t oop_shift, klass_shift;
    uint32_t mark_shift; /* compact headers: of the class in the mark */
    uint64_t string_klass;
    uint32_t thread_name, string_value, string_coder; /* bytes into the object; coder 0: JDK 8 */
};

/* Where ZGC keeps what it has moved. */
struct zgc {
    bool known, unusable;
    unsigned tries;       /* that failed, as what they read was not there at that moment */
    uint64_t next_ns;     /* monotonic: when to try again */
    struct unwind_zgc at; /* maps: as UNWIND_MAP_OLD, or the only one */
};

/* Code that was still there after all that was read of it. */
struct code_check {
    uint64_t epoch; /* of the memory: 0 none */
    uint64_t blob;
    int32_t compile_id;
};

#define PROOF_NOTE_MAX 512

/* Of a release that was not seen running: what was found to hold. */
struct proof {
    bool objects_off, allocation_off; /* what does not, and is not to be used */
    char note[PROOF_NOTE_MAX];        /* "" : nothing had to be proven */
};

/* What hotspot_vm_areas() need not read again. */
struct kept_areas {
    bool class_space_known;
    uint64_t class_space;       /* bytes; 0: none */
    uint64_t classes;           /* the caller's number, of the time of */
    struct vm_range *metaspace; /* owned; NULL: not known */
    size_t metaspace_count;
};

struct listed_thread {
    struct hotspot_thread thread;
    size_t name_at; /* where its name begins */
};

/* The Java threads, from a call that read them until they are handed out. */
struct listed_threads {
    struct listed_thread *all; /* owned */
    size_t count, room;
    struct buf names; /* one behind the other */
};

/* Where two counters of unloaded classes lie; 0: the JVM has none. */
struct unload_places {
    uint64_t at[2];
    bool looked;
};

struct hotspot_vm {
    int mem_fd;        /* borrowed; of */
    struct proc_id id; /* this process; both unused with another reader of memory */
    atomic_int users;  /* holders, and a call that is under way or abandoned */
    struct hotspot_memory memory;
    struct hotspot_layout layout;
    char version[128], name[128];
    struct proof proof;
    struct code_heap heaps[CODE_HEAPS_MAX];
    size_t heap_count;
    uint64_t code_low, code_high; /* around all heaps */
    uint64_t interpreter_start, interpreter_end;
    uint64_t call_stub_return;             /* return pc of entry frames */
    bool jvmci, jvmci_compiles;            /* it may compile so; all of level 4 is compiled so */
    struct code_check checks[CODE_CHECKS]; /* of this moment, by their address */
    struct codelet *codelets;              /* owned; sorted; NULL until asked for */
    size_t codelet_count;
    uint64_t nmethod_name, native_name; /* CodeBlob::_name seen to point to these, 0 not yet */
    struct leaf_maps *leaf_maps;        /* owned; NULL until asked for */
    struct name_layout names;
    struct zgc zgc;
    struct unwind_locks locks; /* klass_bytes 0: not known */
    bool locks_unusable;
    unsigned current_looks; /* how often locks.thread_vtable was looked for */
    struct stubs stubs;
    struct kept_areas kept_areas;
    struct counters_places counters_places;
    struct unload_places unloads;
    struct allocated allocated;
    struct listed_threads listed;
    struct virtual_layout virtual_layout;
    struct thread_layout thread_layout;
    struct thread_reader *thread_reader; /* owned; NULL until asked for */
};

/* As hotspot_vm_open() with any reader of memory (tests, fuzzer), and with @layout, where it is not
 * NULL, as what the tables say, whatever they do. Borrows @cookie. */
int hotspot_vm_open_memory(memory_read_fn read, void *cookie, uint64_t libjvm_base,
                           const struct hotspot_layout *layout, struct hotspot_vm **ret,
                           struct error *err);

/* "This JVM is not for us", with the sentence. */
#define hotspot_refuse(err, ...)                                                                   \
    (error_set((err), -EOPNOTSUPP, __VA_ARGS__), (int)HOTSPOT_UNSUPPORTED)

/* Copies the memory of the counters, inside of a vm_call_fn: *ret is the caller's. 0; -ENOENT: it
 * keeps none; -errno. */
int counters_memory(struct hotspot_vm *vm, uint64_t *ret_start, char **ret, size_t *ret_n);

/* ---- call.c ---- */

/* As hotspot_lock_read(), inside of a vm_call_fn. */
int vm_lock(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret);

/* Reads into @ret the request of a thread that does not run, by @path, inside of a vm_call_fn.
 * @process says where this VM keeps what; @java_thread 0: not known. */
void vm_context(struct hotspot_vm *vm, struct context_path *path, struct unwind_process *process,
                uint64_t java_thread, struct sample_context *ret);

typedef int (*vm_call_fn)(struct hotspot_vm *vm, void *arg);
/* Returns the result of @fn(@vm, @arg), made as one reading of the process. It gets a copy of the
 * @n bytes of @arg, which comes back: it must use nothing else of the caller's. -ETIMEDOUT: not
 * made, or not back in time. */
int vm_call(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n);
/* Does the same, answered at once where the memory of this moment was read already. So @fn is
 * called first with nothing to read: what it changes but @arg has to hold then, too. */
int vm_ask(struct hotspot_vm *vm, vm_call_fn fn, void *arg, size_t n);
/* Returns whether nothing is to be read now, as kept memory alone is to answer: then it has not
 * answered. For what must not be done by halves. */
bool vm_reads_nothing(struct hotspot_vm *vm);
/* Returns whether a call is still out, so that nothing of @vm may be used that it could change. */
bool vm_is_left(const struct hotspot_vm *vm);
/* Frees @vm with its last user. */
void vm_unref(struct hotspot_vm *vm);

/* ---- fields.c ---- */

struct field_wanted {
    const char *name, *signature; /* as in class files; signature NULL: any */
    bool is_static;               /* its offset is one into the class's mirror */
};
/* Gets the offset of a field that the InstanceKlass at @klass declares itself. 0; -ENOENT; -errno.
 */
int field_find(struct hotspot_vm *vm, uint64_t klass, const struct field_wanted *wanted,
               uint32_t *ret);
/* Gets the offset of instance field @name of the InstanceKlass at @klass. 0; -ENOENT; -errno. */
int field_offset(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);
/* Does the same of a field that the class has itself or inherits. */
int field_inherited(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);
/* Gets the offset of static field @name in the mirror of the class at @klass (JDK 21 up). 0;
 * -ENOENT; -errno. */
int field_static(struct hotspot_vm *vm, uint64_t klass, const char *name, uint32_t *ret);

/* ---- threads.c ---- */

typedef int (*threads_visit_fn)(void *cookie, uint64_t java_thread);
/* Calls @fn with the JavaThread of each thread in the VM's list, until it returns non-zero, which
 * is returned. 0: all of them, or those before the list was replaced; -ESRCH; -errno. */
int threads_visit(struct hotspot_vm *vm, threads_visit_fn fn, void *cookie);
/* Reads the number of the thread whose JavaThread is at @thread, as in its own pid namespace.
 * 0; -EFAULT: it has none, as it is ending or starting; -ESRCH; -errno. */
int thread_tid(struct hotspot_vm *vm, uint64_t thread, int32_t *ret);

/* ---- zgc.c ---- */

/* Has vm->zgc filled in, if this VM runs ZGC (JDK 16 and later) and vm->names are known. What
 * cannot be read is tried again later, some times. */
void zgc_ready(struct hotspot_vm *vm);
/* Returns where the object at @object, which the reference @raw of eight bytes leads to, is now. */
uint64_t zgc_forward(struct hotspot_vm *vm, uint64_t raw, uint64_t object);

/* ---- locks.c ---- */

/* Reads the class at @klass, once vm->locks are known. 0; -errno. */
int lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret);

/* ---- current_thread.c ---- */

/* Finds where a thread that runs finds its own JavaThread, into @ret->current_* and thread_vtable.
 * They stay 0 where that is not found. */
void current_thread_find(struct hotspot_vm *vm, struct unwind_locks *ret);

/* ---- allocated.c ---- */

/* Looks at what threads have allocated, if that is due and the last look is @look_ns old, into
 * vm->allocated. @threads_live: how many there are at least. If that cannot be read now, what was
 * known stays. */
void allocated_read(struct hotspot_vm *vm, int64_t threads_live, uint64_t look_ns);

/* ---- threadname.c ---- */

/* Appends the name of the java.lang.Thread behind JavaThread @thread as modified UTF-8. 0; -ENOENT
 * when it has none or the heap moved under us; -errno. */
int thread_name_read(struct hotspot_vm *vm, uint64_t thread, struct buf *ret);
/* Gets the java.lang.Thread of the JavaThread at @thread. 0; -ENOENT: it has none; -errno. */
int thread_java_object(struct hotspot_vm *vm, uint64_t thread, uint64_t *ret);
/* Has vm->names filled in. 0; -ENOENT: never; -EAGAIN, -ESRCH or another -errno: not now. */
int names_ready(struct hotspot_vm *vm);
/* Appends the text of the java.lang.String at @string as modified UTF-8. 0; -ENOENT: it is none;
 * -errno. */
int string_read(struct hotspot_vm *vm, uint64_t string, struct buf *ret);

/* ---- heap.c: once vm->names are known ---- */

#define HEAP_HEADER_BYTES 16 /* of an object, that its class is in */

/* Returns the address of an object that a coloured reference of generational ZGC leads to. */
uint64_t oop_uncolour(uint64_t raw);
/* Returns the bytes of a reference inside an object. */
unsigned heap_reference_bytes(const struct hotspot_vm *vm);
/* Returns the address that reference @raw of an object leads to; 0: null. */
uint64_t heap_decode(struct hotspot_vm *vm, uint64_t raw);
/* Loads the reference at @at inside an object. 0; -ENOENT: it is null; -errno. */
int heap_load(struct hotspot_vm *vm, uint64_t at, uint64_t *ret);
/* Loads the reference that the VM's handle at @at has, which is never compressed. 0; -ENOENT: it is
 * null; -errno. */
int heap_handle(struct hotspot_vm *vm, uint64_t at, uint64_t *ret);
/* Returns the Klass of an object whose first HEAP_HEADER_BYTES are at @header; 0: none. */
uint64_t heap_klass(const struct hotspot_vm *vm, const void *header);
/* Gets the Klass of the object at @object. 0 or -errno. */
int object_klass(struct hotspot_vm *vm, uint64_t object, uint64_t *ret);
/* Gets the length of the array at @array, and where its elements begin. 0 or -errno. */
int heap_array(struct hotspot_vm *vm, uint64_t array, unsigned element_bytes, uint32_t *ret_length,
               uint64_t *ret_data);
