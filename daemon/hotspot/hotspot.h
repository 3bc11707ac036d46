/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of hotspot/: reads a running HotSpot JVM from outside, through a read-only fd of
 * its memory (/proc/PID/mem, opened by the broker). The bytes are foreign: they may be garbage, or
 * change during a read. All sizes, counts and offsets are bounded; a value out of bounds is
 * refused, never guessed. VMStructs layouts of JDK 8, 11, 17, 21 and 25 to 28 are known; facts
 * carry their JDK version. Thread: one at a time per struct hotspot_vm. Calls pread() only.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "proc/proc.h"
#include "sample/alloc_abi.h"
#include "sample/moment_abi.h"
#include "sample/sample_abi.h"
#include "sample/yields_abi.h"
#include "unwind/context.h"
#include "unwind/process.h"

struct counters;
struct hotspot_vm;
struct hotspot_layout;

/* Positive results of the functions below. */
enum hotspot_outcome {
    HOTSPOT_NOT_READY = 1,   /* tables or heaps are not made yet: retry in 50 ms */
    HOTSPOT_UNSUPPORTED = 2, /* no VMStructs, or an unknown layout, which err names */
    HOTSPOT_NO_CODE = 3,     /* no live code of this JVM holds the address */
    HOTSPOT_GONE = 4,        /* the memory is unreadable for good: the process exited or exec'ed */
};

/*
 * Opens the JVM that has file offset 0 of its libjvm.so mapped at @libjvm_base. Finds the
 * gHotSpotVM* tables by the dynamic symbols in the target's memory. @mem_fd is borrowed and must
 * outlive the result. @id is its process, for reads that may stall (proc/stall_readers.h); NULL:
 * unknown. Return: 0 and *ret, owned by the caller; HOTSPOT_NOT_READY, HOTSPOT_UNSUPPORTED or
 * HOTSPOT_GONE with @err set; -ENOMEM.
 */
int hotspot_vm_open(int mem_fd, const struct proc_id *id, uint64_t libjvm_base,
                    struct hotspot_vm **ret, struct error *err);
struct hotspot_vm *hotspot_vm_close(struct hotspot_vm *vm);

/* Returns the feature release: 8, 11, 17, 21, 25, ... */
int hotspot_vm_jdk(const struct hotspot_vm *vm);
/* Return the version and the name that the VM itself states, "" if not found:
 * "17.0.15+6-Debian-1deb12u1" and "OpenJDK 64-Bit Server VM". */
const char *hotspot_vm_version(const struct hotspot_vm *vm);
const char *hotspot_vm_name(const struct hotspot_vm *vm);

/* Returns whether a JVMCI library, such as Graal, compiles in the place of C2. */
bool hotspot_vm_uses_jvmci(const struct hotspot_vm *vm);
/* Returns a note on a release that is unknown to flamed but readable; "" for a known release. It
 * gives the number of names that were checked against the process, and what is switched off. */
const char *hotspot_vm_note(const struct hotspot_vm *vm);

/* Gets -XX flag @name of bool or integer type from the VM's own flag table. 0; -ENOENT;
 * HOTSPOT_GONE. */
int hotspot_vm_flag(struct hotspot_vm *vm, const char *name, uint64_t *ret);
/* Append to @ret the main class or jar with its arguments (Arguments::_java_command), or the JVM's
 * arguments, as raw bytes cut to @max. JVM arguments are separated by NUL. Return: 0, -ENOENT,
 * HOTSPOT_GONE. */
int hotspot_vm_command(struct hotspot_vm *vm, size_t max, struct buf *ret);
int hotspot_vm_arguments(struct hotspot_vm *vm, size_t max, struct buf *ret);

/* Reads the VM's own counters (hotspot/counters.h), in one reading of some 32 KiB. Also adds up
 * what its threads allocated, if the last look at them is @look_ns old. Return: 0. -ENOENT: the VM
 * keeps no counters (-XX:-UsePerfData). -EBADMSG: they are malformed, or the VM is starting.
 * -ETIMEDOUT: the reading has not returned. HOTSPOT_GONE; -errno. */
int hotspot_vm_counters(struct hotspot_vm *vm, uint64_t look_ns, struct counters *ret);

