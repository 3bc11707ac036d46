/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/waits.h"

const char *const STATE_NAMES[STATE_COUNT] = { "", "running", "runnable", "blocked" };

const char *const WAIT_NAMES[WAIT_COUNT] = {
#define WAIT(id, name, words) name,
#include "profile/waits.def"
#undef WAIT
};

/* The code that a function belongs to. */
enum origin { KERNEL, NATIVE, JAVA, ORIGINS };

/* Weight of a rule: on a stack the strongest matching rule counts; among equally strong rules, that
 * nearest to the leaf. */
enum strength { WEAK = 1, PLAIN, STRONG };

#define ANY "*" /* at the end of a name: matches any rest */

struct rule {
    enum origin origin;
    const char *name;
    unsigned says;
    enum strength strength;
};

/* The wait (enum wait, `says`) that a function on the stack means. */
static const struct rule WAITS[] = {
    { KERNEL, "do_nanosleep", WAIT_SLEEP, PLAIN },
    { KERNEL, "hrtimer_nanosleep", WAIT_SLEEP, PLAIN },
    { KERNEL, "do_futex", WAIT_LOCK, PLAIN },
    { KERNEL, "futex_wait" ANY, WAIT_LOCK, PLAIN },
    { KERNEL, "__futex_wait", WAIT_LOCK, PLAIN },
    { KERNEL, "rwsem_down_" ANY, WAIT_LOCK, PLAIN },
    { KERNEL, "__mutex_lock" ANY, WAIT_LOCK, PLAIN },
    { KERNEL, "do_epoll_wait", WAIT_POLL, PLAIN },
    { KERNEL, "ep_poll", WAIT_POLL, PLAIN },
    { KERNEL, "do_sys_poll", WAIT_POLL, PLAIN },
    { KERNEL, "do_poll", WAIT_POLL, PLAIN },
    { KERNEL, "do_select", WAIT_POLL, PLAIN },
    { KERNEL, "io_cqring_wait", WAIT_POLL, PLAIN },
    { KERNEL, "pipe_read", WAIT_PIPE, PLAIN },
    { KERNEL, "pipe_write", WAIT_PIPE, PLAIN },
    { KERNEL, "anon_pipe_read", WAIT_PIPE, PLAIN },
    { KERNEL, "anon_pipe_write", WAIT_PIPE, PLAIN },
    { KERNEL, "fifo_open", WAIT_PIPE, PLAIN },
    { KERNEL, "eventfd_read", WAIT_PIPE, PLAIN },
    { KERNEL, "sock_" ANY, WAIT_NETWORK, PLAIN },
    { KERNEL, "sk_wait_data", WAIT_NETWORK, PLAIN },
    { KERNEL, "sk_stream_wait_" ANY, WAIT_NETWORK, PLAIN },
    { KERNEL, "inet_csk_accept", WAIT_NETWORK, PLAIN },
    { KERNEL, "inet_stream_connect", WAIT_NETWORK, PLAIN },
    { KERNEL, "unix_stream_" ANY, WAIT_NETWORK, PLAIN },
    { KERNEL, "unix_wait_for_peer", WAIT_NETWORK, PLAIN },
    { KERNEL, "__skb_wait_for_more_packets", WAIT_NETWORK, PLAIN },
    { KERNEL, "__sys_accept4", WAIT_NETWORK, PLAIN },
    { KERNEL, "__sys_connect", WAIT_NETWORK, PLAIN },
    { KERNEL, "__sys_recvfrom", WAIT_NETWORK, PLAIN },
    { KERNEL, "__sys_sendto", WAIT_NETWORK, PLAIN },
    { KERNEL, "io_schedule", WAIT_DISK, PLAIN },
    { KERNEL, "io_schedule_timeout", WAIT_DISK, PLAIN },
    { KERNEL, "submit_bio_wait", WAIT_DISK, PLAIN },
    { KERNEL, "__wait_on_buffer", WAIT_DISK, PLAIN },
    { KERNEL, "jbd2_log_wait_commit", WAIT_DISK, PLAIN },
    { KERNEL, "request_wait_answer", WAIT_FILE, PLAIN }, /* FUSE */
    { KERNEL, "vfs_read" ANY, WAIT_FILE, WEAK },
    { KERNEL, "vfs_write" ANY, WAIT_FILE, WEAK },
    { KERNEL, "vfs_fsync" ANY, WAIT_FILE, WEAK },
    { KERNEL, "vfs_statx" ANY, WAIT_FILE, WEAK },
    { KERNEL, "do_sys_openat2", WAIT_FILE, WEAK },
    { KERNEL, "iterate_dir", WAIT_FILE, WEAK },
    { KERNEL, "handle_mm_fault", WAIT_FAULT, STRONG },
    { KERNEL, "do_user_addr_fault", WAIT_FAULT, STRONG },
    { KERNEL, "exc_page_fault", WAIT_FAULT, STRONG },
    { KERNEL, "do_page_fault", WAIT_FAULT, STRONG },
    { KERNEL, "handle_userfault", WAIT_FAULT, STRONG },
    { KERNEL, "do_signal_stop", WAIT_STOPPED, STRONG },
    { KERNEL, "ptrace_stop" ANY, WAIT_STOPPED, STRONG },
    { KERNEL, "do_freezer_trap", WAIT_STOPPED, STRONG },
    { KERNEL, "get_signal", WAIT_STOPPED, STRONG }, /* may have called the functions above */
    { KERNEL, "do_coredump", WAIT_FILE, STRONG },   /* called by get_signal */
    { KERNEL, "vfs_coredump", WAIT_FILE, STRONG },
    { KERNEL, "__refrigerator", WAIT_STOPPED, STRONG },
    { NATIVE, "SafepointSynchronize::" ANY, WAIT_VM, STRONG },
    { NATIVE, "SafepointMechanism::" ANY, WAIT_VM, STRONG },
    { NATIVE, "VMThread::execute", WAIT_VM, STRONG },
    { NATIVE, "VMThread::wait_until_executed", WAIT_VM, STRONG },
    { NATIVE, "HandshakeState::" ANY, WAIT_VM, STRONG },
    { NATIVE, "SuspendibleThreadSet::" ANY, WAIT_VM, STRONG },
    { NATIVE, "GCLocker::stall_until_clear", WAIT_VM, STRONG },
    { NATIVE, "GC_locker::stall_until_clear", WAIT_VM, STRONG },
    { NATIVE, "TaskTerminator::" ANY, WAIT_VM, STRONG },
    { NATIVE, "ParallelTaskTerminator::" ANY, WAIT_VM, STRONG },
    { NATIVE, "ZPageAllocator::alloc_page_stall", WAIT_VM, STRONG },
    { NATIVE, "ObjectMonitor::enter" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "ObjectMonitor::Enter" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "ObjectMonitor::reenter" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "ObjectMonitor::Reenter" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "ObjectSynchronizer::enter" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "ObjectSynchronizer::slow_enter", WAIT_LOCK, STRONG },
    { NATIVE, "Mutex::lock" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "Monitor::lock" ANY, WAIT_LOCK, STRONG },
    { NATIVE, "ObjectMonitor::wait", WAIT_NOTIFY, STRONG },
    { NATIVE, "Parker::park", WAIT_PARK, STRONG },
    { NATIVE, "JavaThread::sleep" ANY, WAIT_SLEEP, STRONG },
    { NATIVE, "os::sleep", WAIT_SLEEP, STRONG },
    { NATIVE, "os::naked_short_sleep", WAIT_SLEEP, STRONG },
    { NATIVE, "JVM_Sleep", WAIT_SLEEP, STRONG },
    { JAVA, "jdk.internal.misc.Unsafe.park", WAIT_PARK, STRONG },
    { JAVA, "sun.misc.Unsafe.park", WAIT_PARK, STRONG },
    { JAVA, "java.lang.VirtualThread.park" ANY, WAIT_PARK, PLAIN },
    { JAVA, "sun.nio.ch.Poller.poll", WAIT_NETWORK, STRONG }, /* of a virtual thread */
    { JAVA, "java.lang.Thread.sleep" ANY, WAIT_SLEEP, STRONG },
    { JAVA, "java.lang.Object.wait" ANY, WAIT_NOTIFY, STRONG },
    { JAVA, "sun.nio.ch.Net.poll", WAIT_NETWORK, STRONG },
    { JAVA, "sun.nio.ch.Net.accept", WAIT_NETWORK, STRONG },
    { JAVA, "sun.nio.ch.Net.pollConnect", WAIT_NETWORK, STRONG },
    { JAVA, "java.net.SocketInputStream.socketRead0", WAIT_NETWORK, STRONG },
    { JAVA, "java.net.SocketOutputStream.socketWrite0", WAIT_NETWORK, STRONG },
    { JAVA, "java.net.PlainSocketImpl.socket" ANY, WAIT_NETWORK, STRONG },
    { JAVA, "java.net.Inet6AddressImpl." ANY, WAIT_NETWORK, STRONG },
    { JAVA, "java.net.Inet4AddressImpl." ANY, WAIT_NETWORK, STRONG },
};

