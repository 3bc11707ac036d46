/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of hotspot/: reads a running HotSpot JVM from outside, through a read-only fd of
 * its memory (/proc/PID/mem, opened by the broker). The bytes are foreign: they may be garbage, or
 * change during a read. All sizes, counts and offsets are bounded; a value out of bounds is
 * refused, never guessed. VMStructs layouts of JDK 8, 11, 17, 21 and 25 to 28 are known. Comments
 * state the JDKs in which a fact holds. Only one thread at a time may use a struct hotspot_vm.
 * Reads memory by pread() only.
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

/* Returns whether a JVMCI compiler, such as Graal, is used in place of C2. */
bool hotspot_vm_uses_jvmci(const struct hotspot_vm *vm);
/* Returns a note on a release that is unknown to flamed but readable; "" for a known release. The
 * note gives the number of names that were checked against the process, and the features that are
 * off. */
const char *hotspot_vm_note(const struct hotspot_vm *vm);

#define HOTSPOT_FLAGS_MAX 6
/* A -XX flag of bool or integer type. */
struct hotspot_flag {
    const char *name; /* a constant */
    uint64_t value;   /* unchanged while it is unknown: a default of the caller */
    bool known;       /* false: the VM has no such flag, or it is unreadable */
};
/* Reads @n flags, at most HOTSPOT_FLAGS_MAX, from the VM's own table, in one reading. Return: 0;
 * -EAGAIN: the table was not read this time; HOTSPOT_GONE. */
int hotspot_vm_flags(struct hotspot_vm *vm, struct hotspot_flag *flags, size_t n);
/* Does the same for one flag. Return: 0; -ENOENT: it is unknown; -EAGAIN; HOTSPOT_GONE. */
int hotspot_vm_flag(struct hotspot_vm *vm, const char *name, uint64_t *ret);
/* Append to @ret the main class or jar with its arguments (Arguments::_java_command), or the JVM's
 * arguments, as raw bytes cut to @max. JVM arguments are separated by NUL. Return: 0, -ENOENT,
 * HOTSPOT_GONE. */
int hotspot_vm_command(struct hotspot_vm *vm, size_t max, struct buf *ret);
int hotspot_vm_arguments(struct hotspot_vm *vm, size_t max, struct buf *ret);

/* Reads the VM's own counters (hotspot/counters.h), in one reading of some 32 KiB. Also adds up
 * what its threads allocated, if the last look at the threads is @look_ns old. Return: 0. -ENOENT:
 * the VM keeps no counters (-XX:-UsePerfData). -EBADMSG: they are malformed, or the VM is starting.
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
    uint64_t start, end; /* bounds of the instructions */
    uint64_t blob;       /* address of the CodeBlob; with compile_id it identifies this code */
    uint64_t method;     /* Method*, 0 for stubs */
    int32_t compile_id;
    uint8_t level;  /* 1..3: C1; 4: C2 or JVMCI; 0: not compiled */
    bool part;      /* one of several stubs in a blob: @start and @end are those of the stub */
    char name[128]; /* raw name of a stub or codelet: "jint_arraycopy", "iload" */
};

/* Begins a moment: later calls ask about time @at_ns (CLOCK_MONOTONIC). They may use memory that
 * was read since @at_ns, and at most MEMORY_MOMENT_NS ago. @at_ns 0 ends the moment: later calls
 * read memory again. */
void hotspot_vm_moment(struct hotspot_vm *vm, uint64_t at_ns);

/* Returns how many calls got no answer so far, because reading the memory took too long
 * (proc/stall_readers.h). */
uint64_t hotspot_vm_unanswered(const struct hotspot_vm *vm);

/* Gets the number of classes that the VM has unloaded, with a few small reads. If a walk of waiting
 * threads read that number at @at_ns or later, gets that result and sets *now_ns to its time. While
 * the number is unchanged, the address of a method belongs to the same method. Return: 0. -ENOENT:
 * the number is not counted, or classes may be redefined, which frees methods, too. HOTSPOT_GONE;
 * -errno. */
int hotspot_vm_unloads(struct hotspot_vm *vm, uint64_t at_ns, uint64_t *now_ns, uint64_t *ret);