enum hotspot_code_kind {
    HOTSPOT_CODE_COMPILED, /* nmethod */
    HOTSPOT_CODE_NATIVE,   /* native wrapper of a JNI method (also an nmethod) */
    HOTSPOT_CODE_INTERPRETER,
    HOTSPOT_CODE_STUB, /* StubRoutines, vtable and itable stubs, adapters, runtime and safepoint
                          blobs */
};

/* Code at an address of the code cache. */
struct hotspot_code {
    enum hotspot_code_kind kind;
    uint64_t start, end; /* instructions */
    uint64_t blob;       /* address of the CodeBlob; with compile_id the identity of this code */
    uint64_t method;     /* Method*, 0 for stubs */
    int32_t compile_id;
    uint8_t level;  /* 1..3 C1, 4 C2 or JVMCI, 0 not compiled */
    bool part;      /* one stub of a blob with several: @start and @end are the stub's */
    char name[128]; /* of stubs and interpreter codelets, raw: "jint_arraycopy", "iload" */
};

/* Begins a moment: later calls are about time @at_ns (CLOCK_MONOTONIC). They may use memory that
 * was read since then, at most MEMORY_MOMENT_NS ago. @at_ns 0 ends the moment: memory is read
 * again. */
void hotspot_vm_moment(struct hotspot_vm *vm, uint64_t at_ns);

/* Returns how many calls have had no answer so far, because reading the memory took too long
 * (proc/stall_readers.h). */
uint64_t hotspot_vm_unanswered(const struct hotspot_vm *vm);

/* Gets the number of classes that the VM has unloaded, with a few small reads. If a walk of waiting
 * threads has read it at @at_ns or later, gets that number and sets *now_ns to its time. While the
 * number is unchanged, the address of a method belongs to the same method. 0; -ENOENT: not counted,
 * or classes may be redefined, which frees methods, too; HOTSPOT_GONE; -errno. */
int hotspot_vm_unloads(struct hotspot_vm *vm, uint64_t at_ns, uint64_t *now_ns, uint64_t *ret);

/* Returns whether @pc is within the code cache's outer bounds: a cheap first test. False while they
 * are unknown. */
bool hotspot_vm_in_code_cache(const struct hotspot_vm *vm, uint64_t pc);

/* Finds the code at @pc. 0; HOTSPOT_NO_CODE; HOTSPOT_GONE. */
int hotspot_code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret);

/* Checks whether @code is still in place: its block in use, its compile id unchanged. Costs one
 * small read, or none if it was checked in this moment. 1; 0; -ESRCH: the process is gone; another
 * -errno: no answer. */
int hotspot_code_still(struct hotspot_vm *vm, const struct hotspot_code *code);
/* Returns whether the VM keeps the stub or interpreter code @code until it exits. It frees other
 * stubs, such as those for upcalls, without unloading a class. */
static inline bool hotspot_code_is_kept(const struct hotspot_code *code)
{
    static const char ROUTINES[] = "StubRoutines";

    return code->kind == HOTSPOT_CODE_INTERPRETER ||
           (code->kind == HOTSPOT_CODE_STUB &&
            (code->part || strncmp(code->name, ROUTINES, sizeof(ROUTINES) - 1) == 0));
}

#define HOTSPOT_INLINE_MAX 64 /* frames of one compiled pc */

/* Source of the innermost frame of a pc. */
enum hotspot_leaf {
    HOTSPOT_LEAF_RECORDED, /* the VM's record at or behind the pc */
    HOTSPOT_LEAF_INFERRED, /* the loop around the pc, and the records of that loop */
    HOTSPOT_LEAF_UNSURE,   /* this frame, or a method that is inlined there */
};

struct hotspot_location {
    uint64_t method; /* Method* */
    int32_t bci;     /* -1: unknown */
    bool inlined;    /* into the next entry */
    uint8_t leaf;    /* enum hotspot_leaf, of the first entry */
};

/*
 * Gets the Java frames of compiled code at @pc, innermost first, the compiled method itself last.
 * HotSpot's own rule selects the PcDesc: an exact match if @is_return_address, else the first
 * behind @pc. A pc in a loop is placed by the loop (hotspot/leaf/leaf.h). Without debug
 * information: the method alone, at bci -1. Return: the number of frames, >= 1; 0: the code is gone
 * (its compile id changed); -errno.
 */