/* A thread that is blocked in one of these functions waits for work (IDLES) or for something else
 * (WORKS). The function nearest to the leaf decides: within a task, a thread of a pool is not
 * idle. */
#define IDLES(origin, name)                                                                        \
    {                                                                                              \
        origin, name, true, PLAIN                                                                  \
    }
#define WORKS(origin, name)                                                                        \
    {                                                                                              \
        origin, name, false, PLAIN                                                                 \
    }
static const struct rule IDLE[] = {
    /* pools */
    IDLES(JAVA, "java.util.concurrent.ThreadPoolExecutor.getTask"),
    IDLES(JAVA, "java.util.concurrent.ForkJoinPool.awaitWork"),
    IDLES(JAVA, "java.util.concurrent.ForkJoinPool.idleAwaitWork"), /* 8 */
    IDLES(JAVA, "java.util.TimerThread.mainLoop"),
    IDLES(JAVA, "org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask"),
    IDLES(JAVA, "org.apache.catalina.core.StandardServer.await"),
    IDLES(JAVA, "org.eclipse.jetty.util.thread.QueuedThreadPool.idleJobPoll"),
    IDLES(JAVA, "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll"),
    IDLES(JAVA, "org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait"),
    IDLES(JAVA, "org.jboss.threads.EnhancedQueueExecutor$ThreadBody.getOrAddNode"),
    IDLES(JAVA, "org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park"),
    IDLES(JAVA, "io.netty.util.concurrent.SingleThreadEventExecutor.takeTask"),
    IDLES(JAVA, "io.netty.util.concurrent.GlobalEventExecutor.takeTask"),
    IDLES(JAVA, "java.util.TimerThread.run"),
    /* the JDK's own threads */
    IDLES(JAVA, "java.lang.ref.Reference.waitForReferencePendingList"),
    IDLES(JAVA, "java.lang.ref.Reference.tryHandlePending"), /* 8 */
    IDLES(JAVA, "java.lang.ref.ReferenceQueue.remove" ANY),
    IDLES(JAVA, "java.lang.ref.NativeReferenceQueue.await"),
    IDLES(JAVA, "jdk.jfr.internal.PlatformRecorder.takeNap"),
    IDLES(JAVA, "sun.nio.ch.Poller.pollerLoop"), /* for virtual threads */
    IDLES(JAVA, "sun.nio.ch.Poller.subPollerLoop"),
    IDLES(JAVA, "sun.nio.ch.Poller.pollLoop"), /* 21 */
    IDLES(JAVA, "sun.nio.ch.Poller.updateLoop"),
    /* acceptors and event loops */
    IDLES(JAVA, "sun.nio.ch.ServerSocketChannelImpl.accept" ANY),
    IDLES(JAVA, "sun.nio.ch.ServerSocketChannelImpl.implAccept"),
    IDLES(JAVA, "sun.nio.ch.NioSocketImpl.accept"),
    IDLES(JAVA, "java.net.PlainSocketImpl.socketAccept"),
    IDLES(JAVA, "java.net.ServerSocket.implAccept"),
    IDLES(JAVA, "sun.nio.ch.SelectorImpl.lockAndDoSelect"),
    IDLES(KERNEL, "do_epoll_wait"),
    IDLES(KERNEL, "ep_poll"),
    IDLES(KERNEL, "inet_csk_accept"),
    /* the VM's own threads */
    WORKS(NATIVE, "VM_" ANY),
    WORKS(NATIVE, "VMThread::evaluate_operation"),
    WORKS(NATIVE, "VMThread::inner_execute"),
    WORKS(NATIVE, "SafepointSynchronize::begin"),
    IDLES(NATIVE, "VMThread::loop"),
    IDLES(NATIVE, "VMThread::run"),
    WORKS(NATIVE, "CompileBroker::invoke_compiler_on_method"),
    IDLES(NATIVE, "CompileQueue::get"),
    IDLES(NATIVE, "ServiceThread::service_thread_entry"),
    IDLES(NATIVE, "MonitorDeflationThread::monitor_deflation_thread_entry"),
    IDLES(NATIVE, "NotificationThread::notification_thread_entry"),
    IDLES(NATIVE, "WatcherThread::sleep"),
    IDLES(NATIVE, "WatcherThread::run"),
    IDLES(NATIVE, "AttachListener::dequeue"),
    IDLES(NATIVE, "LinuxAttachListener::dequeue"),
    IDLES(NATIVE, "PosixAttachListener::dequeue"),
    IDLES(NATIVE, "signal_thread_entry"),
    IDLES(NATIVE, "NMethodSweeper::sweeper_loop"), /* 9 to 19 */
    IDLES(NATIVE, "StringDedupThread::do_service"),
    IDLES(NATIVE, "StringDedup::Processor::wait_for_requests"),
    WORKS(NATIVE, "TaskTerminator::" ANY),
    WORKS(NATIVE, "ParallelTaskTerminator::" ANY),
    IDLES(NATIVE, "GCTaskManager::get_task"), /* 8 */
    IDLES(NATIVE, "GangWorker::loop"),
    IDLES(NATIVE, "WorkerThread::run"),
    /* threads of collectors, from JDK 9 on: the wait for work may be inlined into their loops */
    WORKS(NATIVE, "VMThread::execute"),
    WORKS(NATIVE, "SuspendibleThreadSet::" ANY),
    WORKS(NATIVE, "WorkGang::run_task"), /* 8 to 17 */
    WORKS(NATIVE, "WorkerThreads::run_task"),
    WORKS(NATIVE, "G1ConcurrentMark::" ANY),
    WORKS(NATIVE, "G1ConcurrentMarkThread::delay_to_keep_mmu"),
    WORKS(NATIVE, "CMSCollector::" ANY), /* up to 13 */
    WORKS(NATIVE, "YieldingFlexibleWorkGang::" ANY),
    IDLES(NATIVE, "ConcurrentGCThread::run"),
    IDLES(NATIVE, "ConcurrentMarkThread::sleepBeforeNextCycle"),           /* 8 */
    IDLES(NATIVE, "ConcurrentG1RefineThread::wait_for_completed_buffers"), /* 8 */
    IDLES(NATIVE, "ConcurrentMarkSweepThread::sleepBeforeNextCycle"),      /* 8 */
    /* the thread of main() after its return, which waits for the other threads */
    IDLES(NATIVE, "Threads::destroy_vm"),
    /* the launcher's thread, which waits for main() */
    IDLES(NATIVE, "ContinueInNewThread"),
    IDLES(NATIVE, "CallJavaMainInNewThread"),
};

