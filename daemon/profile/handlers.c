/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/handlers.h"

#include "profile/own_code.h"

enum handler_kind {
    HANDLER_NONE,
    HANDLER_ANY,
    HANDLER_EXACT,
};

struct dispatcher {
    enum handler_kind kind;
    const char *class_name, *method;
};

static const struct dispatcher DISPATCHERS[] = {
#define DISPATCHER(kind, class_name, method) { kind, class_name, method },
#include "profile/handlers.def"
#undef DISPATCHER
};

/* Dispatchers of the configuration; set before other threads start. */
static struct {
    char class_name[HANDLERS_NAME_BYTES], method[HANDLERS_NAME_BYTES];
} own_dispatchers[HANDLERS_OWN_MAX];
static size_t own_count;

/* Prefixes of classes that may be on the stack between a dispatcher and its handler. */
static const char *const BETWEEN[] = {
    "java.lang.reflect.", "java.lang.invoke.", "jdk.internal.reflect.",   "sun.reflect.",
    "jakarta.servlet.",   "javax.servlet.",    "com.sun.net.httpserver.", "sun.net.httpserver.",
};

/* The role of a function on a stack. */
enum function_kind {
    FUNCTION_UNKNOWN, /* not classified yet */
    FUNCTION_OWN,     /* code of the application */
    FUNCTION_BETWEEN,
    FUNCTION_LIBRARY,
    FUNCTION_PROXY, /* may call code other than a handler first */
    FUNCTION_ANY,   /* a dispatcher with HANDLER_ANY */
    FUNCTION_EXACT, /* a dispatcher with HANDLER_EXACT */
};

/* Result for a stack, found from the root on. */
struct found {
    uint32_t function; /* the handler; 0: none yet */
    uint8_t kind;      /* enum handler_kind of the last dispatcher; HANDLER_NONE: there is none, or
                        * it no longer counts */
    uint8_t made;
};

struct handlers {
    const struct profile *p;
    struct own_code own;
    struct found *stacks; /* owned, [p->stack_count] */
    uint8_t *functions;   /* owned, [p->function_count]: enum function_kind */
    uint32_t *path;       /* owned, [p->stack_count] */
};

int handlers_new(const struct profile *p, struct handlers **ret)
{
    struct handlers *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    h->p = p;
    own_code_init(p, &h->own);
    h->stacks = calloc(p->stack_count + 1, sizeof(*h->stacks));
    h->functions = calloc(p->function_count + 1, sizeof(*h->functions));
    h->path = calloc(p->stack_count + 1, sizeof(*h->path));
    if (!h->stacks || !h->functions || !h->path) {
        handlers_free(h);
        return -ENOMEM;
    }
    *ret = h;
    return 0;
}

struct handlers *handlers_free(struct handlers *h)
{
    if (!h)
        return NULL;
    free(h->stacks);
    free(h->functions);
    free(h->path);
    free(h);
    return NULL;
}

/* ---- functions ---- */

static bool contains(struct span s, struct span what)
{
    return what.n && memmem(s.p, s.n, what.p, what.n);
}

/* Returns whether @s matches @pattern of handlers.def. */
static bool fits(struct span s, const char *pattern)
{
    struct span want = span_of(pattern);

    if (want.n && want.p[0] == '*')
        return want.n == 1 || contains(s, span_from(want, 1));
    if (want.n && want.p[want.n - 1] == '*')
        return s.n >= want.n - 1 && memcmp(s.p, want.p, want.n - 1) == 0;
    return span_eq(s, want);
}

static enum handler_kind dispatcher_kind(struct span class_name, struct span method)
{
    for (size_t i = 0; i < ARRAY_SIZE(DISPATCHERS); i++) {
        if (fits(class_name, DISPATCHERS[i].class_name) && fits(method, DISPATCHERS[i].method))
            return DISPATCHERS[i].kind;
    }
    for (size_t i = 0; i < own_count; i++) {
        if (span_eq_str(class_name, own_dispatchers[i].class_name) &&
            span_eq_str(method, own_dispatchers[i].method))
            return HANDLER_EXACT;
    }
    return HANDLER_NONE;
}

static bool is_between(struct span class_name)
{
    for (size_t i = 0; i < ARRAY_SIZE(BETWEEN); i++) {
        if (span_starts_with(class_name, BETWEEN[i]))
            return true;
    }
    return contains(class_name, SPAN("Grpc$MethodHandlers")) ||
           contains(class_name, SPAN("$$Lambda"));
}

static enum function_kind look_at(const struct handlers *h, const struct function *f)
{
    struct span class_name = intern_get(h->p->strings, f->class_name);
    enum handler_kind kind = dispatcher_kind(class_name, intern_get(h->p->strings, f->name));

