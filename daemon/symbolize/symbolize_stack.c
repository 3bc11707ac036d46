/* SPDX-License-Identifier: Apache-2.0 */
/* Names a stack: decides which part of symbolize/ names which frame of a sample. */
#include "base/clock.h"
#include "base/text.h"
#include "profile/profile.h"
#include "symbolize/java_text.h"
#include "symbolize/native_locks.h"
#include "symbolize/stack_root.h"
#include "symbolize/symbolizer_impl.h"
#include "unwind/unwind.h"

#define VSYSCALL_START UINT64_C(0xffffffffff600000)
#define VSYSCALL_BYTES UINT64_C(0x1000)

static void add_frame(const struct symbolizer *s, struct named_stack *out, uint32_t frame)
{
    if (out->count == STACK_FRAMES_MAX) {
        out->truncated = true;
        return;
    }
    if (s->code)
        s->code[out->count] = 0;
    out->frames[out->count++] = frame;
    if (frame < RECORD_LATER)
        out->unknown += frame_table_get(s->frames, frame)->unknown;
}

/* Does the same for native code at @address. */
static void add_native(const struct symbolizer *s, struct named_stack *out, uint32_t frame,
                       uint64_t address)
{
    size_t at = out->count;

    add_frame(s, out, frame);
    if (s->code && out->count > at)
        s->code[at] = address;
}

/* The process and times of the sample that is being named. */
struct naming {
    struct symbolizer *s;
    struct resolver *r; /* NULL: the process is unknown */
    struct hotspot_vm *vm;
    bool jvm, java;                 /* the process is a JVM; its Java code gets names */
    const struct code_later *later; /* NULL: names are final */
    uint64_t at_ns, now_ns;         /* time of the sample; time of its naming */
    uint64_t unanswered;            /* hotspot_vm_unanswered() before the naming */
    uint64_t incomplete;            /* java_names_incomplete() before the naming */
    bool nameless;                  /* some Java code of the sample got no name */
};

static uint64_t incomplete_of(const struct naming *n)
{
    const struct java_names *j = n->r && n->java && n->jvm ? resolver_java(n->r) : NULL;

    return j ? java_names_incomplete(j) : 0;
}

static void begin_moment(struct naming *n)
{
    n->incomplete = incomplete_of(n);
    n->unanswered = hotspot_vm_unanswered(n->vm);
    hotspot_vm_moment(n->vm, n->at_ns);
}

static void end_moment(struct naming *n)
{
    hotspot_vm_moment(n->vm, 0);
    if (n->r && ((n->nameless && hotspot_vm_unanswered(n->vm) != n->unanswered) ||
                 incomplete_of(n) != n->incomplete))
        resolver_leave_unread(n->r, n->now_ns);
}

/* Appends the frames of a word of kind NATIVE, COMPILED or STUB. */
static void add_code(struct naming *n, uint64_t word, bool is_return_address,
                     struct named_stack *out)
{
    uint64_t kind = word >> UNWIND_KIND_SHIFT, pc = word & UNWIND_PC_MASK;
    bool generated = kind != UNWIND_NATIVE || (n->vm && hotspot_vm_in_code_cache(n->vm, pc));
    uint32_t frames[JAVA_EXPAND_MAX];
    struct java_names *j;
    uint32_t later = 0;
    size_t count = 0;

    if (n->java && n->jvm && (generated || !n->vm) && (j = resolver_java(n->r)))
        count = java_names_code(j, n->vm, word, is_return_address, n->now_ns, frames,
                                ARRAY_SIZE(frames));
    if (!count && !generated) {
        uint32_t frame =
            resolver_native(n->r, pc - is_return_address, n->java || !n->jvm, n->now_ns);

        /* If the JVM is not supported, code without a file may be its Java code. */
        if (n->vm || frame) {
            add_native(n->s, out, frame, pc - is_return_address);
            return;
        }
    }
    n->nameless |= n->java && !count;
    if (n->later && n->jvm)
        later = n->later->add(n->later->cookie, word, is_return_address, frames, count);
    if (later || !count)
        add_frame(n->s, out, later);
    for (size_t i = 0; i < count && !later; i++)
        add_frame(n->s, out, frames[i]);
}