enum thread_state sample_state(const struct profile *p, const struct profile_sample *s)
{
    enum thread_state state = (enum thread_state)PROFILE_SAMPLE_STATE(s->flags);

    if (state == STATE_NONE && strcmp(p->events[s->event].unit, "nanoseconds") == 0)
        return STATE_RUNNING;
    return state;
}

#define NOT_LOOKED_UP 0
#define NO_RULE 1
#define FIRST_RULE 2

#define RULES_MAX (UINT8_MAX + 1 - FIRST_RULE)

/* Index of rules by origin and first letter, because most functions match no rule. first: number of
 * the first rule + 1; next: the same of the rule that follows each; 0: none. */
struct rule_index {
    const struct rule *rules;
    uint8_t first[ORIGINS][UINT8_MAX + 1], next[RULES_MAX];
};

struct waits {
    const struct profile *p;
    struct rule_index wait_rules, idle_rules;
    uint8_t *waits, *idle; /* [function_count]: number of the matching rule; see match_rules() */
    uint8_t *stacks;       /* [stack_count]: 0, or 1 + 2 * wait + idle */
};

_Static_assert(ARRAY_SIZE(WAITS) + FIRST_RULE <= UINT8_MAX + 1, "rules are numbered by bytes");
_Static_assert(ARRAY_SIZE(IDLE) + FIRST_RULE <= UINT8_MAX + 1, "as above");
_Static_assert(STATE_COUNT <= 4, "a state has two bits");

