/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of hotspot/: a running HotSpot JVM read from outside, through a read-only fd of its
 * memory (/proc/PID/mem, opened by the broker). Everything read is foreign and may be garbage or
 * change while we read. All sizes, counts and offsets are bounded, and what does not fit is
 * refused, not guessed. Knows VMStructs layouts of JDK 8, 11, 17, 21 and 25 to 28; facts carry
 * their JDK version. Thread: one at a time per struct hotspot_vm. Calls pread() only.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "proc/proc.h"
#include "sample/sample_abi.h"
#include "unwind/context.h"
#include "unwind/process.h"

struct counters;
struct hotspot_vm;
struct hotspot_layout;

/* Outcomes > 0. */
enum hotspot_outcome {
    HOTSPOT_NOT_READY = 1,   /* tables or heaps are not there yet: ask again in 50 ms */
    HOTSPOT_UNSUPPORTED = 2, /* no VMStructs, or a layout that is not known: err says which */
    HOTSPOT_NO_CODE = 3,     /* the address is in no live code of this JVM */
    HOTSPOT_GONE = 4,        /* the memory cannot be read any more: the process exited or exec'ed */
};

/*
 * Opens the JVM whose libjvm.so is mapped from @libjvm_base (start of its mapping of file offset
 * 0).
 * @mem_fd is of the process @id (whose readings may not come back, proc/stall_readers.h; NULL: not
 * known), borrowed, and must outlive the result. Finds the gHotSpotVM* tables by the dynamic
 * symbols in the target's memory. 0 and *ret owned by the caller; HOTSPOT_NOT_READY,
 * HOTSPOT_UNSUPPORTED or HOTSPOT_GONE with @err set; -ENOMEM.
 */
int hotspot_vm_open(int mem_fd, const struct proc_id *id, uint64_t libjvm_base,
                    struct hotspot_vm **ret, struct error *err);
struct hotspot_vm *hotspot_vm_close(struct hotspot_vm *vm);

/* Feature release: 8, 11, 17, 21, 25, ... */
int hotspot_vm_jdk(const struct hotspot_vm *vm);
/* "17.0.15+6-Debian-1deb12u1" and "OpenJDK 64-Bit Server VM" as the VM itself says ("" if not
 * found). */
const char *hotspot_vm_version(const struct hotspot_vm *vm);
const char *hotspot_vm_name(const struct hotspot_vm *vm);

/* Returns whether a JVMCI library, such as Graal, compiles in the place of C2. */
bool hotspot_vm_uses_jvmci(const struct hotspot_vm *vm);
/* Returns a sentence about a release that flamed does not know, where it works. It says how many
 * names were checked against the process, and what is switched off. "": the release is known. */
const char *hotspot_vm_note(const struct hotspot_vm *vm);

/* -XX flag @name of bool or integer type, from the VM's own flag table. 0; -ENOENT; HOTSPOT_GONE.
 */
int hotspot_vm_flag(struct hotspot_vm *vm, const char *name, uint64_t *ret);
/* Append to @ret the main class or jar with its arguments (Arguments::_java_command), or the JVM's
 * arguments, as raw bytes cut to @max. JVM arguments are separated by NUL. Return: 0, -ENOENT,
 * HOTSPOT_GONE. */
int hotspot_vm_command(struct hotspot_vm *vm, size_t max, struct buf *ret);
int hotspot_vm_arguments(struct hotspot_vm *vm, size_t max, struct buf *ret);

/* Reads what the VM counts about itself (hotspot/counters.h), now, in one reading: some 32 KiB.
 * Its threads are looked at, too, for what they have allocated, if the last look is @look_ns old.
 * Return: 0. -ENOENT: it keeps no counters (-XX:-UsePerfData). -EBADMSG: they make no sense, or it
 * is starting. -ETIMEDOUT: the reading has not come back. HOTSPOT_GONE; -errno. */
int hotspot_vm_counters(struct hotspot_vm *vm, uint64_t look_ns, struct counters *ret);

