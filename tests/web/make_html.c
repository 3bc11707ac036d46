/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a made-up profile in one of the formats: what the browser tests open. Always the same
 * bytes. make_html CASE [FORMAT [MINWIDTH]] Cases: service, threads, hostile, poor, empty, lines,
 * deep, stacks=N (N distinct stacks), million (of samples, in 50,000 stacks), crowd (the same in
 * 1,000 threads, each stack in six of them, and apart by threads).
 */
#include "making.h"

#include "render/render.h"

static struct frame_table *table;
static struct record *rec;
static uint64_t now_ns = 1000;
static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    return making_random(&seed, n);
}

static uint32_t str(const char *s, size_t n)
{
    return making_string(table, s, n);
}

static uint32_t str0(const char *s)
{
    return str(s, strlen(s));
}

/* A frame out of "kind name": "j com.acme.Order.total", "i" inlined, "1" C1, "0" interpreted, "n"
 * native, "v" the JVM, "s" stub, "k" kernel, "?" unknown. */
static uint32_t frame_of(const char *text, uint32_t line)
{
    struct function fn = { 0 };
    struct module m = { 0 };
    struct frame f = { .line = line };
    const char *name = text + 2, *dot = strrchr(name, '.');
    uint32_t id;

    f.kind = (uint8_t)making_kind(text[0]);
    f.unknown = f.kind == FRAME_UNKNOWN;
    if (frame_kind_is_java(f.kind) && dot) {
        fn.class_name = str(name, (size_t)(dot - name));
        name = dot + 1;
        fn.signature = str0("(int, java.lang.String)");
        fn.file = line ? str0("Source.java") : 0;
    }
    if (f.kind == FRAME_NATIVE || f.kind == FRAME_JVM) {
        m.path = str0(f.kind == FRAME_JVM ? "/usr/lib/jvm/java-17/lib/server/libjvm.so"
                                          : "/usr/lib/x86_64-linux-gnu/libc.so.6");
        must(frame_table_module(table, &m, &fn.module));
    }
    fn.name = str0(name);
    must(frame_table_function(table, &fn, &f.function));
    must(frame_table_frame(table, &f, &id));
    return id;
}

static uint32_t thread_of(const char *process_name, const char *name, int32_t tid)
{
    struct profile_process p = { .host_pid = 4242, .name = str0(process_name) };
    struct profile_thread t = { .host_tid = tid, .name = str0(name) };
    uint32_t id;

    must(record_process(rec, &p, &t.process));
    must(record_thread(rec, &t, &id));
    return id;
}

/* A stack as "kind name" texts from the root on, NULL at the end. */
static void add(uint32_t thread, uint32_t count, uint8_t flags, const char *const *texts)
{
    uint32_t ids[2048];
    size_t n = 0;

    while (texts[n] && n < ARRAY_SIZE(ids))
        n++;
    for (size_t i = 0; i < n; i++)
        ids[n - 1 - i] =
            frame_of(texts[i], texts[i][0] == 'j' || texts[i][0] == 'i' ? 40 + (uint32_t)i : 0);
    must(record_sample(rec,
                       &(struct profile_sample){ .time_ns = now_ns += 10000000,
                                                 .thread = thread,
                                                 .count = count,
                                                 .mode = n && texts[n - 1][0] == 'k'
                                                             ? SAMPLE_MODE_KERNEL
                                                             : SAMPLE_MODE_USER,
                                                 .flags = flags },
                       ids, n));
}

#define STACK(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define WEB                                                                                        \
    "j java.lang.Thread.run", "j org.apache.tomcat.util.threads.TaskThread$WrappingRunnable.run",  \
        "j org.apache.tomcat.util.net.NioEndpoint$SocketProcessor.doRun",                          \
        "j org.apache.coyote.http11.Http11Processor.service",                                      \
        "j org.apache.catalina.core.StandardHostValve.invoke",                                     \
        "j org.springframework.web.servlet.DispatcherServlet.doDispatch",                          \
        "j org.springframework.web.method.support.InvocableHandlerMethod.invokeForRequest"