static void index_rules(const struct rule *rules, size_t count, struct rule_index *ret)
{
    ret->rules = rules;
    for (size_t i = count; i-- > 0;) {
        uint8_t *first = &ret->first[rules[i].origin][(uint8_t)rules[i].name[0]];

        ret->next[i] = *first;
        *first = (uint8_t)(i + 1);
    }
}

int waits_new(const struct profile *p, struct waits **ret)
{
    struct waits *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->p = p;
    index_rules(WAITS, ARRAY_SIZE(WAITS), &w->wait_rules);
    index_rules(IDLE, ARRAY_SIZE(IDLE), &w->idle_rules);
    w->waits = calloc(p->function_count + 1, 1);
    w->idle = calloc(p->function_count + 1, 1);
    w->stacks = calloc(p->stack_count + 1, 1);
    if (!w->waits || !w->idle || !w->stacks) {
        waits_free(w);
        return -ENOMEM;
    }
    *ret = w;
    return 0;
}

struct waits *waits_free(struct waits *w)
{
    if (w) {
        free(w->waits);
        free(w->idle);
        free(w->stacks);
        free(w);
    }
    return NULL;
}

/* Returns the origin of frames of @kind; ORIGINS: none of these. */
static enum origin origin_of(enum frame_kind kind)
{
    if (kind == FRAME_KERNEL)
        return KERNEL;
    if (kind == FRAME_NATIVE || kind == FRAME_JVM || kind == FRAME_NATIVE_INLINED)
        return NATIVE;
    return frame_kind_is_java(kind) ? JAVA : ORIGINS;
}