int hotspot_code_locate(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                        bool is_return_address, struct hotspot_location ret[HOTSPOT_INLINE_MAX]);

/* Calls @fn for each range of @code that has one chain of methods, innermost first. Stops when @fn
 * returns non-zero, and returns that. 0: all ranges were visited; -ENOENT: the code is gone;
 * -errno. */
typedef int (*hotspot_range_fn)(void *cookie, uint64_t start, uint64_t end,
                                const struct hotspot_location *frames, size_t count);
int hotspot_code_ranges(struct hotspot_vm *vm, const struct hotspot_code *code, hotspot_range_fn fn,
                        void *cookie);

/* A method's names as raw bytes (modified UTF-8, internal form with slashes); the caller cleans
 * them. */
struct hotspot_method {
    char class_name[1024]; /* "java/lang/Thread" */
    char name[512];
    char signature[1024]; /* "(ILjava/lang/String;)V" */
    char file[256];       /* "Thread.java", "" unknown */
    uint64_t
        const_method; /* with the address of the Method, the key that validates a cache entry */
    uint16_t class_name_n, name_n, signature_n, file_n; /* bytes; NUL inside is possible */
};
int hotspot_method_read(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret);
#define HOTSPOT_ROUTE_MAX 512
/* Reads the route of the method at @method with the names @names from annotations, such as "GET
 * /orders/{id}", in raw bytes without NUL. Return: its bytes. 0: the annotations have no certain
 * route. -ENOENT: it can have none. HOTSPOT_GONE as -ESRCH. Another -errno: unreadable now;
 * -EAGAIN: it changed at that moment. */
int hotspot_method_route(struct hotspot_vm *vm, uint64_t method, const struct hotspot_method *names,
                         char ret[HOTSPOT_ROUTE_MAX]);
#define HOTSPOT_CLASS_NAME_MAX 1024
/* Gets the raw name of the class with its Klass at @klass: "java/lang/Thread", "[J",
 * "[Ljava/lang/String;". @klass plus HOTSPOT_CLASS_ARRAY_OF: the class of arrays of that class.
 * @klass 4 to 11: an array of a primitive type, by the numbers of `newarray`. Return: its bytes,
 * cut at HOTSPOT_CLASS_NAME_MAX; -EBADMSG: no class is there; HOTSPOT_GONE as -ESRCH; -errno. */
#define HOTSPOT_CLASS_ARRAY_OF 1
int hotspot_class_name(struct hotspot_vm *vm, uint64_t klass, char ret[HOTSPOT_CLASS_NAME_MAX]);
/* Gets the offsets of a thread's allocation counters in its JavaThread: ret->allocated_bytes and
 * ret->tlab_*. False: the tables of this VM lack them. */
bool hotspot_vm_allocation(const struct hotspot_vm *vm, struct alloc_vm *ret);
/* Gets the offset of the Klass* in a java.lang.Class, in bytes. 0; -ENOTSUP: the tables of this VM
 * lack it; -errno. */
int hotspot_class_klass(struct hotspot_vm *vm, uint32_t *ret);
/* Returns the address of the VM's counter of begun collections, 32 bits; 0: unknown. */
uint64_t hotspot_vm_collections(struct hotspot_vm *vm);
#define HOTSPOT_LIVE_MAX 4096
/* Weak references by their addresses: a collector clears each word once its object is dead. */
struct hotspot_live {
    uint32_t count;
    uint32_t collections; /* 1 + collections begun; 0: unknown */
    bool under_way;       /* the latest collection may have cleared no word yet */
    bool young_blind;     /* collections of the young generation alone clear no word */
    uint64_t words[HOTSPOT_LIVE_MAX];
    bool alive[HOTSPOT_LIVE_MAX];
};
/* Reads the words at the addresses l->words and sets l->alive. An unreadable word, or one at
 * address 0, is not alive. 0; HOTSPOT_GONE; -ETIMEDOUT: the reading has not returned; -errno. */
int hotspot_vm_live(struct hotspot_vm *vm, struct hotspot_live *l);
/* Gets where a JavaThread has its state and its safepoint data, and this VM's numbers of its
 * states. -ENOENT: its tables lack them. Reads memory, and may block until the read times out. */