#define ORDER                                                                                      \
    WEB, "j com.acme.shop.web.OrderController.list", "j com.acme.shop.OrderService.findOpenOrders"
#define JACKSON                                                                                    \
    WEB, "j com.fasterxml.jackson.databind.ObjectMapper.writeValue",                               \
        "j com.fasterxml.jackson.databind.ser.BeanSerializer.serialize"
#define VM "n start_thread", "v thread_native_entry(Thread*)", "v Thread::call_run()"
#define SYSCALL "k entry_SYSCALL_64_after_hwframe", "k do_syscall_64"
#define TCP_SEND                                                                                   \
    "k __x64_sys_write", "k ksys_write", "k vfs_write", "k sock_write_iter", "k tcp_sendmsg",      \
        "k tcp_write_xmit", "k ip_queue_xmit", "k __dev_queue_xmit"

static void case_service(void)
{
    uint32_t http = thread_of("com.acme.shop.Application", "http-nio-8080-exec-1", 4250);
    uint32_t http2 = thread_of("com.acme.shop.Application", "http-nio-8080-exec-2", 4251);
    uint32_t gc = thread_of("com.acme.shop.Application", "G1 Main Marker", 4246);
    uint32_t jit = thread_of("com.acme.shop.Application", "C2 CompilerThread0", 4247);

    add(http, 180, 0,
        STACK(ORDER, "i com.acme.shop.PriceTable.lookup", "i java.util.HashMap.getNode"));
    add(http2, 90, 0, STACK(ORDER, "i com.acme.shop.PriceTable.lookup"));
    add(http, 120, 0,
        STACK(ORDER, "i com.acme.shop.OrderComparator.compare", "j java.util.TimSort.binarySort"));
    add(http, 60, 0,
        STACK(ORDER, "j java.util.stream.ReferencePipeline.collect",
              "j java.util.Spliterators$ArraySpliterator.forEachRemaining",
              "i com.acme.shop.OrderService$$Lambda.0x00007f2c4c0d1a38.apply",
              "1 com.acme.shop.Order.isOpen"));
    add(http2, 40, 0,
        STACK(ORDER, "j org.postgresql.jdbc.PgStatement.executeQuery",
              "j org.postgresql.core.v3.QueryExecutorImpl.processResults",
              "j sun.nio.ch.SocketChannelImpl.read", "n read", SYSCALL, "k __x64_sys_read",
              "k vfs_read", "k sock_read_iter", "k tcp_recvmsg"));
    add(http, 70, 0,
        STACK(JACKSON, "j com.fasterxml.jackson.core.json.UTF8JsonGenerator.writeString",
              "s jlong_disjoint_arraycopy"));
    add(http, 55, 0,
        STACK(JACKSON, "i com.fasterxml.jackson.core.json.UTF8JsonGenerator._writeBytes"));
    add(http2, 65, 0,
        STACK(WEB, "j org.apache.coyote.http11.Http11OutputBuffer.flushBuffer",
              "j sun.nio.ch.SocketChannelImpl.write", "n write", SYSCALL, TCP_SEND));
    add(http, 30, 0,
        STACK(WEB, "0 com.acme.shop.web.HealthController.check",
              "0 java.util.regex.Pattern.compile", "0 java.util.regex.Pattern.sequence"));
    add(http, 12, 0,
        STACK(WEB, "1 ch.qos.logback.classic.Logger.info",
              "1 ch.qos.logback.core.OutputStreamAppender.subAppend"));
    add(gc, 85, 0,
        STACK(VM, "v G1ConcurrentMarkThread::run_service()", "v WorkerThread::run()",
              "v G1CMTask::do_marking_step(double, bool, bool)",
              "v G1CMTask::scan_task_entry(G1TaskQueueEntry)"));
    add(jit, 60, 0,
        STACK(VM, "v CompileBroker::compiler_thread_loop()",
              "v C2Compiler::compile_method(ciEnv*, ciMethod*, int, bool, DirectiveSet*)",
              "v Compile::Optimize()", "v PhaseIdealLoop::build_and_optimize()"));
    add(jit, 35, 0,
        STACK(VM, "v CompileBroker::compiler_thread_loop()",
              "v C2Compiler::compile_method(ciEnv*, ciMethod*, int, bool, DirectiveSet*)",
              "v Compile::Code_Gen()", "v PhaseChaitin::Register_Allocate()"));
    add(http2, 8, PROFILE_SAMPLE_UNKNOWN, STACK(ORDER, "? [unknown]"));
    add(http2, 4, PROFILE_SAMPLE_UNKNOWN, STACK("? libnetty_tcnative.so+0x1a2b", "n epoll_wait"));
    add(gc, 3, PROFILE_SAMPLE_TRUNCATED, STACK("n __memmove_avx_unaligned_erms"));
    for (int i = 0; i < 400; i++) { /* a long tail, as real profiles have */
        char name[64];

        snprintf(name, sizeof(name), "j com.acme.shop.rules.Rule%03u.matches", random_below(300));
        if (i % 4)
            add(http, 1, 0, STACK(ORDER, "j com.acme.shop.rules.RuleEngine.evaluate", name));
        else
            add(http2, 1, 0,
                STACK(WEB, "1 com.acme.shop.web.Filters.doFilter", name,
                      "1 java.lang.String.format"));
    }
}