enum hotspot_code_kind {
    HOTSPOT_CODE_COMPILED, /* nmethod */
    HOTSPOT_CODE_NATIVE,   /* native wrapper of a JNI method (also an nmethod) */
    HOTSPOT_CODE_INTERPRETER,
    HOTSPOT_CODE_STUB, /* StubRoutines, vtable and itable stubs, adapters, runtime and safepoint
                          blobs */
};

/* What lives at an address of the code cache. */
struct hotspot_code {
    enum hotspot_code_kind kind;
    uint64_t start, end; /* instructions */
    uint64_t blob;       /* address of the CodeBlob: with compile_id it names this piece of code */
    uint64_t method;     /* Method*, 0 for stubs */
    int32_t compile_id;
    uint8_t level;  /* 1..3 C1, 4 C2 or JVMCI, 0 not compiled */
    bool part;      /* of a blob that holds several stubs: @start and @end are its own */
    char name[128]; /* of stubs and interpreter codelets, raw: "jint_arraycopy", "iload" */
};

/* Makes the questions that follow be about the moment @at_ns (monotonic). Answers may come from
 * memory that was read after that, and at most MEMORY_MOMENT_NS ago. 0 ends it: memory is read
 * again. */
void hotspot_vm_moment(struct hotspot_vm *vm, uint64_t at_ns);

/* Gets how many classes it has unloaded, with a few small reads. As long as that is the same, what
 * lies at the address of a method stays that method. 0; -ENOENT: it does not count them, or classes
 * may be redefined, which frees methods, too; HOTSPOT_GONE; -errno. */
int hotspot_vm_unloads(struct hotspot_vm *vm, uint64_t *ret);

/* Compares with the code cache's outer bounds: a cheap first test for a pc. False while they are
 * unknown. */
bool hotspot_vm_in_code_cache(const struct hotspot_vm *vm, uint64_t pc);

/* Finds the code at @pc. 0; HOTSPOT_NO_CODE; HOTSPOT_GONE. */
int hotspot_code_find(struct hotspot_vm *vm, uint64_t pc, struct hotspot_code *ret);

/* Checks whether @code is still what it was when it was found: its block in use, its compile id the
 * same. One small read, none if it was made in this moment. 1; 0; -ESRCH the process is gone. */
int hotspot_code_still(struct hotspot_vm *vm, const struct hotspot_code *code);
/* Returns whether the VM keeps the stub @code until it ends. Others it frees without unloading a
 * class, such as those that upcalls come by. */
static inline bool hotspot_code_is_kept(const struct hotspot_code *code)
{
    static const char ROUTINES[] = "StubRoutines";

    return code->kind == HOTSPOT_CODE_INTERPRETER ||
           (code->kind == HOTSPOT_CODE_STUB &&
            (code->part || strncmp(code->name, ROUTINES, sizeof(ROUTINES) - 1) == 0));
}

#define HOTSPOT_INLINE_MAX 64 /* frames of one compiled pc */

/* How the innermost frame of a pc is known. */
enum hotspot_leaf {
    HOTSPOT_LEAF_RECORDED, /* by a record of the VM's that is behind the pc */
    HOTSPOT_LEAF_INFERRED, /* by the loop that the pc is in, and the records of that loop */
    HOTSPOT_LEAF_UNSURE,   /* it is that frame, or a method that is inlined there */
};

struct hotspot_location {
    uint64_t method; /* Method* */
    int32_t bci;     /* -1: unknown */
    bool inlined;    /* into the next entry */
    uint8_t leaf;    /* enum hotspot_leaf, of the first entry */
};

/*
 * Gives the Java frames of compiled code at @pc, innermost first, the compiled method itself last.
 * HotSpot's own rule gives the PcDesc (@is_return_address: exact match; else the first behind it).
 * A pc in a loop is placed by the loop (hotspot/leaf/leaf.h).
 * Without debug information: bci -1 and the method alone. Return: their number >= 1, or -errno; 0
 * if the code is gone (another compile id by now).
 */
int hotspot_code_locate(struct hotspot_vm *vm, const struct hotspot_code *code, uint64_t pc,
                        bool is_return_address, struct hotspot_location ret[HOTSPOT_INLINE_MAX]);