int hotspot_vm_thread_states(struct hotspot_vm *vm, struct moment_thread *ret);
#define HOTSPOT_ALLOCATORS_MAX 16 /* functions; there are 15 at most */
struct hotspot_allocators {
    struct alloc_vm vm; /* but for what hotspot_vm_allocation() gets */
    bool complete;      /* false: a compiler of this VM has not made its stubs yet */
    uint32_t count;
    struct {
        uint64_t function;    /* address */
        enum alloc_kind kind; /* ALLOC_C2_INSTANCE and later */
    } at[HOTSPOT_ALLOCATORS_MAX];
};
/* Finds the functions that allocate, by the calls in compiler stubs and in the interpreter; needs
 * no symbols. Return: 0. -ENOENT: the tables of this VM lack what it takes. HOTSPOT_GONE;
 * -errno. */
int hotspot_vm_allocators(struct hotspot_vm *vm, struct hotspot_allocators *ret);
/* Where a VM takes virtual threads off their carriers: addresses of functions of libjvm, all with
 * the JavaThread as first argument. */
struct hotspot_yields {
    uint64_t freeze;     /* (JavaThread*, ...): by park, sleep and the like */
    uint64_t preempt;    /* (JavaThread*, ...): by a monitor; 0: none before JDK 24 */
    uint64_t thaw;       /* (JavaThread*, int): 0 if the thread goes on */
    struct yields_vm vm; /* owner_id is 0 before JDK 24 */
};
/* Finds these without symbols. Return: 0. -EAGAIN: no virtual thread has waited yet. -ENOENT: they
 * were not found beyond doubt. HOTSPOT_GONE; -ETIMEDOUT; -errno. */
int hotspot_vm_yields(struct hotspot_vm *vm, struct hotspot_yields *ret);
/* The code position of a frame. It is an interpreted method with the address of its bytecode (0: at
 * its entry), or a pc of the code cache. */
struct hotspot_place {
    uint64_t method, bcp; /* method 0: @pc is set instead */
    uint64_t pc;
    bool is_return_address;
};
#define HOTSPOT_PREPARE_MAX 32
/* Reads in one turn the memory that later calls of this moment need for @places, at most
 * HOTSPOT_PREPARE_MAX. */
void hotspot_prepare(struct hotspot_vm *vm, const struct hotspot_place *places, size_t count);
/* Returns the line of @bci in @method; 0: unknown. */
uint32_t hotspot_method_line(struct hotspot_vm *vm, uint64_t method, int32_t bci);
/* Returns the bytecode index of @bcp, an address in @method's bytecodes (an interpreted frame's);
 * -1: @bcp lies outside them. */
int32_t hotspot_method_bci(struct hotspot_vm *vm, uint64_t method, uint64_t bcp);
/* Returns whether the method at @method is native: it has no bytecodes. */
bool hotspot_method_is_native(struct hotspot_vm *vm, uint64_t method);

/* Reads the word at @address as it is now. 0; HOTSPOT_GONE; -errno. */
int hotspot_vm_word(struct hotspot_vm *vm, uint64_t address, uint64_t *ret);

/* Optional facts of a thread, as bits. */
enum {
    HOTSPOT_THREAD_NAME = 1,
    HOTSPOT_THREAD_OWNER = 2,
    HOTSPOT_THREAD_LISTED = 4 /* for hotspot_vm_thread(): the VM's list had it, so it may be of any
                               * kind, and is checked by its java.lang.Thread */
};

/* A Java thread. A fact that was not requested is 0. */
struct hotspot_thread {
    int32_t ns_tid; /* in the target's innermost pid namespace */
    uint64_t java_thread;
    struct span name; /* raw modified UTF-8; "": unreadable at this moment */
    /* Identities of an owner in the words of locks, besides java_thread. */
    uint64_t owner_id;              /* JDK 24 up; 0: none */
    uint64_t stack_low, stack_high; /* JDK 8..21: an owner word may point into this stack */
};
/* Gets one thread. @t is valid during the call, and the callee calls no function of the VM. */
typedef void (*hotspot_thread_fn)(void *cookie, const struct hotspot_thread *t);
#define HOTSPOT_THREADS_MAX 65536
#define HOTSPOT_THREAD_NAMES_MAX ((size_t)4 << 20) /* bytes of all names; later names are "" */
/* Calls @fn for each thread in the VM's list, which is read in one turn. @what: bits of
 * HOTSPOT_THREAD_*. Return: the number of threads; without any call of @fn, HOTSPOT_GONE as -ESRCH,
 * or -errno. */