/* Gets where the VM counts unloaded classes, for readers in its own context. Return: 0; -EAGAIN:
 * unreadable at this moment; -ENOENT: it is not known, or was unreadable too often. *ret is then
 * all zero. */
int hotspot_vm_unload_places(struct hotspot_vm *vm, struct unwind_unloads *ret);

/* Returns whether @pc is within the code cache's outer bounds: a cheap first test. Returns false
 * while the bounds are unknown. */
bool hotspot_vm_in_code_cache(const struct hotspot_vm *vm, uint64_t pc);

/* Finds the code at @pc. Returns 0, HOTSPOT_NO_CODE or HOTSPOT_GONE. */
int hotspot_code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret);

/* Checks whether @code is still in place: its block in use, its compile id unchanged. Costs one
 * small read, or none if @code was checked in this moment. Return: 1; 0; -ESRCH: the process is
 * gone; another -errno: no answer. */
int hotspot_code_still(struct hotspot_vm *vm, const struct hotspot_code *code);
/* Returns whether the VM keeps the stub or interpreter code @code until it exits. The VM frees
 * other stubs, such as those for upcalls, without unloading a class. */
static inline bool hotspot_code_is_kept(const struct hotspot_code *code)
{
    static const char ROUTINES[] = "StubRoutines";

    return code->kind == HOTSPOT_CODE_INTERPRETER ||
           (code->kind == HOTSPOT_CODE_STUB &&
            (code->part || strncmp(code->name, ROUTINES, sizeof(ROUTINES) - 1) == 0));
}

#define HOTSPOT_INLINE_MAX 64 /* frames of one compiled pc */

/* What the innermost frame of a pc was found by. */
enum hotspot_leaf {
    HOTSPOT_LEAF_RECORDED, /* the VM's record at or behind the pc */
    HOTSPOT_LEAF_INFERRED, /* the loop around the pc, and the records of that loop */
    HOTSPOT_LEAF_UNSURE,   /* unsure: this frame, or a method that is inlined there */
};