static void case_hostile(void)
{
    uint32_t t =
        thread_of("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", 4243);
    char giant[12000];

    memset(giant, 'x', sizeof(giant));
    giant[0] = 'j';
    giant[1] = ' ';
    giant[sizeof(giant) - 1] = '\0';
    add(t, 10, 0,
        STACK("j a.b.C.run", "j evil.<script>alert(3)</script>.run", "n \"quotes\" 'and' `ticks`"));
    add(t, 10, 0,
        STACK("j a.b.C.run", "n bidi \xe2\x80\xae txt.exe \xe2\x81\xa6 x",
              "n esc \x1b[31mred\x1b[0m"));
    add(t, 10, 0,
        STACK("j a.b.C.run", "n semi;colon\nline\rbreak",
              "n c1 \xc2\x9b broken \xff\xfe\xc0\x80 utf-8"));
    add(t, 10, 0, STACK("j a.b.C.run", giant));
    add(t, 10, 0,
        STACK("j a.b.C.run", "j __proto__.constructor",
              "j \xe6\xb3\xa8\xe6\x96\x87.\xe5\x90\x88\xe8\xa8\x88.\xf0\x9f\x94\xa5",
              "n ]]>--><!--"));
    add(t, 10, 0, STACK("j a.b.C.run", "n \\u003cb\\u003e \\\\ \\", "n javascript:alert(4)"));
    record_warn(rec, "A <b>warning</b> with \"quotes\" & <script>alert(5)</script>");
}

static void case_poor(void)
{
    uint32_t t = thread_of("Main", "main", 4243);

    add(t, 20, PROFILE_SAMPLE_UNKNOWN, STACK("j a.b.C.run", "? [unknown]"));
    add(t, 40, PROFILE_SAMPLE_TRUNCATED, STACK("n spin"));
    record_warn(
        rec, "The kernel hides its symbols: set kernel.kptr_restrict to 1 to name kernel frames");
}

static void case_lines(void)
{
    uint32_t t = thread_of("Main", "main", 4243), ids[3];

    for (uint32_t line = 10; line < 20; line++) {
        ids[2] = frame_of("j a.b.C.run", 5);
        ids[1] = frame_of("j a.b.C.middle", line);
        ids[0] = frame_of("i a.b.C.leaf", 100 + line % 3);
        must(record_sample(
            rec, &(struct profile_sample){ .time_ns = now_ns++, .thread = t, .count = 10 }, ids,
            3));
    }
}

