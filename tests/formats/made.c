/* SPDX-License-Identifier: Apache-2.0 */
#include "made.h"
#include "made_kinds.h"
#include "making.h"

#include "profile/category.h"

#define MADE_START_NS UINT64_C(5000000000)
#define MADE_REALTIME_NS (UINT64_C(1763688414) * NSEC_PER_SEC + 123456789)

static struct frame_table *table;
static struct record *rec;
static uint64_t now_ns;
static uint32_t seed;

static uint32_t random_below(uint32_t n)
{
    return making_random(&seed, n);
}

static uint32_t str(const char *s, size_t n)
{
    return making_string(table, s, n);
}

/* Lines, as attributes are: names have none. */
static uint32_t lines(const char *s)
{
    uint32_t id;

    must(frame_table_string(table, span_of(s), &id));
    return id;
}

static uint32_t str0(const char *s)
{
    return str(s, strlen(s));
}

/* "j java.lang.Thread.run(int):42": a letter for the kind, Java names with a signature and a line
 * where they have one. */
static void java_function(struct function *fn, struct frame *f, const char *text)
{
    const char *paren = strchr(text, '('), *end = paren ? strchr(paren, ')') : NULL, *colon;
    size_t n = paren ? (size_t)(paren - text) : strcspn(text, ":");
    const char *dot = memrchr(text, '.', n);

    colon = strchr(end ? end : text, ':');
    f->line = colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
    fn->class_name = dot ? str(text, (size_t)(dot - text)) : str0("NoPackage");
    fn->name = dot ? str(dot + 1, n - (size_t)(dot + 1 - text)) : str(text, n);
    fn->signature = end ? str(paren, (size_t)(end + 1 - paren)) : str0("()");
    fn->file = f->line ? str0("Source.java") : 0;
}

/* "I mix(unsigned long) @12": as recorded with lines=1. */
static void native_function(struct function *fn, struct frame *f, const char *text)
{
    const char *at = strstr(text, " @");

    fn->name = str(text, at ? (size_t)(at - text) : strlen(text));
    f->line = at ? (uint32_t)strtoul(at + 2, NULL, 10) : 0;
    fn->file = f->line ? str0("source.cpp") : 0;
}

static void module_of(struct function *fn, enum frame_kind kind)
{
    static const char *const PATHS[FRAME_KIND_COUNT] = {
        [FRAME_NATIVE] = "/usr/lib/x86_64-linux-gnu/libc.so.6",
        [FRAME_JVM] = "/usr/lib/jvm/java-17/lib/server/libjvm.so",
        [FRAME_KERNEL] = "[kernel]",
        [FRAME_NATIVE_INLINED] = "/usr/lib/jvm/java-17/lib/server/libjvm.so",
    };
    static const char *const BUILD_IDS[FRAME_KIND_COUNT] = {
        [FRAME_NATIVE] = "6196744a316dbd57c0fc8968df1680aac482cec4",
        [FRAME_JVM] = "00112233445566778899aabbccddeeff00112233",
        [FRAME_NATIVE_INLINED] = "00112233445566778899aabbccddeeff00112233",
    };
    struct module m = { 0 };

    if (!PATHS[kind])
        return;
    m.path = str0(PATHS[kind]);
    m.build_id = BUILD_IDS[kind] ? str0(BUILD_IDS[kind]) : 0;
    must(frame_table_module(table, &m, &fn->module));
}

static uint32_t frame_of(const char *text)
{
    struct function fn = { 0 };
    struct frame f = { 0 };
    uint32_t id;

    f.kind = (uint8_t)making_kind(text[0]);
    f.unknown = f.kind == FRAME_UNKNOWN;
    if (frame_kind_is_java((enum frame_kind)f.kind))
        java_function(&fn, &f, text + 2);
    else
        native_function(&fn, &f, text + 2);
    module_of(&fn, (enum frame_kind)f.kind);
    must(frame_table_function(table, &fn, &f.function));
    must(frame_table_frame(table, &f, &id));
    return id;
}

static uint32_t thread_of(const struct profile_process *p, const char *name, int32_t tid)
{
    struct profile_thread t = { .host_tid = tid, .name = str0(name) };
    uint32_t id;

    must(record_process(rec, p, &t.process));
    must(record_thread(rec, &t, &id));
    return id;
}

static bool waits; /* there is a second event */

/* @count samples of a stack, frames from the root on, NULL at the end; every third one stands for
 * two. Where there is a second event, every second one waits, too, at its own value. */