struct hotspot_location {
    uint64_t method; /* Method* */
    int32_t bci;     /* -1: unknown */
    bool inlined;    /* inlined into the method of the next entry */
    uint8_t leaf;    /* enum hotspot_leaf; set in the first entry */
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

/* Calls @fn for each range of @code that belongs to one chain of methods. The innermost method of a
 * chain comes first. Stops when @fn returns non-zero, and returns that. Return: 0 (all ranges were
 * visited); -ENOENT: the code is gone; -ERANGE: its records do not ascend, so they are none;
 * -E2BIG: too many; -errno. */
typedef int (*hotspot_range_fn)(void *cookie, uint64_t start, uint64_t end,
                                const struct hotspot_location *frames, size_t count);
int hotspot_code_ranges(struct hotspot_vm *vm, const struct hotspot_code *code, hotspot_range_fn fn,
                        void *cookie);

/* A method's names as raw bytes (modified UTF-8, internal form with slashes); the caller cleans
 * them. */
struct hotspot_method {
    char class_name[1024]; /* "java/lang/Thread" */
    char name[512];
    char signature[1024];  /* "(ILjava/lang/String;)V" */
    char file[256];        /* "Thread.java", "" unknown */
    uint64_t const_method; /* const_method and the address of the Method validate a cache entry */
    uint16_t class_name_n, name_n, signature_n, file_n; /* bytes; NUL inside is possible */
};
int hotspot_method_read(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret);
#define HOTSPOT_ROUTE_MAX 512
/* Reads the route of the method at @method with the names @names from annotations, such as "GET
 * /orders/{id}", in raw bytes without NUL. Return: the number of bytes. 0: the annotations have no
 * certain route. -ENOENT: the method cannot have a route. -ESRCH: HOTSPOT_GONE. -EAGAIN: the method
 * changed at that moment. Another -errno: the method is unreadable now. */
int hotspot_method_route(struct hotspot_vm *vm, uint64_t method, const struct hotspot_method *names,
                         char ret[HOTSPOT_ROUTE_MAX]);
#define HOTSPOT_CLASS_NAME_MAX 1024
/* Gets the raw name of the class with its Klass at @klass: "java/lang/Thread", "[J",
 * "[Ljava/lang/String;". @klass plus HOTSPOT_CLASS_ARRAY_OF stands for the class of arrays of that
 * class. @klass 4 to 11 stands for an array of a primitive type, by the numbers of `newarray`.
 * Return: the number of bytes, cut at HOTSPOT_CLASS_NAME_MAX; -EBADMSG: no class is there; -ESRCH:
 * HOTSPOT_GONE; -errno. */
#define HOTSPOT_CLASS_ARRAY_OF 1
int hotspot_class_name(struct hotspot_vm *vm, uint64_t klass, char ret[HOTSPOT_CLASS_NAME_MAX]);
/* Gets the offsets of a thread's allocation counters in its JavaThread: ret->allocated_bytes and
 * ret->tlab_*. Returns false if the tables of this VM lack these offsets. */
bool hotspot_vm_allocation(const struct hotspot_vm *vm, struct alloc_vm *ret);
/* Gets the offset of the Klass* in a java.lang.Class, in bytes. Return: 0; -ENOTSUP: the tables of
 * this VM lack that offset; -errno. */
int hotspot_class_klass(struct hotspot_vm *vm, uint32_t *ret);
/* Returns the address of the VM's 32-bit counter of begun collections; 0: unknown. */
uint64_t hotspot_vm_collections(struct hotspot_vm *vm);
#define HOTSPOT_LIVE_MAX 4096
/* Weak references by their addresses: a collector clears each word once its object is dead. */
struct hotspot_live {
    uint32_t count;
    uint32_t collections; /* number of begun collections, plus 1; 0: unknown */
    bool under_way;       /* the latest collection may have cleared no word yet */
    bool young_blind;     /* collections of the young generation alone clear no word */
    uint64_t words[HOTSPOT_LIVE_MAX];
    bool alive[HOTSPOT_LIVE_MAX];
};
/* Reads the words at the addresses l->words and sets l->alive. An unreadable word, or one at
 * address 0, is not alive. Return: 0; HOTSPOT_GONE; -ETIMEDOUT: the reading has not returned;
 * -errno. */
int hotspot_vm_live(struct hotspot_vm *vm, struct hotspot_live *l);
/* Gets where a JavaThread has its state and its safepoint data, and the numbers of the states in
 * this VM. Reads memory, and may block until the read times out. Returns -ENOENT if the VM's tables
 * lack these. */
int hotspot_vm_thread_states(struct hotspot_vm *vm, struct moment_thread *ret);
#define HOTSPOT_ALLOCATORS_MAX 16 /* functions; HotSpot has at most 15 */
struct hotspot_allocators {
    struct alloc_vm vm; /* without the members that hotspot_vm_allocation() sets */
    bool complete;      /* false: a compiler of this VM has not made its stubs yet */
    uint32_t count;
    struct {
        uint64_t function;    /* address */
        enum alloc_kind kind; /* ALLOC_C2_INSTANCE and later */
    } at[HOTSPOT_ALLOCATORS_MAX];
};
/* Finds the functions that allocate, by the calls in compiler stubs and in the interpreter; needs
 * no symbols. Return: 0. -ENOENT: the tables of this VM lack a needed field. HOTSPOT_GONE;
 * -errno. */
int hotspot_vm_allocators(struct hotspot_vm *vm, struct hotspot_allocators *ret);
/* The functions of libjvm that take virtual threads off their carriers and bring them back. Each
 * has the JavaThread as first argument. */
struct hotspot_yields {
    uint64_t freeze;     /* (JavaThread*, ...): at park, sleep and the like */
    uint64_t preempt;    /* (JavaThread*, ...): at a monitor; 0: none before JDK 24 */
    uint64_t thaw;       /* (JavaThread*, int): returns 0 if the thread continues */
    struct yields_vm vm; /* owner_id is 0 before JDK 24 */
};
/* Finds the functions of struct hotspot_yields without symbols. Return: 0. -EAGAIN: no virtual
 * thread has waited yet. -ENOENT: they were not found beyond doubt. HOTSPOT_GONE; -ETIMEDOUT;
 * -errno. */
int hotspot_vm_yields(struct hotspot_vm *vm, struct hotspot_yields *ret);
/* The code position of a frame: a method and the address of a bytecode, or a pc of the code
 * cache. */
struct hotspot_place {
    uint64_t method, bcp; /* method 0: @pc is set instead; bcp 0: the method's entry */
    uint64_t pc;
    bool is_return_address;
};
#define HOTSPOT_PREPARE_MAX 32
/* Reads in one turn the memory that later calls of this moment need for the @count @places, at most
 * HOTSPOT_PREPARE_MAX. */
void hotspot_prepare(struct hotspot_vm *vm, const struct hotspot_place *places, size_t count);
/* Returns the line of @bci in @method; 0: unknown. */
uint32_t hotspot_method_line(struct hotspot_vm *vm, uint64_t method, int32_t bci);
/* Returns the bytecode index of @bcp, an address in @method's bytecodes from an interpreted frame.
 * Returns -1 if @bcp lies outside those bytecodes. */
int32_t hotspot_method_bci(struct hotspot_vm *vm, uint64_t method, uint64_t bcp);
/* Returns whether the method at @method is native, that is, without bytecodes. */
bool hotspot_method_is_native(struct hotspot_vm *vm, uint64_t method);

/* Reads the word at @address as it is now. Return: 0; HOTSPOT_GONE; -errno. */
int hotspot_vm_word(struct hotspot_vm *vm, uint64_t address, uint64_t *ret);

/* Optional facts of a thread, as bits. */
enum {
    HOTSPOT_THREAD_NAME = 1,
    HOTSPOT_THREAD_OWNER = 2,
    HOTSPOT_THREAD_LISTED =
        4 /* for hotspot_vm_thread(): the VM's list had the thread. Such a thread may be of any
             kind, and is checked by its java.lang.Thread */
};

/* A Java thread. A fact that was not requested is 0. */
struct hotspot_thread {
    int32_t ns_tid; /* in the target's innermost pid namespace */
    uint64_t java_thread;
    struct span name; /* raw modified UTF-8; "": unreadable at this moment */
    /* Values by which words of locks name this thread as owner, besides java_thread. */
    uint64_t owner_id;              /* JDK 24 up; 0: none */
    uint64_t stack_low, stack_high; /* JDK 8..21: an owner word may point into this stack */
};
/* Gets one thread. @t is valid during the call. The callback must not call functions of the VM. */
typedef void (*hotspot_thread_fn)(void *cookie, const struct hotspot_thread *t);
#define HOTSPOT_THREADS_MAX 65536
#define HOTSPOT_THREAD_NAMES_MAX ((size_t)4 << 20) /* bytes of all names; later names are "" */
/* Calls @fn for each thread in the VM's list, which is read in one turn. @what: bits of
 * HOTSPOT_THREAD_*. Return: the number of threads. -ESRCH (HOTSPOT_GONE) or another -errno: @fn was
 * not called. */
int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie);