static void case_deep(void)
{
    uint32_t t = thread_of("Main", "main", 4243), ids[1000];

    for (uint32_t n = 10; n <= 1000; n += 90) {
        for (uint32_t i = 0; i < n; i++)
            ids[n - 1 - i] = frame_of(i % 2 ? "j a.b.Recursive.down" : "j a.b.Recursive.again", 0);
        must(record_sample(
            rec, &(struct profile_sample){ .time_ns = now_ns++, .thread = t, .count = 10 }, ids,
            n));
    }
}

#define CROWD_THREADS 1000
#define CROWD_THREADS_OF_STACK 6

/* Samples of a stack in some of many threads. */
static void add_in_crowd(uint32_t number, uint32_t samples, const uint32_t *ids, uint32_t depth)
{
    static uint32_t threads[CROWD_THREADS];
    char name[32];

    for (uint32_t i = 0; !threads[CROWD_THREADS - 1]; i++) {
        snprintf(name, sizeof(name), "worker-%u", i);
        threads[i] = thread_of("Main", name, 5000 + (int32_t)i);
    }
    for (uint32_t i = 0; i < CROWD_THREADS_OF_STACK; i++)
        must(record_sample(
            rec,
            &(struct profile_sample){ .time_ns = now_ns++,
                                      .thread = threads[(number * 7 + i) % CROWD_THREADS],
                                      .count = (samples + i) / CROWD_THREADS_OF_STACK },
            ids, depth));
}

/* @count distinct stacks of 8 to 60 frames that share their beginnings, as stacks do. */
/* @samples: of each stack; 0: few, at random. @crowd: the samples are in many threads. */
static void case_stacks(uint32_t count, uint32_t samples, bool crowd)
{
    static const char LETTERS[] = "jjjjji10nvk";
    uint32_t t = thread_of("Main", "main", 4243), stack[64], ids[64], depth = 0;

    for (uint32_t s = 0; s < count; s++) {
        uint32_t keep = depth ? random_below(depth) : 0, n = keep + 4 + random_below(8);

        depth = MIN(MAX(n, 8u), 60u);
        for (uint32_t i = keep; i < depth; i++) {
            char name[80];
            uint32_t m = random_below(20000);

            snprintf(name, sizeof(name), "%c com.example.module%u.package%u.Class%u.method%u",
                     LETTERS[m % (sizeof(LETTERS) - 1)], m % 7, m % 61, m % 997, m);
            stack[i] = frame_of(name, 0);
        }
        for (uint32_t i = 0; i < depth; i++)
            ids[depth - 1 - i] = stack[i];
        if (crowd) {
            add_in_crowd(s, samples, ids, depth);
            continue;
        }
        must(
            record_sample(rec,
                          &(struct profile_sample){
                              .time_ns = now_ns++,
                              .thread = t,
                              .count = samples ? samples : 1 + random_below(random_below(40) + 1) },
                          ids, depth));
    }
}

/* A collection in the middle of ten seconds, and what was counted in the first. */
static void add_moments(void)
{
    struct profile_process p = { .host_pid = 4242 };
    struct profile_moment gc = { .kind = MOMENT_IS_GC,
                                 .start_ns = 1000 + 5 * NSEC_PER_SEC,
                                 .end_ns = 1000 + 5 * NSEC_PER_SEC + 20 * NSEC_PER_MSEC };
    struct profile_moment compiled = { .kind = MOMENT_COUNTS_COMPILATIONS,
                                       .start_ns = 1000,
                                       .end_ns = 1000 + NSEC_PER_SEC,
                                       .reach_ns = 30 * NSEC_PER_MSEC,
                                       .count = 12 };

    struct profile_moment jit = { .kind = MOMENT_IS_JIT,
                                  .start_ns = 1000 + 7 * NSEC_PER_SEC,
                                  .end_ns = 1000 + 7 * NSEC_PER_SEC + 3 * NSEC_PER_MSEC };
    struct profile_moment load = { .kind = MOMENT_IS_CLASS_LOAD,
                                   .start_ns = 1000 + 8 * NSEC_PER_SEC,
                                   .end_ns = 1000 + 8 * NSEC_PER_SEC };

    must(record_process(rec, &p, &gc.process));
    compiled.process = jit.process = load.process = gc.process;
    must(frame_table_string(table, span_of("G1 young collection pauses (<b>System.gc()</b>)"),
                            &gc.name));
    must(record_moment(rec, &gc));
    must(record_moment(rec, &compiled));
    must(frame_table_string(table, span_of("a.B.<script>alert(1)</script>"), &jit.name));
    must(frame_table_string(table, span_of("C2 CompilerThread0"), &jit.by));
    must(frame_table_string(table, span_of("c2"), &jit.compiler));
    must(frame_table_string(table, span_of("a.<img src=x>"), &load.name));
    must(frame_table_string(table, span_of("main"), &load.by));
    must(record_moment(rec, &jit));
    must(record_moment(rec, &load));
}