/* Calls @fn for each range of @code with one and the same chain of methods, innermost first, until
 * it returns non-zero, which is returned. 0: all of it; -ENOENT: the code is gone; -errno. */
typedef int (*hotspot_range_fn)(void *cookie, uint64_t start, uint64_t end,
                                const struct hotspot_location *frames, size_t count);
int hotspot_code_ranges(struct hotspot_vm *vm, const struct hotspot_code *code, hotspot_range_fn fn,
                        void *cookie);

/* A method's names: raw bytes (modified UTF-8, internal form with slashes), to be cleaned by the
 * caller. */
struct hotspot_method {
    char class_name[1024]; /* "java/lang/Thread" */
    char name[512];
    char signature[1024]; /* "(ILjava/lang/String;)V" */
    char file[256];       /* "Thread.java", "" unknown */
    uint64_t
        const_method; /* with the address of the Method: tells whether a cache entry still holds */
    uint16_t class_name_n, name_n, signature_n, file_n; /* bytes; NUL inside is possible */
};
int hotspot_method_read(struct hotspot_vm *vm, uint64_t method, struct hotspot_method *ret);
#define HOTSPOT_CLASS_NAME_MAX 1024
/* The name of the class whose Klass is at @klass, raw: "java/lang/Thread", "[J",
 * "[Ljava/lang/String;". With HOTSPOT_CLASS_ARRAY_OF added: of the class of arrays of that. A
 * number from 4 to 11 is an array of a primitive type, as `newarray` means it. Return: its bytes,
 * cut at HOTSPOT_CLASS_NAME_MAX; -EBADMSG: there is no class; HOTSPOT_GONE as -ESRCH; -errno. */
#define HOTSPOT_CLASS_ARRAY_OF 1
int hotspot_class_name(struct hotspot_vm *vm, uint64_t klass, char ret[HOTSPOT_CLASS_NAME_MAX]);
/* Bytes into a JavaThread, to what it allocates in. */
struct hotspot_allocation {
    uint32_t allocated_bytes; /* without the present buffer, */
    uint32_t tlab_start, tlab_top, tlab_end;
};
/* False: the tables of this VM do not tell. */
bool hotspot_vm_allocation(const struct hotspot_vm *vm, struct hotspot_allocation *ret);
/* Bytes into a java.lang.Class, to its Klass*. 0; -ENOTSUP: the tables of this VM do not tell;
 * -errno.
 */
int hotspot_class_klass(struct hotspot_vm *vm, uint32_t *ret);
/* Returns the address of the number of collections that have begun, 32 bits; 0: not known. */
uint64_t hotspot_vm_collections(struct hotspot_vm *vm);
#define HOTSPOT_LIVE_MAX 4096
/* Words that a collector clears if their object is gone, and whether it is not. */
struct hotspot_live {
    uint32_t count;
    uint32_t collections; /* 1 + those that have begun; 0: not known */
    bool under_way;       /* the last of these may have cleared nothing yet */
    bool young_blind;     /* those of the young generation alone clear nothing */
    uint64_t words[HOTSPOT_LIVE_MAX];
    bool alive[HOTSPOT_LIVE_MAX];
};
/* Reads what the words of @l have. One that cannot be read, or at 0, is not alive. 0; HOTSPOT_GONE;
 * -ETIMEDOUT: its memory does not answer; -errno. */
int hotspot_vm_live(struct hotspot_vm *vm, struct hotspot_live *l);
/* Bytes into a JavaThread, to what it does (JavaThread::_thread_state). */
uint32_t hotspot_vm_thread_state(const struct hotspot_vm *vm);
/* What that can be. It runs no code below @begun. */
struct hotspot_thread_states {
    uint8_t begun, native, blocked, end; /* end: the first number that means nothing */
};
/* Gets how this VM numbers that. -ENOENT: it does not tell. */
int hotspot_vm_thread_states(const struct hotspot_vm *vm, struct hotspot_thread_states *ret);
/* Finds what a JavaThread knows of safepoints: bytes into it, to the address of a struct. That has
 * the number of the safepoint that the thread stopped for, HOTSPOT_SAFEPOINT_ID_BYTES into it; 0:
 * of none. 0: a JVM without, or not known. Reads memory: may take as long as it does not answer. */