/* Does the same for the one thread that has its JavaThread at @java_thread. Returns 0 if no thread
 * that runs Java has its JavaThread there, or if hotspot_vm_locks() has not found how to check
 * that. */
int hotspot_vm_thread(struct hotspot_vm *vm, uint64_t java_thread, unsigned what,
                      hotspot_thread_fn fn, void *cookie);
/* Returns whether the JavaThread at @java_thread still belongs to thread @ns_tid. */
bool hotspot_thread_is(struct hotspot_vm *vm, uint64_t java_thread, int32_t ns_tid);

/* Gets the layout of locks and waiting threads in this VM. Return: 0; -EAGAIN: incomplete, *ret may
 * have a part; -ENOENT: unknown for this VM; HOTSPOT_GONE. */
int hotspot_vm_locks(struct hotspot_vm *vm, struct unwind_locks *ret);

/* Gets the forwarding tables of this VM's ZGC. Return: 0; -EAGAIN: unreadable at this moment;
 * -ENOENT: the VM has another collector, or unknown tables. Call hotspot_vm_locks() before. */
int hotspot_vm_zgc(struct hotspot_vm *vm, struct unwind_zgc *ret);

/* Gets the layout in which mounted virtual threads of this VM keep their frozen frames. Call
 * hotspot_vm_locks() before. Return: 0. -EAGAIN: not yet, such as before the first virtual thread.
 * -ENOENT: the VM has no such layout, or an unknown one. HOTSPOT_GONE. */