static void add(uint32_t thread, uint32_t count, enum category category, uint16_t flags,
                const char *const *texts)
{
    uint32_t ids[64], n = 0;

    while (texts[n] && n < ARRAY_SIZE(ids))
        n++;
    for (uint32_t i = 0; i < n; i++)
        ids[n - 1 - i] = frame_of(texts[i]);
    flags |= (uint16_t)(category << PROFILE_SAMPLE_CATEGORY_SHIFT);
    for (uint32_t i = 0; i < count; i++) {
        struct profile_sample sample = { .time_ns = now_ns += 1000003 + random_below(1000000),
                                         .thread = thread,
                                         .count = i % 3 ? 1 : 2,
                                         .mode = category == CATEGORY_KERNEL,
                                         .flags = flags };

        must(record_sample(rec, &sample, ids, n));
        if (!waits || i % 2)
            continue;
        sample.event = 1;
        sample.count = 1;
        sample.value = 1000 + 7 * i;
        must(record_sample(rec, &sample, ids, n));
    }
}

#define STACK(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define WEB                                                                                        \
    "j java.lang.Thread.run():833", "j com.acme.Pool$Worker.run():1144",                           \
        "j com.acme.web.Servlet.service(Request, Response):71"
#define VM "n start_thread", "v thread_native_entry(Thread*)", "v Thread::call_run()"
#define SYSCALL "k entry_SYSCALL_64_after_hwframe", "k do_syscall_64"

static void first_process(void)
{
    struct profile_process p = { .host_pid = 4242,
                                 .start_ticks = 100,
                                 .name = str0("com.acme.shop.Application"),
                                 .container = str0("0123456789ab"),
                                 .pod = str0("shop-6f7d"),
                                 .pod_namespace = str0("prod"),
                                 .service = str0("shop"),
                                 .version = str0("2.4.1"),
                                 .attributes = lines("service.namespace=prod\n"
                                                     "service.instance.id=shop-6f7d\n") };
    uint32_t http = thread_of(&p, "http-1", 4250), http2 = thread_of(&p, "http-2", 4251),
             gc = thread_of(&p, "G1 Main Marker", 4246), jit = thread_of(&p, "C2 Compiler", 4247);

    add(http, 400, CATEGORY_JAVA, 0,
        STACK(WEB, "j com.acme.Orders.find(int):17", "i com.acme.PriceTable.lookup(long):88",
              "i java.util.HashMap.getNode(java.lang.Object):568"));
    add(http2, 300, CATEGORY_JAVA, 0,
        STACK(WEB, "j com.acme.Orders.find(int):19", "i com.acme.PriceTable.lookup(long):90"));
    add(http2, 70, CATEGORY_JAVA, 0,
        STACK(WEB, "j com.acme.Orders.find(java.lang.String):33", /* an overload */
              "1 com.acme.Text.<init>(byte[], int):5", "i java.lang.String.length():7"));
    add(http, 200, CATEGORY_INTERPRETER, 0,
        STACK(WEB, "0 com.acme.Health.check(long[][], com.acme.Kind$Inner, boolean):3",
              "0 java.util.regex.Pattern.compile(java.lang.String):1"));
    add(http, 100, CATEGORY_KERNEL, 0,
        STACK(WEB, "j sun.nio.ch.SocketChannelImpl.write(java.nio.ByteBuffer):70", "n write",
              SYSCALL, "k ksys_write", "k tcp_sendmsg"));
    add(http2, 90, CATEGORY_JAVA, 0, STACK(WEB, "s jlong_disjoint_arraycopy"));
    add(gc, 300, CATEGORY_GC, 0,
        STACK(VM, "v G1ConcurrentMarkThread::run_service()",
              "v G1CMTask::scan_task_entry(G1TaskQueueEntry, std::vector<int, char>) @95",
              "I oopDesc::oop_iterate(OopClosure*) @364", "I markWord::is_marked() const @221"));
    add(jit, 250, CATEGORY_JIT, 0,
        STACK(VM, "v CompileBroker::compiler_thread_loop() @1990", "I CompileTaskWrapper::run() @7",
              "v operator new(unsigned long)"));
    add(http2, 20, CATEGORY_NATIVE, PROFILE_SAMPLE_UNKNOWN,
        STACK("n epoll_wait", "? libnetty.so+0x1a2b"));
    add(gc, 11, CATEGORY_NATIVE, PROFILE_SAMPLE_TRUNCATED | 5 << PROFILE_SAMPLE_END_SHIFT,
        STACK("n __memmove_avx_unaligned_erms"));
    add(http, 3, CATEGORY_NATIVE, PROFILE_SAMPLE_UNKNOWN, STACK(NULL));
    /* An inlined frame whose compiled one is missing, and recursion. */
    add(http, 5, CATEGORY_JAVA, PROFILE_SAMPLE_TRUNCATED | 2 << PROFILE_SAMPLE_END_SHIFT,
        STACK("i com.acme.Recursive.down(int):4", "j com.acme.Recursive.down(int):4",
              "i com.acme.Recursive.down(int):4", "j com.acme.Recursive.down(int):4"));
}