/* Returns the frame of an interpreted method. The word after the method's is its bcp, which the
 * caller skips. */
static uint32_t interpreted_frame(struct naming *n, uint64_t method, uint64_t bcp)
{
    struct java_names *j = n->r && n->java ? resolver_java(n->r) : NULL;
    uint32_t frame = j ? java_names_interpreted(j, n->vm, method, bcp, n->at_ns, n->now_ns) : 0;

    n->nameless |= j && !frame;
    return frame;
}

static bool is_vsyscall(uint64_t word)
{
    return word >= VSYSCALL_START && word - VSYSCALL_START < VSYSCALL_BYTES;
}

/* Appends the frames of user words. @called: the first of @words is a return address. */
static void add_user(struct naming *n, const uint64_t *words, size_t count, bool called,
                     struct named_stack *out)
{
    bool exact = !called; /* true for the leaf's pc and for the pc of a frame that a signal
                           * interrupted */

    for (size_t i = 0; i < count; i++) {
        uint64_t word = words[i], pc = word & UNWIND_PC_MASK;
        bool signal = false;

        if (is_vsyscall(word)) {
            add_frame(n->s, out, n->s->vsyscall);
            exact = false;
            continue;
        }
        switch (word >> UNWIND_KIND_SHIFT) {
        case UNWIND_NATIVE:
        case UNWIND_COMPILED:
        case UNWIND_STUB:
            if (n->r)
                add_code(n, word, !exact, out);
            else
                add_frame(n->s, out, 0);
            break;
        case UNWIND_SIGNAL: /* its return address is the first byte of the trampoline */
            add_native(n->s, out,
                       n->r ? resolver_native(n->r, pc, n->java || !n->jvm, n->now_ns) : 0, pc);
            signal = true;
            break;
        case UNWIND_INTERPRETED:
            i++;
            add_frame(n->s, out, i < count ? interpreted_frame(n, pc, words[i]) : 0);
            break;
        case UNWIND_MARK:
            out->frozen |= pc == UNWIND_MARK_FROZEN;
            add_frame(n->s, out, n->s->gap);
            break;
        default:
            add_frame(n->s, out, 0);
        }
        exact = signal;
    }
}

/* Returns how many of @words, from the leaf, belong to the VM's slow path: all before the first
 * Java code. Returns 0 if there is no Java code. */
static size_t vm_words(const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t kind = words[i] >> UNWIND_KIND_SHIFT;

        if (kind == UNWIND_INTERPRETED || kind == UNWIND_COMPILED)
            return i;
    }
    return 0;
}

/* Returns the class of an allocated object as a frame. */
static uint32_t class_frame(struct naming *n, uint64_t klass)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(TEXT_NAME_MAX), clean = BUF_UPTO(TEXT_NAME_MAX);
    char name[HOTSPOT_CLASS_NAME_MAX];
    int r = n->vm ? hotspot_class_name(n->vm, klass, name) : -ENOENT;

    if (r < 0)
        return 0;
    java_type_text((struct span){ name, (size_t)r }, &text);
    text_clean(buf_span(&text), TEXT_MODIFIED_UTF8, TEXT_NAME_MAX, &clean);
    return frame_table_text(n->s->frames, buf_span(&clean), FRAME_CLASS);
}

bool symbolizer_reads(struct symbolizer *s, struct process *p, const struct sample_record *rec,
                      const uint64_t *frames, bool java)
{
    struct resolver *r = rec->user_count ? symbolizer_resolver(s, p) : NULL;
    bool perf_map = java || p->jvm == JVM_NO, exact = true, reads = false;
    const uint64_t *words = frames + rec->kernel_count;
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = 0; i < rec->kernel_count; i++)
        reads |= kernel_names_reads(s->kernel, frames[i] - (i > 0), now_ns);
    if (r)
        resolver_tick(r, now_ns);
    for (size_t i = 0; r && i < rec->user_count; i++) {
        uint64_t kind = words[i] >> UNWIND_KIND_SHIFT, pc = words[i] & UNWIND_PC_MASK;

        if ((kind == UNWIND_NATIVE || kind == UNWIND_SIGNAL) && !is_vsyscall(words[i]) &&
            !(p->jvm == JVM_READY && hotspot_vm_in_code_cache(p->vm, pc)))
            reads |= resolver_reads(r, pc - (kind == UNWIND_NATIVE && !exact), perf_map, now_ns);
        exact = kind == UNWIND_SIGNAL;
        i += kind == UNWIND_INTERPRETED; /* the next word is its bcp */
    }
    return reads;
}