int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie);

/* Does the same for the one thread that has its JavaThread at @java_thread. 0: that is not the
 * JavaThread of a thread that runs Java, or hotspot_vm_locks() has not found how to check it. */
int hotspot_vm_thread(struct hotspot_vm *vm, uint64_t java_thread, unsigned what,
                      hotspot_thread_fn fn, void *cookie);
/* Returns whether the JavaThread at @java_thread still belongs to thread @ns_tid. */
bool hotspot_thread_is(struct hotspot_vm *vm, uint64_t java_thread, int32_t ns_tid);

/* Gets the layout of locks and waiting threads in this VM. 0; -EAGAIN: incomplete, *ret may have
 * what is known so far; -ENOENT: unknown for this VM; HOTSPOT_GONE. */
int hotspot_vm_locks(struct hotspot_vm *vm, struct unwind_locks *ret);

/* Gets the forwarding tables of this VM's ZGC. 0; -EAGAIN: unreadable at this moment; -ENOENT:
 * another collector, or unknown tables. Call hotspot_vm_locks() before. */
int hotspot_vm_zgc(struct hotspot_vm *vm, struct unwind_zgc *ret);

/* Gets the layout in which mounted virtual threads of this VM keep their frozen frames. 0. -EAGAIN:
 * not yet, such as before the first virtual thread. -ENOENT: the VM has none, or an unknown layout.
 * Call hotspot_vm_locks() before. HOTSPOT_GONE. */
int hotspot_vm_frozen(struct hotspot_vm *vm, struct unwind_frozen *ret);

/* Compiles the path from a thread of this VM to its request, for the tracer in the VM. *ret_tracer:
 * the tracer's name, static; "" without a tracer. Reads all classes of the VM: some 10 ms. 0;
 * 1: it gets longer if the VM loads further classes of its tracer.
 * -ENOENT: no known tracer. -ENODATA: none, but a log's context may be read later. -EAGAIN: not
 * yet, such as before its first request. -EOPNOTSUPP with @err: this release of the tracer has
 * other fields. HOTSPOT_GONE; -errno. */
int hotspot_vm_context(struct hotspot_vm *vm, struct context_path *ret, const char **ret_tracer,
                       struct error *err);
/* Returns the Resource of OpenTelemetry's SDK in this VM, as the last hotspot_vm_context() found
 * it. Each text is as "service.name=shop", in the target's words, with a NUL behind it. Empty:
 * none. Points into @vm. */
struct span hotspot_vm_resource(const struct hotspot_vm *vm);
/* Replaces the keys of a log's context that hotspot_vm_context() reads by @list, the option
 * mdc_keys; "": keeps the built-in ones. 0; -EINVAL with a sentence. Thread: one, before any other
 * uses this. */
int hotspot_log_keys_set(const char *list, struct error *err);

enum hotspot_lock_kind {
    HOTSPOT_LOCK_OTHER,
    HOTSPOT_LOCK_SYNCHRONIZER, /* an AbstractOwnableSynchronizer */
    HOTSPOT_LOCK_CONDITION,    /* a condition of a synchronizer */
};
/* A bit of the address of a Klass: the lock is the object of that class, a java.lang.Class. */
#define HOTSPOT_LOCK_OF_CLASS UINT64_C(1)
/* The class of a lock. The name is raw, in internal form with slashes. */
struct hotspot_lock_class {
    enum hotspot_lock_kind kind;
    bool owner_known; /* its owner is at the offset from hotspot_vm_locks() */
    char name[1024];
    uint16_t name_n;
};
/* Returns the Klass that class word @word of a lock refers to; 0: none. Reads no memory. It may
 * have the bit HOTSPOT_LOCK_OF_CLASS. */
uint64_t hotspot_lock_klass(const struct hotspot_vm *vm, uint64_t word);
/* Does the reverse. */
uint64_t hotspot_lock_word(const struct hotspot_vm *vm, uint64_t klass);
/* Reads the class at @klass, which may have the bit. 0; -ENOENT: no class is there; -ETIMEDOUT: the
 * reading has not returned; HOTSPOT_GONE. */
int hotspot_lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret);

