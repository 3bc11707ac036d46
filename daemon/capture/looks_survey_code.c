/* SPDX-License-Identifier: Apache-2.0 */
/* Code in a survey: what the methods of a stack say of a wait. Each method is looked up once. */
#include "capture/looks_survey_impl.h"

#include "base/list.h"

enum trait {
    KNOWN = 1,
    OF_JDK = 2,
    OF_QUEUE = 4, /* of the JDK */
    OF_POOL = 8,  /* of connections or objects */
    PERMIT = 16,
    RESULT = 32,
    TASK = 64,
};

struct known_method {
    const char *class_name, *method;
};

/* Frames of executors that run a task. */
static const struct known_method TASKS[] = {
    { "java.util.concurrent.ThreadPoolExecutor", "runWorker" },
    { "java.util.concurrent.ForkJoinTask", "doExec" },
    { "org.apache.tomcat.util.threads.ThreadPoolExecutor", "runWorker" },
    { "org.eclipse.jetty.util.thread.QueuedThreadPool", "runJob" },
    { "org.jboss.threads.EnhancedQueueExecutor$ThreadBody", "run" },
};

/* Calls of the JDK that wait for a result of another thread. */
static const struct known_method RESULTS[] = {
    { "java.util.concurrent.FutureTask", "get" },
    { "java.util.concurrent.CompletableFuture", "get" },
    { "java.util.concurrent.CompletableFuture", "join" },
    { "java.util.concurrent.ForkJoinTask", "get" },
    { "java.util.concurrent.ForkJoinTask", "join" },
    { "java.util.concurrent.AbstractExecutorService", "invokeAll" },
};

/* Pools of connections and objects: a thread that waits in one waits for their other users. */
static const char *const RESOURCES[] = { "com.zaxxer.hikari.", "org.apache.commons.pool2.",
                                         "org.apache.commons.dbcp2.",
                                         "org.apache.tomcat.jdbc.pool.", "com.mchange.v2." };

/* Calls of the JDK that wait for a permit. */
static const struct known_method PERMITS[] = {
    { "java.util.concurrent.Semaphore", "acquire" },
    { "java.util.concurrent.Semaphore", "acquireUninterruptibly" },
    { "java.util.concurrent.Semaphore", "tryAcquire" },
};

/* Packages of the JDK; the code that waits calls them. */
static const char *const JDK[] = { "java.", "javax.", "jdk.", "sun.", "com.sun." };

int survey_code_init(struct survey_code *c, const struct profile *p)
{
    *c = (struct survey_code){ .p = p, .traits = calloc(p->function_count + 1, 1) };
    return c->traits ? 0 : -ENOMEM;
}

void survey_code_deinit(struct survey_code *c)
{
    free(c->traits);
    c->traits = NULL;
}

static bool is_any_of(struct span class_name, struct span method, const struct known_method *list,
                      size_t n)
{
    return ANY_OF(
        i, n, span_eq_str(method, list[i].method) && span_eq_str(class_name, list[i].class_name));
}

static bool starts_with_any(struct span name, const char *const *list, size_t n)
{
    return ANY_OF(i, n, span_starts_with(name, list[i]));
}

static bool is_queue(struct span class_name)
{
    return span_starts_with(class_name, "java.util.concurrent.") &&
           (memmem(class_name.p, class_name.n, "Queue", 5) ||
            memmem(class_name.p, class_name.n, "Deque", 5));
}

static uint8_t traits_of(struct span class_name, struct span method)
{
    unsigned traits = KNOWN;

    if (starts_with_any(class_name, JDK, ARRAY_SIZE(JDK)))
        traits |= OF_JDK;
    if (is_queue(class_name))
        traits |= OF_QUEUE;
    if (starts_with_any(class_name, RESOURCES, ARRAY_SIZE(RESOURCES)))
        traits |= OF_POOL;
    if (is_any_of(class_name, method, PERMITS, ARRAY_SIZE(PERMITS)))
        traits |= PERMIT;
    if (is_any_of(class_name, method, RESULTS, ARRAY_SIZE(RESULTS)))
        traits |= RESULT;
    if (is_any_of(class_name, method, TASKS, ARRAY_SIZE(TASKS)))
        traits |= TASK;
    return (uint8_t)traits;
}

static unsigned look_up(struct survey_code *c, uint32_t function)
{
    const struct function *f = &c->p->functions[function];
    uint8_t *traits = &c->traits[function];

    if (!*traits)
        *traits =
            traits_of(intern_get(c->p->strings, f->class_name), intern_get(c->p->strings, f->name));
    return *traits;
}

void survey_read_code(struct survey_code *c, uint32_t stack, struct stack_says *ret)
{
    const struct profile *p = c->p;
    bool own = false, queue = false, resource = false;

    for (; p->stacks[stack].depth; stack = p->stacks[stack].parent) {
        const struct frame *frame = &p->frames[p->stacks[stack].frame];
        unsigned traits;

        if (!frame_kind_is_java(frame->kind))
            continue;
        traits = look_up(c, frame->function);
        ret->permit |= !own && traits & (OF_POOL | PERMIT);
        if (!own && (!ret->code || !(traits & OF_JDK))) {
            ret->code = frame->function;
            own = !(traits & OF_JDK);
        }
        if (!ret->caller && !(traits & (OF_POOL | OF_JDK)))
            ret->caller = frame->function;
        queue |= !own && traits & OF_QUEUE;
        resource |= traits & OF_POOL;
        ret->result |= traits & RESULT;
        ret->task |= traits & TASK;
    }
    ret->input = queue && !resource;
}