static void fill(const char *name)
{
    if (!strcmp(name, "service") || !strcmp(name, "threads"))
        case_service();
    else if (!strcmp(name, "moments"))
        case_lines();
    else if (!strcmp(name, "hostile"))
        case_hostile();
    else if (!strcmp(name, "poor"))
        case_poor();
    else if (!strcmp(name, "lines"))
        case_lines();
    else if (!strcmp(name, "deep"))
        case_deep();
    else if (!strncmp(name, "stacks=", 7))
        case_stacks((uint32_t)strtoul(name + 7, NULL, 10), 0, /* crowd= */ false);
    else if (!strcmp(name, "million") || !strcmp(name, "crowd"))
        case_stacks(50000, 20, !strcmp(name, "crowd"));
    else if (strcmp(name, "empty") != 0)
        must(-EINVAL);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "service", *format = argc > 2 ? argv[2] : "html";
    struct render_opts o = { .minwidth = argc > 3 ? strtod(argv[3], NULL) : 0,
                             .version = "0.0-test" };
    struct profile meta = {
        .events = { { .name = "cpu", .unit = "nanoseconds", .period = 10101010 } }, .event_count = 1
    };
    struct view_opts vo = { .threads = !strcmp(name, "threads") || !strcmp(name, "crowd"),
                            .exact = !strcmp(format, "heatmap") };
    struct profile *profile = NULL;
    struct view *view = NULL;
    const struct render_format *f = render_format_find(span_of(format));
    _cleanup_buf_ struct buf out = BUF_NULL;
    struct error err = ERROR_NULL;
    int r;

    if (!f)
        must(-EINVAL);
    must(frame_table_new(1 << 20, (size_t)64 << 20, &table));
    must(record_new(table, 1 << 20, &rec));
    fill(name);
    if (!strcmp(name, "moments"))
        add_moments();
    meta.start_ns = 1000;
    meta.end_ns = meta.start_ns + 10 * NSEC_PER_SEC;
    meta.start_realtime_ns = UINT64_C(1763688414) * NSEC_PER_SEC + 123456789;
    snprintf(meta.target, sizeof(meta.target), "com.acme.shop.Application (pid 4242)");
    snprintf(meta.symbols, sizeof(meta.symbols),
             "memory: read from the VM, nothing was loaded into it");
    meta.lost = !strcmp(name, "poor") ? 5 : 0;
    must(record_finish(rec, &meta, &profile));
    must(view_new(profile, &vo, &view, NULL));
    if (!strcmp(name, "hostile"))
        o.title = "<title> & \"title\" </title><script>alert(0)</script>";
    buf_init(&out, RENDER_MAX_BYTES);
    r = f->render(view, &o, &out, &err);
    if (r < 0)
        fprintf(stderr, "make_html: %s\n", err.msg);
    else
        fwrite(out.p, 1, out.n, stdout);
    view_free(view);
    profile_unref(profile);
    record_free(rec);
    frame_table_free(table);
    return r < 0 ? 1 : 0;
}