static bool user_is_truncated(const struct symbolizer *s, const struct sample_record *rec,
                              const uint32_t *frames, size_t count)
{
    if (rec->flags & SAMPLE_KERNEL_THREAD)
        return rec->flags & SAMPLE_KERNEL_CUT;
    if (rec->flags & SAMPLE_USER_CUT)
        return true;
    return rec->user_end != UNWIND_END_ROOT && !stack_ends_in_go(s->frames, frames, count);
}

/* Returns true if @rec has the whole stack of another thread than the first of its process. */
static bool is_whole_thread(const struct sample_record *rec)
{
    return rec->user_end == UNWIND_END_ROOT && !(rec->flags & SAMPLE_USER_CUT) && rec->user_count &&
           rec->host_tid && rec->host_tid != rec->host_pid;
}

/* Appends frames of the lock that a thread waited for: the owner, the class, the kind of wait. */
static void add_lock(struct naming *n, const struct sample_record *rec, struct named_stack *out)
{
    struct lock_names *l = n->r ? resolver_locks(n->r) : NULL;
    struct lock_frames frames;

    if (!l)
        return;
    lock_names_get(l, n->java ? n->vm : NULL, rec, n->now_ns, &frames);
    if (frames.owner)
        add_frame(n->s, out, frames.owner);
    add_frame(n->s, out, frames.class_frame);
    add_frame(n->s, out, frames.kind);
}

/* Sets the frames of a futex. By now the frames below it are named, and show what the futex is. */
static void fill_futex(struct naming *n, uint64_t address, struct named_stack *out)
{
    struct lock_frames frames;

    if (out->count < 2)
        return;
    out->left_out =
        !native_lock_get(n->s->frames, address, out->frames + 2, out->count - 2, &frames);
    out->frames[0] = frames.class_frame;
    out->frames[1] = frames.kind;
}