static void second_process(void)
{
    struct profile_process p = { .host_pid = 5151, .start_ticks = 200, .name = str0("Batch") };
    uint32_t t = thread_of(&p, "main", 5151), nameless = thread_of(&p, "", 5152);

    add(t, 700, CATEGORY_JAVA, 0,
        STACK("j Batch.main(java.lang.String[]):9", "1 com.acme.Orders.find(int):17"));
    add(nameless, 60, CATEGORY_KERNEL, 0, STACK("n clone3", SYSCALL, "k futex_wait"));
}

static void moment(enum profile_moment_kind kind, uint64_t at_ns, uint64_t ns, const char *name,
                   const char *by, const char *compiler)
{
    struct profile_process p = { .host_pid = 5151, .start_ticks = 200, .name = str0("Batch") };
    struct profile_moment m = { .kind = kind,
                                .start_ns = MADE_START_NS + at_ns,
                                .end_ns = MADE_START_NS + at_ns + ns,
                                .reach_ns = kind == MOMENT_IS_SAFEPOINT ? ns / 4 : 0,
                                .name = str0(name),
                                .by = str0(by),
                                .compiler = str0(compiler) };

    must(record_process(rec, &p, &m.process));
    must(record_moment(rec, &m));
}

/* What the second JVM did as a whole. */
static void second_moments(void)
{
    moment(MOMENT_IS_SAFEPOINT, 1000000, 800000, "ThreadDump", "", "");
    moment(MOMENT_IS_OPERATION, 1200000, 600000, "ThreadDump", "", "");
    moment(MOMENT_IS_GC, 2000000, 3000000, "PS MarkSweep", "", "");
    moment(MOMENT_IS_JIT, 5000000, 1234567, "com.acme.Orders.find", "C2 CompilerThread0", "c2");
    moment(MOMENT_IS_JIT, 7000000, 1000, "Batch.main", "C1 CompilerThread0", "c1");
    moment(MOMENT_IS_JIT, 7100000, 1000, "com.acme.Longest.name...", "C1 CompilerThread0", "c1");
    moment(MOMENT_IS_CLASS_LOAD, 8000000, 0, "com.acme.Orders$1", "main", "");
    moment(MOMENT_IS_CLASS_UNLOAD, 9000000, 0, "com.acme.Orders$2", "VM Thread", "");
}

#define REQUEST_SAMPLES 60
#define REQUEST_TRACE UINT64_C(0x3132333435363738)
#define REQUEST_SPAN UINT64_C(0x3030303030303030)

/* Of sample @i: every fifth is of no request, and every fifth has an operation alone. Of the three
 * requests one has no name, and each has two spans, the first of which is its root. */
static uint32_t request_of(uint32_t thread, uint32_t i)
{
    static const char *const NAMES[] = { "", "GET /orders/{id}", "POST /orders", "", "GET:/cart" };
    struct profile_context c = { .state = PROFILE_CONTEXT_NO_REQUEST };
    uint32_t id, k = i % ARRAY_SIZE(NAMES);

    if (k)
        c.state = NAMES[k][0] ? PROFILE_CONTEXT_NAMED : PROFILE_CONTEXT_IDS;
    if (k && k < 4) {
        c.trace_high = REQUEST_TRACE;
        c.trace_low = k;
        c.root = REQUEST_SPAN + k * 2;
        c.span = c.root + i / ARRAY_SIZE(NAMES) % 2;
    }
    must(record_context(rec, thread, &c, span_of(NAMES[k]), 0, &id));
    return id;
}

static void requests(void)
{
    struct profile_process p = { .host_pid = 4242, .name = str0("Shop"), .service = str0("shop") };
    uint32_t threads[] = { thread_of(&p, "http-1", 4250), thread_of(&p, "http-2", 4251) };
    uint32_t stack[] = { frame_of("j com.acme.Orders.find(int):17"),
                         frame_of("j java.lang.Thread.run():833") };

    for (uint32_t i = 0; i < REQUEST_SAMPLES; i++) {
        struct profile_sample s = { .time_ns = now_ns += 1000000,
                                    .thread = threads[i / 30],
                                    .count = 1 };

        s.context = request_of(s.thread, i);
        must(record_sample(rec, &s, stack, ARRAY_SIZE(stack)));
    }
}