uint32_t hotspot_vm_safepoint_state(struct hotspot_vm *vm);
#define HOTSPOT_SAFEPOINT_ID_BYTES 24
/* What a function of libjvm gets that Java code calls to allocate. */
enum hotspot_allocator {
    HOTSPOT_C2_INSTANCE, /* (Klass*, JavaThread*) */
    HOTSPOT_C2_ARRAY,    /* (Klass*, int length, JavaThread*) */
    HOTSPOT_C2_MULTI2,   /* (Klass*, int, int, JavaThread*); and so on: */
    HOTSPOT_C2_MULTI3,
    HOTSPOT_C2_MULTI4,
    HOTSPOT_C2_MULTI5,
    HOTSPOT_C2_FILLED,            /* (Klass*, int length, value of its elements, JavaThread*) */
    HOTSPOT_C1_INSTANCE,          /* (JavaThread*, Klass*) */
    HOTSPOT_C1_ARRAY,             /* (JavaThread*, Klass*, int length) */
    HOTSPOT_C1_MULTI,             /* (JavaThread*, Klass*, int rank, int *lengths) */
    HOTSPOT_INTERPRETER_INSTANCE, /* (JavaThread*, ConstantPool*, int index) */
    HOTSPOT_INTERPRETER_ARRAY,    /* (JavaThread*, type, int length) */
    HOTSPOT_INTERPRETER_OBJECTS,  /* (JavaThread*, ConstantPool*, int index, int length) */
    HOTSPOT_ALLOCATORS,
};
#define HOTSPOT_ALLOCATORS_MAX 16 /* functions; there are 15 at most */
struct hotspot_allocators {
    uint32_t layout_helper;    /* bytes into a Klass, */
    uint32_t element_klass;    /* an ObjArrayKlass, */
    uint32_t resolved_klasses; /* a ConstantPool; 0 in JDK 8: its slots have the classes */
    uint32_t pool_bytes;       /* of a ConstantPool, before its slots */
    uint32_t reference_bytes;  /* in an array of objects */
    bool complete;             /* false: a compiler of this VM has not made its stubs yet */
    uint32_t count;
    struct {
        uint64_t function; /* address */
        enum hotspot_allocator kind;
    } at[HOTSPOT_ALLOCATORS_MAX];
};
/* Finds the functions that allocate by the calls in the stubs of the compilers and in the
 * interpreter: no symbols are needed. Return: 0. -ENOENT: the tables of this VM do not tell enough.
 * HOTSPOT_GONE; -errno. */
int hotspot_vm_allocators(struct hotspot_vm *vm, struct hotspot_allocators *ret);
/* A place of a stack: an interpreted method and the address of its bytecode (0: at its entry), or a
 * pc of the code cache. */
struct hotspot_place {
    uint64_t method, bcp; /* method 0: the pc counts */
    uint64_t pc;
    bool is_return_address;
};
#define HOTSPOT_PREPARE_MAX 32
/* Reads what is asked of @places (at most HOTSPOT_PREPARE_MAX), all in one turn, for the questions
 * of this moment that follow. */
void hotspot_prepare(struct hotspot_vm *vm, const struct hotspot_place *places, size_t count);
/* Line of @bci in @method; 0 where unknown. */
uint32_t hotspot_method_line(struct hotspot_vm *vm, uint64_t method, int32_t bci);
/* Returns the bytecode index of @bcp, an address in @method's bytecodes (an interpreted frame's);
 * -1 if it is none. */
int32_t hotspot_method_bci(struct hotspot_vm *vm, uint64_t method, uint64_t bcp);

/* What is read of a thread besides its number. */
enum { HOTSPOT_THREAD_NAME = 1, HOTSPOT_THREAD_OWNER = 2 };