#define HOTSPOT_OWNER_MARK_HELD                                                                    \
    1                            /* owner word: a thread that locked the object without a monitor */
#define HOTSPOT_OWNER_MARK_MAX 2 /* owner words up to this are marks: no owner, unknown owner */
/* The lock that a thread waits for now, as words of its memory. @thread: address of its JavaThread.
 * 0; -ENOENT: it waits for no lock, or its memory is unreadable; HOTSPOT_GONE. */
struct hotspot_lock {
    uint8_t kind; /* enum unwind_lock */
    uint64_t class_word, owner;
};
int hotspot_lock_read(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret);

#define HOTSPOT_WAITING_MAX 32
#define HOTSPOT_WAITING_WORDS (2 * SAMPLE_USER_MAX)
#define HOTSPOT_STACKS_BYTES_MAX (512u << 10) /* of all stack copies of a batch */
/* A thread and its user stack. The thread waits, or its stack was copied while it ran. */
struct hotspot_waiting {
    int32_t host_tid;
    uint32_t stack_at, stack_bytes; /* copy in the batch's stacks, from the stack pointer on; 0
                                     * bytes: the stack is read from memory, if the thread has not
                                     * run */
    bool asks_lock;                 /* in: read the lock that it waits for, too */
    bool waits_for_lock;            /* @lock is set */
    struct hotspot_lock lock;
    bool wants_thread; /* the walk lacked java_thread, which is 0 */
    uint8_t end; /* enum unwind_end; NOT_TAKEN: the thread has run; COPY: the stack is longer than
                  * its copy */
    uint64_t registers[SAMPLE_REGISTER_COUNT]; /* by enum sample_register */
    uint64_t java_thread;                      /* 0: unknown */
    uint32_t first, count;                     /* in the words of the batch */
    bool has_context;                          /* @context was read */
    struct sample_context context;
};
/* Threads of one process to walk. The caller sets all members before word_count, except @done. */
struct hotspot_waiting_batch {
    int proc_fd;                   /* of /proc; borrowed without end, as @rows are */
    const struct unwind_row *rows; /* rows that process.mappings refers to */
    uint32_t row_count, max_words; /* max_words: of one stack; at most SAMPLE_USER_MAX */
    struct unwind_process process;
    struct context_path path; /* to the threads' requests; no steps: requests are not read */
    uint32_t count, done;     /* threads given; threads walked */
    struct hotspot_waiting threads[HOTSPOT_WAITING_MAX];
    uint32_t word_count;
    uint64_t words[HOTSPOT_WAITING_WORDS];
    uint32_t stacks_bytes; /* of the copies, behind this struct */
    uint32_t zero;
};
/* Returns the stack copies of @b. */
static inline uint8_t *hotspot_waiting_stacks(struct hotspot_waiting_batch *b)
{
    return (uint8_t *)(b + 1);
}
/* Walks the stacks of the first threads of *b, at least one, and sets (*b)->done to their number.
 * @vm NULL: the memory of the process is unreadable; only copies are walked. 0; -ETIMEDOUT: the
 * reading has not returned, and may have taken *b, which is from malloc() and then NULL; -errno. */
int hotspot_walk_waiting(struct hotspot_vm *vm, struct hotspot_waiting_batch **b);

/* Calls @fn for each live piece of code (perf map, tests). A blob of several stubs gives each stub,
 * and each gap between stubs. The interpreter is one piece. Stops when @fn returns non-zero, and
 * returns that. Else returns the number of pieces, or -errno. */
typedef int (*hotspot_code_fn)(void *cookie, const struct hotspot_code *code);
int hotspot_vm_codes(struct hotspot_vm *vm, hotspot_code_fn fn, void *cookie);
/* Sizes of the VM's lists of stubs, so far as they were read, for diagnostics. */
struct hotspot_stubs {
    size_t named;     /* entries with a name */
    size_t vtables;   /* vtable and itable stubs */
    uint64_t dropped; /* malformed entries, and the rest of an endless list */
};
struct hotspot_stubs hotspot_vm_stubs(const struct hotspot_vm *vm);

/* Gets what the unwinder needs to know of this VM. 0; -EOPNOTSUPP: more code heaps than it can
 * hold. */
int hotspot_vm_unwinding(const struct hotspot_vm *vm, struct unwind_vm *ret);