static void name_stack(struct naming *n, struct process *p, const struct sample_record *rec,
                       const uint64_t *frames, struct named_stack *ret)
{
    struct symbolizer *s = n->s;
    struct java_names *j;
    size_t user, skip = 0;
    bool reads = false;

    uint64_t refused = frame_table_refused(s->frames);

    n->at_ns = rec->time_ns;
    ret->count = ret->unknown = 0;
    ret->truncated = ret->frozen = ret->left_out = ret->generated = false;
    if (p && (rec->user_count || rec->lock)) {
        n->r = symbolizer_resolver(s, p);
        n->jvm = p->jvm != JVM_NO;
        n->vm = p->jvm == JVM_READY ? p->vm : NULL;
        if (n->r)
            resolver_tick(n->r, n->now_ns);
    }
    symbolizer_charge(s, n->r);
    if (rec->lock == UNWIND_LOCK_FUTEX) {
        ret->count = 2; /* two frames that fill_futex() sets later */
        if (s->code)
            s->code[0] = s->code[1] = 0;
    } else if (rec->lock) {
        add_lock(n, rec, ret);
    }
    if (sample_is_runnable(rec))
        add_frame(s, ret, rec->flags & SAMPLE_THROTTLED ? s->throttled : s->runnable);
    symbolizer_charge(s, NULL); /* kernel names are charged to no owner */
    for (size_t i = 0; i < rec->kernel_count; i++) {
        uint64_t address = frames[i] - (i > 0);

        add_frame(s, ret, kernel_names_frame(s->kernel, address, n->now_ns));
        reads |= kernel_names_reads(s->kernel, address, n->now_ns);
    }
    if (rec->flags & SAMPLE_KERNEL_CUT && rec->user_count)
        add_frame(s, ret, s->gap);
    user = ret->count;
    symbolizer_charge(s, n->r);
    if (n->vm && rec->user_count) {
        begin_moment(n);
        j = n->java && n->r ? resolver_java(n->r) : NULL;
        if (j && rec->unloads)
            java_names_see_unloads(j, rec->unloads - 1, n->at_ns);
        if (j)
            java_names_prepare(j, n->vm, frames + rec->kernel_count, rec->user_count, n->at_ns,
                               n->now_ns);
    }
    if (rec->klass) {
        add_frame(s, ret, n->java ? class_frame(n, rec->klass) : 0);
        skip = vm_words(frames + rec->kernel_count, rec->user_count);
    }
    add_user(n, frames + rec->kernel_count + skip, rec->user_count - skip,
             skip > 0 || sample_is_virtual(rec), ret);
    if (n->vm && rec->user_count)
        end_moment(n);
    if (is_whole_thread(rec) && !ret->truncated)
        ret->unknown -= stack_name_thread_start(s->frames, ret->frames + user, ret->count - user);
    if (rec->lock == UNWIND_LOCK_FUTEX)
        fill_futex(n, rec->lock_class, ret);
    if (n->r) /* not in a JVM, where GraalVM's JIT compiler is a native image in a library */
        p->native_image = p->jvm == JVM_NO ? resolver_native_image(n->r) : IMAGE_NO;
    ret->generated = n->r && p->jvm == JVM_NO && resolver_met_generated(n->r);
    symbolizer_charge(s, NULL);
    if (n->r && frame_table_refused(s->frames) != refused)
        resolver_leave_out(n->r, n->now_ns);
    ret->reads = reads || (n->r && resolver_met_reading(n->r));
    ret->truncated |= user_is_truncated(s, rec, ret->frames + user, ret->count - user);
}

void symbolizer_stack(struct symbolizer *s, struct process *p, const struct sample_record *rec,
                      const uint64_t *frames, bool java, struct named_stack *ret)
{
    struct naming n = { .s = s, .java = java, .now_ns = clock_monotonic_ns() };

    name_stack(&n, p, rec, frames, ret);
}

void symbolizer_stack_later(struct symbolizer *s, struct process *p,
                            const struct sample_record *rec, const uint64_t *frames,
                            const struct code_later *later, struct named_stack *ret)
{
    struct naming n = { .s = s, .java = true, .later = later, .now_ns = clock_monotonic_ns() };

    name_stack(&n, p, rec, frames, ret);
}

void symbolizer_java_stack(struct symbolizer *s, struct process *p, const uint64_t *words,
                           size_t count, uint64_t at_ns, struct named_stack *ret)
{
    struct naming n = { .s = s,
                        .r = symbolizer_resolver(s, p),
                        .vm = p->jvm == JVM_READY ? p->vm : NULL,
                        .jvm = true,
                        .java = true,
                        .at_ns = at_ns,
                        .now_ns = clock_monotonic_ns() };
    struct java_names *j = n.r ? resolver_java(n.r) : NULL;
    size_t kept = 0;

    ret->count = ret->unknown = 0;
    ret->truncated = ret->frozen = ret->left_out = ret->generated = ret->reads = false;
    if (!n.vm || !j)
        return;
    symbolizer_charge(s, n.r);
    begin_moment(&n);
    java_names_prepare(j, n.vm, words, count, at_ns, n.now_ns);
    add_user(&n, words, count, /* called= */ true, ret);
    end_moment(&n);
    symbolizer_charge(s, NULL);
    for (size_t i = 0; i < ret->count; i++) {
        if (frame_table_get(s->frames, ret->frames[i])->kind != FRAME_STUB)
            ret->frames[kept++] = ret->frames[i];
    }
    ret->count = kept;
}

bool symbolizer_is_native(struct symbolizer *s, struct process *p, uint32_t function)
{
    struct resolver *r = symbolizer_resolver(s, p);
    const struct java_names *j = r ? resolver_java(r) : NULL;

    return j && java_names_is_native(j, function);
}