    if (kind != HANDLER_NONE)
        return kind == HANDLER_ANY ? FUNCTION_ANY : FUNCTION_EXACT;
    if (is_between(class_name))
        return FUNCTION_BETWEEN;
    if (contains(class_name, SPAN("$Proxy")))
        return FUNCTION_PROXY;
    return own_code_has(&h->own, class_name) ? FUNCTION_OWN : FUNCTION_LIBRARY;
}

/* Returns the role of frame @frame. Native and other frames may be between a dispatcher and its
 * handler. */
static enum function_kind kind_of(struct handlers *h, uint32_t frame)
{
    const struct frame *f = &h->p->frames[frame];
    uint32_t function = f->function;

    if (!frame_kind_is_java(f->kind) || !h->p->functions[function].class_name)
        return FUNCTION_BETWEEN;
    if (!h->functions[function])
        h->functions[function] = (uint8_t)look_at(h, &h->p->functions[function]);
    return h->functions[function];
}

/* ---- stacks ---- */

/* Returns the result of a stack with @frame as its leaf. @before: the result of its caller. */
static struct found step(struct handlers *h, struct found before, uint32_t frame)
{
    struct found now = before;

    switch (kind_of(h, frame)) {
    case FUNCTION_EXACT:
        if (!(before.function && before.kind == HANDLER_EXACT))
            now = (struct found){ .kind = HANDLER_EXACT };
        break;
    case FUNCTION_ANY:
        if (!before.function && before.kind != HANDLER_EXACT)
            now = (struct found){ .kind = HANDLER_ANY };
        break;
    case FUNCTION_OWN:
        if (before.kind && !before.function)
            now.function = h->p->frames[frame].function;
        break;
    case FUNCTION_LIBRARY:
        if (before.kind == HANDLER_ANY && !before.function)
            now.kind = HANDLER_NONE;
        break;
    case FUNCTION_PROXY:
        if (!before.function)
            now.kind = HANDLER_NONE;
        break;
    case FUNCTION_UNKNOWN:
    case FUNCTION_BETWEEN:
        break;
    }
    now.made = true;
    return now;
}

/* Returns the handler on the stack @stack; 0: none. */
static uint32_t handler_on(struct handlers *h, uint32_t stack)
{
    struct found at = { .made = true };
    size_t n = 0;

    for (; stack && !h->stacks[stack].made; stack = h->p->stacks[stack].parent)
        h->path[n++] = stack;
    if (stack)
        at = h->stacks[stack];
    while (n > 0) {
        stack = h->path[--n];
        at = h->stacks[stack] = step(h, at, h->p->stacks[stack].frame);
    }
    return at.function;
}

uint32_t handlers_of(struct handlers *h, const struct profile_sample *s)
{
    uint32_t state = s->context < h->p->context_count ? h->p->contexts[s->context].state
                                                      : PROFILE_CONTEXT_UNASKED;

    if (state != PROFILE_CONTEXT_UNASKED && state != PROFILE_CONTEXT_NO_TRACER &&
        state != PROFILE_CONTEXT_IDS)
        return 0;
    return handler_on(h, s->stack);
}

void handlers_method(const struct handlers *h, uint32_t function, struct buf *out)
{
    const struct function *f = &h->p->functions[function];
    struct span class_name = intern_get(h->p->strings, f->class_name);
    const char *generated = memmem(class_name.p, class_name.n, "$$", 2);

    if (generated && generated > class_name.p)
        class_name.n = (size_t)(generated - class_name.p);
    buf_add_span(out, class_name);
    buf_add_char(out, '.');
    buf_add_span(out, intern_get(h->p->strings, f->name));
}

void handlers_name(const struct handlers *h, uint32_t function, struct buf *out)
{
    uint32_t route = h->p->routes ? h->p->routes[function] : 0;

    if (route && route != FUNCTION_ROUTE_NONE) {
        buf_add_span(out, intern_get(h->p->strings, route));
        return;
    }
    handlers_method(h, function, out);
    buf_add_str(out, "()");
}

/* ---- dispatchers of the configuration ---- */

int handlers_set_own(const char *list, struct error *err)
{
    struct span rest = span_of(list), one;

    own_count = 0;
    while (span_take_until(&rest, ',', &one)) {
        size_t dot;

        one = span_trim(one);
        dot = span_rfind(one, '.');
        if (dot == 0 || dot + 1 >= one.n || one.n >= HANDLERS_NAME_BYTES)
            return error_set(err, -EINVAL,
                             "operation_callers: '%.*s' is no method: write class and method, such "
                             "as com.acme.Router.dispatch, with commas between several",
                             (int)MIN(one.n, (size_t)80), one.p);
        if (own_count == HANDLERS_OWN_MAX)
            return error_set(err, -EINVAL, "operation_callers: there may be %d methods",
                             HANDLERS_OWN_MAX);
        span_copy((struct span){ one.p, dot }, own_dispatchers[own_count].class_name,
                  HANDLERS_NAME_BYTES);
        span_copy(span_from(one, dot + 1), own_dispatchers[own_count].method, HANDLERS_NAME_BYTES);
        own_count++;
    }
    return 0;
}
