/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out whether a process is a JVM, and which. The mapping of libjvm.so decides, for any name
 * of the launcher and even if the file is deleted. All other facts are read from the VM's own
 * memory, also which of several libjvm.so runs. flamed changes nothing in the process.
 */
#include "discover/table.h"

#include "base/clock.h"
#include "base/text.h"
#include "discover/args.h"
#include "discover/service.h"
#include "hotspot/hsperfdata.h"
#include "proc/looking.h"
#include "proc/stall_readers.h"

#define JVM_PUT_OFF_NS NSEC_PER_SEC       /* until the next try if its owner has no time left */
#define JVM_UNMADE_NS (10 * NSEC_PER_SEC) /* a JVM that starts makes its tables much earlier */
#define JVM_RETRY_NS (50 * NSEC_PER_MSEC)
#define JVM_RETRY_MAX_NS (10 * NSEC_PER_SEC)
#define JVM_SERVICE_TRIES_MAX 5 /* tries to read words of its environment */
#define JVM_COMMAND_MAX_BYTES ((size_t)64 << 10)

static void unsupported(struct image *im, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void unsupported(struct image *im, const char *fmt, ...)
{
    va_list ap;

    im->p.jvm = JVM_UNSUPPORTED;
    im->look.vm_retry_ns = 0;
    va_start(ap, fmt);
    vsnprintf(im->p.reason, sizeof(im->p.reason), fmt, ap);
    va_end(ap);
}

/* Reads the counters file, as far as possible, for facts that memory does not have. */
static void read_hsperfdata(struct discover *d, struct image *im, struct buf *ret)
{
    _cleanup_close_ int fd = -1;

    buf_init(ret, HSPERFDATA_MAX_BYTES);
    if (d->source->hsperfdata(d->ctx, &im->p.id, &fd, NULL) == 0)
        buf_read_fd(ret, fd);
}

static void copy_clean(struct span s, char *field, size_t size)
{
    char *text = NULL;

    image_set_text(&text, s, size - 1);
    if (text)
        span_copy(span_of(text), field, size);
    free(text);
}

static void use_flags(struct image *im)
{
    enum { FRAME_POINTERS, NON_SAFEPOINTS, ATTACH_DISABLED };
    struct hotspot_flag f[] = { [FRAME_POINTERS] = { "PreserveFramePointer" },
                                [NON_SAFEPOINTS] = { "DebugNonSafepoints" },
                                [ATTACH_DISABLED] = { "DisableAttachMechanism" } };
    struct process *p = &im->p;

    im->look.flags_missing = hotspot_vm_flags(p->vm, f, ARRAY_SIZE(f)) == -EAGAIN;
    if (im->look.flags_missing)
        return;
    p->frame_pointers = f[FRAME_POINTERS].value != 0;
    p->debug_non_safepoints = f[NON_SAFEPOINTS].value != 0;
    p->attach_disabled = f[ATTACH_DISABLED].value != 0;
}

/* Sets main and the name that a person would use: the class, or the jar without its folders. */
static void use_main(struct process *p, struct span main)
{
    image_set_text(&p->main, main, TEXT_NAME_MAX);
    if (span_ends_with(main, ".jar"))
        main = span_from(main, span_rfind(main, '/') < main.n ? span_rfind(main, '/') + 1 : 0);
    if (main.n)
        image_set_text(&p->command, main, DISCOVER_COMMAND_MAX);
}

/* Stores what @im states about its service. @options: the options of its JVM, separated by NUL. */
static void use_service(struct discover *d, struct image *im, struct span options)
{
    _cleanup_buf_ struct buf words = BUF_UPTO(JVM_COMMAND_MAX_BYTES);
    _cleanup_close_ int fd = -1;
    int r = d->source->service_words ? d->source->service_words(d->ctx, &im->p.id, &fd, NULL) : 0;

    if (fd >= 0)
        buf_read_fd(&words, fd); /* a cut text counts, too */
    im->words.missing = r < 0 && r != -EPERM && ++im->words.tries < JVM_SERVICE_TRIES_MAX;
    if (!im->p.service)
        im->p.service = malloc(sizeof(*im->p.service));
    if (im->p.service)
        service_of_words(buf_span(&im->published), options, buf_span(&words), im->p.service);
    program_jar_use(im);
}

/* Sets main class and arguments: from the VM, else its counters file, else the command line. A
 * program that made a JVM without Java's launcher keeps its own name. */
static void use_command(struct discover *d, struct image *im)
{
    _cleanup_buf_ struct buf cmdline = BUF_NULL, command = BUF_NULL, vm_args = BUF_NULL,
                             out = BUF_NULL, perf = BUF_NULL;
    bool mask = !d->opts.show_arguments, known = false;
    struct span main = SPAN_NULL, after = SPAN_NULL, s;
    struct process *p = &im->p;

    facts_read_cmdline(d, &p->id, PROC_CMDLINE_MAX_BYTES, &cmdline);
    buf_init(&command, JVM_COMMAND_MAX_BYTES);
    buf_init(&vm_args, JVM_COMMAND_MAX_BYTES);
    buf_init(&out, DISCOVER_ARGS_MAX_BYTES);
    if (p->vm) {
        hotspot_vm_command(p->vm, JVM_COMMAND_MAX_BYTES, &command);
        hotspot_vm_arguments(p->vm, JVM_COMMAND_MAX_BYTES, &vm_args);
    }
    if (command.n == 0) {
        read_hsperfdata(d, im, &perf);
        if (hsperfdata_string(buf_span(&perf), "sun.rt.javaCommand", &s))
            buf_add(&command, s.p, span_find(s, '\0'));
        if (p->java_version[0] == '\0' &&
            hsperfdata_string(buf_span(&perf), "java.property.java.vm.version", &s))
            copy_clean((struct span){ s.p, span_find(s, '\0') }, p->java_version,
                       sizeof(p->java_version));
        if (p->vm_name[0] == '\0' &&
            hsperfdata_string(buf_span(&perf), "java.property.java.vm.name", &s))
            copy_clean((struct span){ s.p, span_find(s, '\0') }, p->vm_name, sizeof(p->vm_name));
    }
    if (span_eq_str(buf_span(&command),
                    "Unknown")) /* what the counters of a JVM without Java's launcher contain */
        buf_clear(&command);
    if (command.n)
        known = args_main_of_command(buf_span(&command), buf_span(&cmdline), &main, &after);
    else if (span_starts_with(span_of(p->comm), "java"))
        known = args_main(buf_span(&cmdline), &main, &after);
    else if (p->vm) /* a program that created a JVM without Java's launcher */
        known = args_program(buf_span(&cmdline), &main);
    if (known)
        use_main(p, main);
    if (vm_args.n) {
        args_add(&out, buf_span(&vm_args), mask);
        if (known && after.p) {
            args_add(&out, main, mask);
            args_add(&out, after, mask);
        } else {
            args_add_words(&out, buf_span(&command), mask);
        }
    } else {
        struct span all = buf_span(&cmdline), argv0;

        cmdline_take(&all, &argv0);
        args_add(&out, all, mask);
    }
    image_set_text(&p->args, buf_span(&out), DISCOVER_ARGS_MAX_BYTES);
    program_jar_name(im, buf_span(&cmdline));
    use_service(d, im, vm_args.n ? buf_span(&vm_args) : buf_span(&cmdline));
}

/* Sets the next time to read what is missing of a ready JVM, and its service. */
static void read_again(struct discover *d, struct image *im)
{
    uint64_t now_ns = clock_monotonic_ns();

    im->look.vm_retry_ns = im->words.missing || im->look.flags_missing
                               ? now_ns + JVM_PUT_OFF_NS
                               : published_next_ns(d, im, now_ns);
}

static void use_vm(struct discover *d, struct image *im)
{
    struct process *p = &im->p;

    p->jvm = JVM_READY;
    span_copy(span_of(hotspot_vm_note(p->vm)), p->reason, sizeof(p->reason));
    p->jdk = hotspot_vm_jdk(p->vm);
    copy_clean(span_of(hotspot_vm_version(p->vm)), p->java_version, sizeof(p->java_version));
    copy_clean(span_of(hotspot_vm_name(p->vm)), p->vm_name, sizeof(p->vm_name));
    use_flags(im);
    published_read(d, im);
    use_command(d, im);
    program_jar_read(d, im);
    read_again(d, im);
}

static void retry_later(struct image *im, uint64_t now_ns)
{
    uint64_t pause_ns = CLAMP((now_ns - im->look.vm_since_ns) / 8, JVM_RETRY_NS, JVM_RETRY_MAX_NS);

    im->look.vm_retry_ns = now_ns + pause_ns;
}

/* Opens the libjvm.so of @im that runs. The tables of other mapped libjvm.so show that no VM was
 * made from them. Returns 0, -EBUSY if the owner of @im has no CPU time left for now, else the
 * result of the most promising library. */
static int open_running(struct image *im, struct error *err)
{
    struct process *p = &im->p;
    int best = HOTSPOT_UNSUPPORTED;

    for (size_t i = 0; i < im->libjvm.count; i++) {
        struct error why = ERROR_NULL;
        int r = -EBUSY;

        if (!readers_afford_work(&p->id))
            return r;
        r = hotspot_vm_open(p->mem_fd, &p->id, im->libjvm.bases[i], &p->vm, &why);
        if (r == HOTSPOT_UNSUPPORTED && best != HOTSPOT_UNSUPPORTED)
            continue;
        best = r;
        *err = why;
        if (r == 0)
            p->libjvm_base = im->libjvm.bases[i];
        if (r == 0 || r == -ETIMEDOUT || r == HOTSPOT_GONE)
            break;
    }
    return best;
}

static void say_starting(struct image *im, uint64_t now_ns)
{
    struct process *p = &im->p;

    if (now_ns - im->look.vm_since_ns < JVM_UNMADE_NS)
        snprintf(p->reason, sizeof(p->reason), "the JVM is still starting; ask again in a second");
    else
        snprintf(p->reason, sizeof(p->reason),
                 "it has mapped %zu libjvm.so, and no JVM has started in %s for %llu s",
                 im->libjvm.count, im->libjvm.count == 1 ? "it" : "any of them",
                 (unsigned long long)((now_ns - im->look.vm_since_ns) / NSEC_PER_SEC));
}

/* Lets @im wait until its owner has time left. */
static void put_off(struct image *im, uint64_t now_ns)
{
    if (im->p.jvm == JVM_STARTING)
        snprintf(im->p.reason, sizeof(im->p.reason),
                 "flamed has not read it yet, because it reads many JVMs, or much of one owner's; "
                 "ask again in a second");
    im->look.vm_retry_ns = now_ns + JVM_PUT_OFF_NS;
}

static void open_vm(struct discover *d, struct image *im, uint64_t now_ns)
{
    struct process *p = &im->p;
    struct error err = ERROR_NULL;
    int r = 0;

    if (p->mem_fd < 0)
        r = d->source->mem(d->ctx, &p->id, &p->mem_fd, &err);
    if (r > 0) { /* the process is gone; the record of its exit will follow */
        retry_later(im, now_ns);
        return;
    }
    if (r == -ENOTCONN || r == -ENOMEM || r == -EMFILE || r == -ENFILE) {
        retry_later(im, now_ns);
        return;
    }
    if (r < 0) {
        unsupported(im, "its memory cannot be read: %s%s%s", err.msg, err.remedy[0] ? "; " : "",
                    err.remedy);
        use_command(d, im);
        return;
    }
    r = open_running(im, &err);
    if (r == 0) {
        use_vm(d, im);
    } else if (r == -EBUSY) {
        put_off(im, now_ns);
    } else if (r == -ETIMEDOUT) { /* the next look is made once the memory answers */
        p->mem_fd = close_fd(p->mem_fd);
        p->jvm = JVM_NO;
        im->quarantined = true;
        im->look.due_ns = im->look.timer_ns = now_ns + DISCOVER_QUARANTINED_LOOK_NS;
        broker_refuse_quarantined(&p->id, &err);
        unsupported(im, "%s; %s", err.msg, err.remedy);
    } else if (r == HOTSPOT_UNSUPPORTED) {
        p->mem_fd = close_fd(p->mem_fd);
        unsupported(im, "%s%s%s", err.msg, err.remedy[0] ? "; " : "", err.remedy);
        use_command(d, im);
    } else {
        if (r == HOTSPOT_GONE) /* the process has ended, or made an exec since the maps were read */
            p->mem_fd = close_fd(p->mem_fd);
        say_starting(im, now_ns);
        retry_later(im, now_ns);
    }
}

const char *process_image_text(const struct process *p)
{
    static const char *const TEXTS[] = {
        [IMAGE_NO] = "",
        [IMAGE_NAMED] = "GraalVM compiled its Java code ahead of time (a native image); names are "
                        "those of its symbols",
        [IMAGE_NAMELESS] =
            "GraalVM compiled its Java code ahead of time (a native image), and the file has no "
            "symbols of it: functions are called by their addresses. native-image keeps symbols "
            "with -H:-DeleteLocalSymbols, or with -g in a .debug file that has to lie beside it",
    };

    return TEXTS[p->native_image];
}

/* Sets the time of the next look for a JVM, after a look. */
static void schedule_next(struct discover *d, struct image *im, uint64_t now_ns)
{
    uint64_t since_ns =
        im->p.exec_time_ns ? im->p.exec_time_ns : monotonic_of_ticks(d, im->p.id.start_ticks);
    uint64_t age_ns = now_ns - MIN(now_ns, since_ns);

    im->look.due_ns = im->look.timer_ns =
        im->quarantined ? now_ns + DISCOVER_QUARANTINED_LOOK_NS : UINT64_MAX;
    if (im->quarantined || im->p.jvm != JVM_NO || age_ns >= DISCOVER_LAST_LOOK_NS)
        return;
    im->look.due_ns = now_ns + MAX(age_ns, DISCOVER_FIRST_LOOK_NS);
    im->look.timer_ns = since_ns + (age_ns < DISCOVER_SECOND_LOOK_NS  ? DISCOVER_SECOND_LOOK_NS
                                    : age_ns < DISCOVER_THIRD_LOOK_NS ? DISCOVER_THIRD_LOOK_NS
                                                                      : DISCOVER_LAST_LOOK_NS);
}

/* Returns false for a quarantined process, and for one that has ended. Marks it as unsupported if
 * it is known, or named, to be a JVM. */
static bool may_look(struct discover *d, struct image *im)
{
    struct error err = ERROR_NULL;
    bool jvm = false, was = im->quarantined;

    im->quarantined =
        d->source->is_quarantined && d->source->is_quarantined(d->ctx, &im->p.id, &jvm);
    if (!im->quarantined) {
        if (was) { /* the quarantine was the only reason why it was not read */
            im->p.jvm = JVM_NO;
            im->p.reason[0] = '\0';
            facts_read(d, im); /* its container is unknown */
        }
        return image_is_live(im);
    }
    if (jvm || span_starts_with(span_of(im->p.comm), "java")) {
        broker_refuse_quarantined(&im->p.id, &err);
        unsupported(im, "%s; %s", err.msg, err.remedy);
    }
    return false;
}

static void look(struct discover *d, struct image *im, uint64_t now_ns)
{
    struct process *p = &im->p;
    struct jvm_scan scan = { 0 };
    int fd = -1;

    if (!may_look(d, im) || d->source->maps(d->ctx, &p->id, &fd, NULL) != 0 ||
        jvm_scan_fd(&p->id, fd, &scan) < 0) {
        im->quarantined = im->quarantined || readers_wait_for(&p->id);
        return;
    }
    events_drain(d);
    if (!image_is_live(im))
        return;
    if (p->jvm == JVM_READY || p->jvm == JVM_STARTING) {
        if (jvm_libraries_have(&scan.libjvm, p->libjvm_base)) {
            im->libjvm = scan.libjvm; /* another library may be mapped now */
            return;
        }
        im = image_replace(d, im, now_ns, span_of(p->comm)); /* an exec without a record */
        if (!im)
            return;
        p = &im->p;
        im->look.last_ns = now_ns;
    }
    if (scan.openj9) {
        copy_clean(SPAN("Eclipse OpenJ9 VM"), p->vm_name, sizeof(p->vm_name));
        unsupported(im, "it runs on Eclipse OpenJ9, which has no tables that can be read from "
                        "outside. Native code has names; so has what is compiled if it is started "
                        "with -Xjit:perfTool. Stacks of Java code are whole on HotSpot alone");
        use_command(d, im);
    } else if (scan.libjvm.count && p->jvm == JVM_NO) {
        p->jvm = JVM_STARTING;
        p->libjvm_base = scan.libjvm.bases[0];
        im->libjvm = scan.libjvm;
        im->look.vm_since_ns = now_ns;
        say_starting(im, now_ns);
        open_vm(d, im, now_ns);
    }
}

/* Returns whether the owner of @im has time left for a look. It may have many JVMs, or large
 * ones. */
static bool may_afford(const struct image *im)
{
    return readers_afford(&im->p.id) && readers_afford_work(&im->p.id);
}

void jvm_look(struct discover *d, struct image *im)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool was = im->p.jvm != JVM_NO;

    if (!image_is_live(im) || im->p.kernel_thread || im->p.zombie)
        return;
    if (!may_afford(im)) {
        im->look.due_ns = im->look.timer_ns = now_ns + JVM_PUT_OFF_NS;
        return;
    }
    process_payer(&im->p); /* read now, as the owner of an ended process cannot be read */
    im->p.pins++;
    im->look.last_ns = now_ns;
    im->look.last_vsize_bytes = im->look.vsize_bytes;
    looking_begin(LOOKING_JVM, &im->p.id, im->p.jvm != JVM_NO);
    look(d, im, now_ns);
    looking_end();
    readers_spend(&im->p.id, clock_monotonic_ns() - now_ns);
    d->jvms_changed += !was && im->p.jvm != JVM_NO;
    if (image_is_live(im))
        schedule_next(d, im, now_ns);
    im->p.pins--;
}

void jvm_retry(struct discover *d, struct image *im)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (!image_is_live(im) || (im->p.jvm != JVM_STARTING && im->p.jvm != JVM_READY))
        return;
    if (!may_afford(im)) {
        put_off(im, now_ns);
        return;
    }
    im->p.pins++;
    looking_begin(LOOKING_JVM, &im->p.id, /* jvm= */ true);
    if (im->p.jvm == JVM_READY) {
        if (im->look.flags_missing)
            use_flags(im);
        if (published_read(d, im) || im->words.missing)
            use_command(d, im);
        program_jar_read(d, im);
        read_again(d, im);
    }
    /* Checks the mapping again after the process seemed gone, or if another library may be running
     * instead. */
    if (im->p.jvm == JVM_STARTING &&
        (im->p.mem_fd < 0 || now_ns - im->look.vm_since_ns >= JVM_UNMADE_NS))
        look(d, im, now_ns);
    if (image_is_live(im) && im->p.jvm == JVM_STARTING)
        open_vm(d, im, now_ns);
    looking_end();
    readers_spend(&im->p.id, clock_monotonic_ns() - now_ns);
    im->p.pins--;
}