int hotspot_vm_frozen(struct hotspot_vm *vm, struct unwind_frozen *ret);

/* Compiles the path from a thread of this VM to its request, for the tracer in the VM. *ret_tracer:
 * the tracer's name, static; "" without a tracer. Reads all classes of the VM, which takes some 10
 * ms. Return: 0. 1: the path gets longer if the VM loads further classes of its tracer. -ENOENT: no
 * known tracer. -ENODATA: no tracer, but a log's context may be readable later. -EAGAIN: not yet,
 * such as before the first request. -EOPNOTSUPP with @err: this release of the tracer has other
 * fields. HOTSPOT_GONE; -errno. */
int hotspot_vm_context(struct hotspot_vm *vm, struct context_path *ret, const char **ret_tracer,
                       struct error *err);
/* Returns the Resource of OpenTelemetry's SDK in this VM, as the last hotspot_vm_context() found
 * it. Each text is like "service.name=shop", in the target's words, with a NUL behind it. Empty:
 * the VM has no Resource. Points into @vm. */
struct span hotspot_vm_resource(const struct hotspot_vm *vm);
/* Replaces the keys of a log's context that hotspot_vm_context() reads by @list, the value of
 * option mdc_keys. @list "" keeps the built-in keys. Returns 0, or -EINVAL with a sentence. Thread:
 * one, before any other uses this. */
int hotspot_log_keys_set(const char *list, struct error *err);

enum hotspot_lock_kind {
    HOTSPOT_LOCK_OTHER,
    HOTSPOT_LOCK_SYNCHRONIZER, /* an AbstractOwnableSynchronizer */
    HOTSPOT_LOCK_CONDITION,    /* a condition of a synchronizer */
};
/* This bit is set in the address of a Klass if the lock is the class itself: its java.lang.Class
 * object. */
#define HOTSPOT_LOCK_OF_CLASS UINT64_C(1)
/* The class of a lock. The name is raw, in internal form with slashes. */
struct hotspot_lock_class {
    enum hotspot_lock_kind kind;
    bool owner_known; /* the offset from hotspot_vm_locks() leads to its owner */
    char name[1024];
    uint16_t name_n;
};
/* Returns the Klass that class word @word of a lock refers to; 0: none. Reads no memory. The result
 * may have the bit HOTSPOT_LOCK_OF_CLASS. */
uint64_t hotspot_lock_klass(const struct hotspot_vm *vm, uint64_t word);
/* Returns the class word that refers to the Klass @klass: the reverse of hotspot_lock_klass(). */
uint64_t hotspot_lock_word(const struct hotspot_vm *vm, uint64_t klass);
/* Reads the class at @klass, which may have the bit HOTSPOT_LOCK_OF_CLASS. Return: 0; -ENOENT: no
 * class is there; -ETIMEDOUT: the reading has not returned; HOTSPOT_GONE. */
int hotspot_lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret);

#define HOTSPOT_OWNER_MARK_HELD 1 /* owner word: a thread locked the object without a monitor */
#define HOTSPOT_OWNER_MARK_MAX 2  /* owner words up to this are marks: no owner, unknown owner */
/* The lock that a thread waits for now, as words of its memory. hotspot_lock_read() reads it.
 * @thread: address of the thread's JavaThread. Return: 0. -ENOENT: the thread waits for no lock, or
 * its memory is unreadable. -EAGAIN: unknown, as a collection moved objects, or the reading has not
 * returned. HOTSPOT_GONE. */
struct hotspot_lock {
    uint8_t kind; /* enum unwind_lock */
    uint64_t class_word, owner;
};
int hotspot_lock_read(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret);