/* A Java thread. What was not asked for is 0. */
struct hotspot_thread {
    int32_t ns_tid; /* in the target's innermost pid namespace */
    uint64_t java_thread;
    struct span name; /* raw modified UTF-8; "": not to be had at this moment */
    /* What the words of locks know an owner by, besides java_thread. */
    uint64_t owner_id;              /* JDK 24 up; 0: none */
    uint64_t stack_low, stack_high; /* JDK 8..21: a word of the owner's stack */
};
/* @t: valid during the call, which asks nothing of the VM. */
typedef void (*hotspot_thread_fn)(void *cookie, const struct hotspot_thread *t);
#define HOTSPOT_THREADS_MAX 65536
#define HOTSPOT_THREAD_NAMES_MAX ((size_t)4 << 20) /* bytes of all names; later ones are "" */
/* Calls @fn for each thread in the VM's list, which is read in one turn. @what: bits of
 * HOTSPOT_THREAD_*. Number of threads; or, without a call, HOTSPOT_GONE as -ESRCH, or -errno. */
int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie);

/* Does the same for the one thread whose JavaThread is at @java_thread. 0: no thread that runs Java
 * has its JavaThread there, or that cannot be told (hotspot_vm_locks()). */
int hotspot_vm_thread(struct hotspot_vm *vm, uint64_t java_thread, unsigned what,
                      hotspot_thread_fn fn, void *cookie);
/* Returns whether the JavaThread at @java_thread still is that of thread @ns_tid. */
bool hotspot_thread_is(struct hotspot_vm *vm, uint64_t java_thread, int32_t ns_tid);

/* Gets where this VM keeps what threads wait for. 0; -EAGAIN: it is starting, *ret has what is
 * known so far; -ENOENT: not known for this VM; HOTSPOT_GONE. */
int hotspot_vm_locks(struct hotspot_vm *vm, struct unwind_locks *ret);

/* Gets where this VM's ZGC keeps what it has moved. 0; -EAGAIN: not to be read at this moment;
 * -ENOENT: it runs another collector, or that is not known. Call hotspot_vm_locks() before. */
int hotspot_vm_zgc(struct hotspot_vm *vm, struct unwind_zgc *ret);

/* Gets where mounted virtual threads of this VM keep their frozen frames. 0. -EAGAIN: not now, such
 * as before the first virtual thread. -ENOENT: it has none, or in a way that is not known. Call
 * hotspot_vm_locks() before. HOTSPOT_GONE. */
int hotspot_vm_frozen(struct hotspot_vm *vm, struct unwind_frozen *ret);

/* Compiles where the threads of this VM keep their requests, for the tracer that it has.
 * *ret_tracer: its name, static; "" where there is none. Reads all classes of the VM: some 10 ms.
 * 0. -ENOENT: no tracer that is known. -EAGAIN: not yet, such as before its first request.
 * -EOPNOTSUPP with @err: its release keeps them in another way. HOTSPOT_GONE; -errno. */
int hotspot_vm_context(struct hotspot_vm *vm, struct context_path *ret, const char **ret_tracer,
                       struct error *err);

enum hotspot_lock_kind {
    HOTSPOT_LOCK_OTHER,
    HOTSPOT_LOCK_SYNCHRONIZER, /* an AbstractOwnableSynchronizer */
    HOTSPOT_LOCK_CONDITION,    /* a condition of one */
};
/* The class of a lock: the name is raw, in internal form with slashes. */
struct hotspot_lock_class {
    enum hotspot_lock_kind kind;
    bool owner_known; /* its owner lies where hotspot_vm_locks() says */
    char name[1024];
    uint16_t name_n;
};
/* Returns the Klass that the class word @word of an object means; 0: none. Reads nothing. */
uint64_t hotspot_lock_klass(const struct hotspot_vm *vm, uint64_t word);
/* Returns the class word of an object of class @klass: the reverse. */
uint64_t hotspot_lock_word(const struct hotspot_vm *vm, uint64_t klass);
/* Reads the class at @klass. 0; -ENOENT: there is none; -ETIMEDOUT: not now; HOTSPOT_GONE. */
int hotspot_lock_class(struct hotspot_vm *vm, uint64_t klass, struct hotspot_lock_class *ret);