static void hostile(void)
{
    struct profile_process p = { .host_pid = 1, .name = str0("</script>;\"\\\n") };
    uint32_t t = thread_of(&p, "tab\there \x1b[2J \"quoted\" \\back", 2);

    add(t, 30, CATEGORY_JAVA, 0, STACK("j a.b.C.run():1", "j <script>.\"q\"():2", "n a;b c\\d"));
    add(t, 20, CATEGORY_JAVA, 0,
        STACK("j a.b.C.run():1", "n bidi \xe2\x80\xae txt \xe2\x81\xa6", "n \x1b[31mred\x1b[0m"));
    add(t, 10, CATEGORY_JAVA, 0,
        STACK("j \xe6\xb3\xa8\xe6\x96\x87.\xe5\x90\x88\xe8\xa8\x88.\xf0\x9f\x94\xa5([[[[):1",
              "n broken \xff\xfe\xc0\x80", "n line\nbreak\r", "j a..b(int,,;x):1"));
    add(t, 10, CATEGORY_JAVA, 0, STACK("n %s%n%d", "n ", "n  5", "n x 12 34"));
    record_warn(rec, "A <b>warning</b> with \"quotes\" and a back\\slash");
}

/* Stacks that share their beginnings; each one in a few threads, as of a real service. */
static void big(void)
{
    static uint32_t stacks[50000][40], depths[50000], threads[1000], frames[20000];
    static const char LETTERS[] = "jjjjiii10nvks";
    char text[160];

    for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++) {
        snprintf(text, sizeof(text),
                 "%c com.acme.department%u.service.Component%u.method%u(int, java.lang.String):%u",
                 LETTERS[random_below(sizeof(LETTERS) - 1)], i % 50, i / 7 % 900, i, i % 700);
        frames[i] = frame_of(text);
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(threads); i++) {
        struct profile_process p = { .host_pid = (int32_t)(1000 + i / 100), .name = str0("Big") };

        snprintf(text, sizeof(text), "http-nio-8080-exec-%u", i);
        threads[i] = thread_of(&p, text, (int32_t)(2000 + i));
    }
    for (uint32_t i = 0; i < ARRAY_SIZE(stacks); i++) {
        uint32_t kept = i ? random_below(depths[i - 1]) : 0, n = 10 + random_below(31);

        depths[i] = n;
        for (uint32_t k = 0; k < n; k++) /* root first until it is recorded */
            stacks[i][k] = k < kept && i ? stacks[i - 1][k] : frames[random_below(20000)];
    }
    for (uint32_t i = 0; i < 1000000; i++) {
        uint32_t s = i < ARRAY_SIZE(stacks) ? i : random_below(ARRAY_SIZE(stacks)), ids[40];
        uint32_t t = (s * 7 + random_below(6)) % ARRAY_SIZE(threads);

        for (uint32_t k = 0; k < depths[s]; k++)
            ids[depths[s] - 1 - k] = stacks[s][k];
        must(record_sample(rec,
                           &(struct profile_sample){ .time_ns = now_ns += 9000 + random_below(2000),
                                                     .thread = threads[t],
                                                     .count = 1 },
                           ids, depths[s]));
    }
}

struct profile *made_profile(const char *name)
{
    struct profile meta = {
        .events = { { .name = "cpu", .unit = "nanoseconds", .period = 10101010 },
                    { .name = "wait", .unit = "bytes", .period = 1000, .valued = true } },
        .event_count = 1,
        .lost = 7
    };
    struct profile *profile = NULL;
    bool two = !strcmp(name, "events"), mixed = two || !strcmp(name, "mixed");

    if ((profile = made_kinds(name)))
        return profile;
    seed = 1;
    waits = two;
    meta.event_count += two;
    now_ns = MADE_START_NS;
    must(frame_table_new(1 << 20, (size_t)64 << 20, &table));
    must(record_new(table, 1 << 21, &rec));
    if (mixed || !strcmp(name, "single"))
        first_process();
    if (mixed) {
        second_process();
        meta.by_process = true;
    }
    if (two)
        second_moments();
    if (!strcmp(name, "hostile"))
        hostile();
    else if (!strcmp(name, "requests"))
        requests();
    else if (!strcmp(name, "big"))
        big();
    else if (!mixed && strcmp(name, "single") != 0 && strcmp(name, "empty") != 0)
        must(-EINVAL);
    meta.start_ns = MADE_START_NS;
    meta.end_ns = now_ns + 1000000;
    meta.start_realtime_ns = MADE_REALTIME_NS;
    snprintf(meta.target, sizeof(meta.target), "com.acme.shop.Application (pid 4242)");
    snprintf(meta.symbols, sizeof(meta.symbols), "memory: nothing was loaded into the JVM");
    record_warn(rec, "This profile is made up: believe no number in it");
    must(record_finish(rec, &meta, &profile));
    rec = record_free(rec);
    table = frame_table_free(table);
    return profile;
}