/* Returns whether @text is @name, or @name with parameters or the like. */
static bool begins(struct span text, const char *name, size_t n)
{
    static const char AFTER[] = { '(', '.', '<', '[', '+', '@', ' ' };

    if (text.n < n || memcmp(text.p, name, n) != 0)
        return false;
    return text.n == n || memchr(AFTER, text.p[n], sizeof(AFTER));
}

/* Returns whether @text matches @name, which may end with ANY. */
static bool matches(struct span text, const char *name)
{
    size_t n;

    n = strlen(name);
    if (n && name[n - 1] == ANY[0])
        return text.n >= n - 1 && memcmp(text.p, name, n - 1) == 0;
    return begins(text, name, n);
}

static bool function_is(const struct profile *p, const struct function *f, const char *name)
{
    struct span class_name = intern_get(p->strings, f->class_name),
                method = intern_get(p->strings, f->name);

    if (!f->class_name)
        return matches(method, name);
    return class_name.n && class_name.p[0] == name[0] && strlen(name) > class_name.n &&
           memcmp(name, class_name.p, class_name.n) == 0 && name[class_name.n] == '.' &&
           matches(method, name + class_name.n + 1);
}

/* Returns the number (from FIRST_RULE on) of the first rule that @f matches; NO_RULE: none. */
static uint8_t match_rules(const struct profile *p, const struct rule_index *index,
                           const struct frame *f)
{
    const struct function *function = &p->functions[f->function];
    struct span text =
        intern_get(p->strings, function->class_name ? function->class_name : function->name);
    enum origin origin = origin_of((enum frame_kind)f->kind);

    if (origin == ORIGINS || !text.n)
        return NO_RULE;
    for (uint8_t i = index->first[origin][(uint8_t)text.p[0]]; i; i = index->next[i - 1]) {
        if (function_is(p, function, index->rules[i - 1].name))
            return (uint8_t)(FIRST_RULE + i - 1);
    }
    return NO_RULE;
}