#define HOTSPOT_WAITING_MAX 32
#define HOTSPOT_WAITING_WORDS (2 * SAMPLE_USER_MAX)
#define HOTSPOT_STACKS_BYTES_MAX (512u << 10) /* bytes of all stack copies of a batch */
/* A thread and its user stack. The thread waits, or its stack was copied while it ran. */
struct hotspot_waiting {
    int32_t host_tid;
    uint32_t stack_at,
        stack_bytes; /* copy among the batch's stacks, from the stack pointer on; 0 bytes: the stack
                        is read from memory, unless the thread has run */
    bool asks_lock;  /* input: also read the lock that the thread waits for */
    bool waits_for_lock; /* @lock is set */
    bool lock_unread;    /* a collection moved objects, so that it is not known whether it waits for
                            one */
    struct hotspot_lock lock;
    bool wants_thread; /* java_thread is 0, and the walk needed it */
    uint8_t end; /* enum unwind_end; NOT_TAKEN: the thread has run; COPY: the stack is longer than
                    its copy */
    uint64_t registers[SAMPLE_REGISTER_COUNT]; /* by enum sample_register */
    uint64_t java_thread;  /* 0: unknown, or the JavaThread of another thread by now */
    int32_t ns_tid;        /* id that java_thread must have in the VM; 0: any */
    uint32_t first, count; /* range in the words of the batch */
    bool has_context;      /* @context was read */
    struct sample_context context;
};
/* Threads of one process to walk. The caller sets all members before word_count, except @done. */
struct hotspot_waiting_batch {
    int proc_fd;                   /* fd of /proc; borrowed without end, and so are @rows */
    const struct unwind_row *rows; /* rows that process.mappings refers to */
    uint32_t row_count, max_words; /* max_words: words of one stack, at most SAMPLE_USER_MAX */
    struct unwind_process process;
    struct context_path path; /* path to a thread's request; without steps, requests are not read */
    uint32_t count, done;     /* count: threads given; done: threads walked */
    struct hotspot_waiting threads[HOTSPOT_WAITING_MAX];
    uint32_t word_count;
    uint64_t words[HOTSPOT_WAITING_WORDS];
    uint32_t stacks_bytes; /* bytes of the stack copies behind this struct */
    uint32_t zero;
};
/* Returns the stack copies of @b. */
static inline uint8_t *hotspot_waiting_stacks(struct hotspot_waiting_batch *b)
{
    return (uint8_t *)(b + 1);
}
/* Walks the stacks of the first threads of *b, at least one, and sets (*b)->done to their number.
 * @vm NULL: the memory of the process is unreadable; only copies are walked. *b is from malloc().
 * Return: 0; -ETIMEDOUT: the reading has not returned, and *b is NULL if the reading keeps it;
 * -errno. */
int hotspot_walk_waiting(struct hotspot_vm *vm, struct hotspot_waiting_batch **b);

/* How far the code heaps were walked. All zeros: a walk begins. */
struct hotspot_codes_at {
    uint64_t until_ns; /* CPU time of the thread at which the walk stops; 0: only at the end */
    size_t heap;
    uint64_t block; /* 0: the first */
};

/* Calls @fn for each live piece of code from *at on (for the perf map and tests). For a blob of
 * several stubs, calls it for each stub and for each gap between stubs. The interpreter is one
 * piece. Stops when @fn returns non-zero, and returns that. Return: the number of pieces;
 * -EINPROGRESS: the time is over, and the next call goes on from *at; -ETIMEDOUT: the memory was
 * not read; -errno. */
typedef int (*hotspot_code_fn)(void *cookie, const struct hotspot_code *code);
int hotspot_vm_codes(struct hotspot_vm *vm, struct hotspot_codes_at *at, hotspot_code_fn fn,
                     void *cookie);
/* Sizes of the VM's lists of stubs, as far as they were read, for diagnostics. */
struct hotspot_stubs {
    size_t named;     /* entries with a name */
    size_t vtables;   /* vtable and itable stubs */
    uint64_t dropped; /* malformed entries, and the rest of an endless list */
};
struct hotspot_stubs hotspot_vm_stubs(const struct hotspot_vm *vm);

/* Gets what the unwinder needs to know of this VM. Return: 0; -EOPNOTSUPP: the VM has more code
 * heaps than @ret can hold. */
int hotspot_vm_unwinding(const struct hotspot_vm *vm, struct unwind_vm *ret);