#define HOTSPOT_OWNER_MARK_MAX 2 /* words of owners up to this name no thread: nobody, unknown */
/* What the thread whose JavaThread is at @thread waits for now, in the words that its memory has.
 * 0; -ENOENT: for no lock, or nothing can be read; HOTSPOT_GONE. */
struct hotspot_lock {
    uint8_t kind; /* enum unwind_lock */
    uint64_t class_word, owner;
};
int hotspot_lock_read(struct hotspot_vm *vm, uint64_t thread, struct hotspot_lock *ret);

#define HOTSPOT_WAITING_MAX 32
#define HOTSPOT_WAITING_WORDS (2 * SAMPLE_USER_MAX)
#define HOTSPOT_STACKS_BYTES_MAX (512u << 10) /* of copies of a batch: several */
/* A thread that does not run, or did run with its stack copied then, and its user stack. */
struct hotspot_waiting {
    int32_t host_tid;
    uint32_t stack_at, stack_bytes; /* the copy from its stack pointer on, of the batch's stacks; 0
                                     * bytes: its stack is read, if it has not run */
    bool asks_lock;                 /* what it waits for is read, too */
    bool waits_for_lock;            /* for that: */
    struct hotspot_lock lock;
    bool wants_thread; /* the walk needed java_thread, which is 0 */
    uint8_t end; /* enum unwind_end; NOT_TAKEN: it has run; COPY: its stack is longer than the copy
                  */
    uint64_t registers[SAMPLE_REGISTER_COUNT]; /* by enum sample_register */
    uint64_t java_thread;                      /* 0: not known */
    uint32_t first, count;                     /* of the words of the batch */
    bool has_context;                          /* its request was asked for: */
    struct sample_context context;
};
/* Some of one process. Up to word_count all is given, but @done. */
struct hotspot_waiting_batch {
    int proc_fd;                   /* of /proc, borrowed for good, as the rows are: */
    const struct unwind_row *rows; /* that process.mappings speaks of */
    uint32_t row_count, max_words; /* max_words: of a stack; at most SAMPLE_USER_MAX */
    struct unwind_process process;
    struct context_path path; /* to threads' requests; none: they are not read */
    uint32_t count, done;     /* of threads: given; walked */
    struct hotspot_waiting threads[HOTSPOT_WAITING_MAX];
    uint32_t word_count;
    uint64_t words[HOTSPOT_WAITING_WORDS];
    uint32_t stacks_bytes; /* of copies, behind this struct */
    uint32_t zero;
};
/* Returns where the copies of @b lie. */
static inline uint8_t *hotspot_waiting_stacks(struct hotspot_waiting_batch *b)
{
    return (uint8_t *)(b + 1);
}
/* Walks the stacks of the first threads of @b, at least of one: b->done. @vm NULL: the memory
 * of the process cannot be read; only copies are walked. 0; -ETIMEDOUT: its memory does not answer;
 * -errno.
 */
int hotspot_walk_waiting(struct hotspot_vm *vm, struct hotspot_waiting_batch *b);

/* Calls @fn for each live piece of code (perf map, tests). In a blob of several stubs that is each
 * of them, and what lies between. The interpreter is one. Stops when @fn returns non-zero, and
 * returns that. Else returns the number of pieces, or -errno. */
typedef int (*hotspot_code_fn)(void *cookie, const struct hotspot_code *code);
int hotspot_vm_codes(struct hotspot_vm *vm, hotspot_code_fn fn, void *cookie);
/* What of the VM's list of stubs was read so far, for those who look after it. */
struct hotspot_stubs {
    size_t named;     /* entries with a name */
    size_t vtables;   /* vtable and itable stubs */
    uint64_t dropped; /* entries that make no sense, and the rest of a list without end */
};
struct hotspot_stubs hotspot_vm_stubs(const struct hotspot_vm *vm);

/* Gets what the unwinder needs of this VM. 0; -EOPNOTSUPP: more code heaps than it can hold. */
int hotspot_vm_unwinding(const struct hotspot_vm *vm, struct unwind_vm *ret);