/* Returns the first rule that @f matches; NULL: none. @known caches the number of the rule by
 * function. */
static const struct rule *find_rule(const struct profile *p, const struct rule_index *index,
                                    uint8_t *known, const struct frame *f)
{
    uint8_t *number = &known[f->function];

    if (*number == NOT_LOOKED_UP)
        *number = match_rules(p, index, f);
    return *number >= FIRST_RULE ? &index->rules[*number - FIRST_RULE] : NULL;
}

/* Returns whether @f is the work function of a collector's thread. */
static bool is_work(const struct waits *w, const struct frame *f)
{
    struct span name = intern_get(w->p->strings, w->p->functions[f->function].name);
    size_t at = span_find(name, '(');

    name.n = MIN(at, name.n);
    return f->kind == FRAME_JVM && span_ends_with(name, "::work");
}

static uint8_t look_at_stack(struct waits *w, uint32_t stack)
{
    enum strength strongest = 0;
    enum wait wait = WAIT_BLOCKED;
    bool idle = false, decided = false, user = false;
    uint32_t leaf = w->p->frames[w->p->stacks[stack].frame].kind;

    if (frame_kind_is_wait(leaf)) { /* the leaf names the wait */
        strongest = STRONG;
        wait = (enum wait)(leaf - FRAME_WAIT_RUNNABLE);
        user = true;
    }
    for (; w->p->stacks[stack].depth; stack = w->p->stacks[stack].parent) {
        const struct frame *f = &w->p->frames[w->p->stacks[stack].frame];
        const struct rule *rule = find_rule(w->p, &w->wait_rules, w->waits, f);

        user |= f->kind != FRAME_KERNEL;
        if (rule && rule->strength > strongest) {
            strongest = rule->strength;
            wait = rule->says;
        }
        if (decided)
            continue;
        rule = find_rule(w->p, &w->idle_rules, w->idle, f);
        decided = rule || is_work(w, f);
        idle = rule && rule->says;
    }
    if (wait == WAIT_LOCK && !user) /* not a lock: every wait of a JVM uses a futex */
        wait = WAIT_BLOCKED;
    if (wait == WAIT_LOCK && idle && strongest == PLAIN) /* an idle thread does not wait for a held
                                                          * lock */
        wait = WAIT_NOTIFY;
    if (wait == WAIT_FAULT || wait == WAIT_STOPPED || wait == WAIT_DISK)
        idle = false; /* interrupted before it began to wait */
    return (uint8_t)(1 + 2 * (unsigned)wait + idle);
}

enum wait waits_of(struct waits *w, uint32_t stack, bool *ret_idle)
{
    uint8_t *known = &w->stacks[stack];

    if (!*known)
        *known = look_at_stack(w, stack);
    *ret_idle = (*known - 1) & 1;
    return (enum wait)((*known - 1) >> 1);
}
