/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/words.h"

#include "base/text.h"
#include "profile/work_kinds.h"

#include <math.h>

#define NAME_SHOWN 120     /* bytes */
#define KINDS_SHOWN 3      /* kinds of work */
#define KIND_LEAST 0.05    /* share of the whole; smaller kinds are not listed */
#define PATH_LEAST 0.1     /* share of the whole; the path ends at code with less */
#define PATH_KEPT 0.5      /* share of the caller; the path ends at code with less */
#define SURE_NORMAL 1.96   /* standard deviations, for 95 of 100 */
#define DEEPEST_FRAMES 512 /* limit of frames of a stack that are followed */

const char *words_kind_name(enum words_kind kind)
{
    static const char *const NAMES[] = { [WORDS_FEW_SAMPLES] = "few",
                                         [WORDS_TIME] = "time",
                                         [WORDS_SIGNAL] = "signal",
                                         [WORDS_CHANGE] = "change",
                                         [WORDS_SURE] = "sure" };

    return NAMES[kind];
}

void words_deinit(struct words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->list[i].link);
    w->count = 0;
}

void words_add(struct words *w, enum words_kind kind, const char *link, const char *fmt, ...)
{
    struct words_sentence *s = &w->list[w->count];
    va_list args;

    if (w->count == WORDS_MAX)
        return;
    s->kind = kind;
    s->link = strdup(link);
    va_start(args, fmt);
    vsnprintf(s->text, sizeof(s->text), fmt, args);
    va_end(args);
    w->count += s->link != NULL;
}

void words_text(const struct words *w, struct buf *out)
{
    for (size_t i = 0; i < w->count; i++)
        buf_printf(out, "%s.\n   see %s\n", w->list[i].text, w->list[i].link);
}

/* ---- weights ---- */

static bool by_value(const struct view *v)
{
    return view_weighs_by_value(&v->opts, view_event(v));
}

static double weight_of(const struct view *v, const struct view_row *row)
{
    return (double)(by_value(v) ? row->value : row->samples);
}

static double whole_of(const struct view *v)
{
    return (double)(by_value(v) ? v->value : v->samples);
}

/* Returns the name of the total that shares refer to. */
static const char *whole_text(const struct view *v)
{
    static const struct {
        const char *event, *text;
    } TEXTS[] = {
        { "cpu", "the CPU time" },
        { "wall", "the time of all threads" },
        { "offcpu", "the time in which threads did not run" },
        { "lock", "the time in which threads waited for locks" },
        { "nativelock", "the time in which threads waited for locks" },
        { "alloc", "what was allocated" },
        { "live", "what was allocated and is still there" },
        { "malloc", "what was allocated natively" },
        { "nativelive", "what was allocated natively and is still there" },
    };
    const char *name = view_event(v)->name;

    for (size_t i = 0; i < ARRAY_SIZE(TEXTS); i++) {
        if (strcmp(TEXTS[i].event, name) == 0)
            return TEXTS[i].text;
    }
    return "the samples";
}

/* ---- kinds of work, and of waits ---- */

static double weight_of_sum(const struct view *v, struct view_sum sum)
{
    return (double)(by_value(v) ? sum.value : sum.samples);
}

static int kind_cmp(const void *a, const void *b, void *ctx)
{
    const struct work_kind *x = a, *y = b;

    return COMPARE(weight_of_sum(ctx, y->sum), weight_of_sum(ctx, x->sum));
}

/* Appends "84 % java, 12 % gc"; appends nothing for events without waits, except cpu. */
static void add_kinds(const struct view *v, struct buf *out)
{
    struct work_kind list[WORK_KINDS_MAX];
    double whole = whole_of(v);
    bool shares = work_has_waits(v) || strcmp(view_event(v)->name, "cpu") == 0;
    size_t n = shares ? work_kinds(v, list) : 0;

    qsort_r(list, n, sizeof(*list), kind_cmp, (void *)v);
    for (size_t i = 0; i < n && i < KINDS_SHOWN; i++) {
        double weight = weight_of_sum(v, list[i].sum);

        if (weight < KIND_LEAST * whole)
            break;
        buf_printf(out, "%s%.0f %% %s", i ? ", " : ": ", 100 * weight / whole, list[i].name);
    }
}

/* ---- the code ---- */

/* Code on the heaviest path from the root. */
struct place {
    uint32_t name; /* string of the view; 0: none */
    double weight;
};

struct path {
    double whole;         /* weight of all rows that were followed */
    struct place own;     /* the deepest Java code outside the JDK */
    struct place deepest; /* the deepest code */
};

/* Returns the weight of @row on the path; 0 of idle threads. */
static double path_weight(const struct view *v, const struct view_row *row)
{
    return row->idle ? 0 : weight_of(v, row);
}

/* Returns whether a frame of @kind is named. If @waits, kernel code is not named: it only waits. */
static bool is_code(uint32_t kind, bool waits)
{
    return frame_kind_is_java(kind) || kind == FRAME_NATIVE || kind == FRAME_NATIVE_INLINED ||
           kind == FRAME_JVM || (kind == FRAME_KERNEL && !waits) || kind == FRAME_STUB;
}

static bool is_of_jdk(struct span name)
{
    static const char *const PREFIXES[] = { "java.", "javax.", "jdk.", "sun.", "com.sun." };

    for (size_t i = 0; i < ARRAY_SIZE(PREFIXES); i++) {
        size_t n = strlen(PREFIXES[i]);

        if (name.n > n && memcmp(name.p, PREFIXES[i], n) == 0)
            return true;
    }
    return false;
}

/* Finds the heaviest frame at @depth in the rows [*lo, *hi), and narrows the rows to it. Returns
 * its weight; 0: the rows end there. */
static double descend(const struct view *v, size_t depth, size_t *lo, size_t *hi, uint32_t *frame)
{
    size_t best_lo = *lo, best_hi = *lo;
    double best = 0;

    for (size_t i = *lo, end; i < *hi; i = end) {
        const struct view_row *row = &v->rows[i];
        bool has = depth < row->n;
        uint32_t name = has ? v->frames[v->stack[row->first + depth]].name : 0;
        double sum = 0;

        for (end = i; end < *hi; end++) {
            const struct view_row *next = &v->rows[end];

            if ((depth < next->n) != has ||
                (has && v->frames[v->stack[next->first + depth]].name != name))
                break;
            sum += path_weight(v, next);
        }
        if (has && sum > best) {
            best = sum;
            best_lo = i;
            best_hi = end;
        }
    }
    if (best > 0)
        *frame = v->stack[v->rows[best_lo].first + depth];
    *lo = best_lo;
    *hi = best_hi;
    return best;
}

/* Follows the heaviest calls of threads that are not idle, as long as each has at least PATH_KEPT
 * of its caller. */
static struct path path_find(const struct view *v)
{
    struct path path = { 0 };
    size_t lo = 0, hi = v->row_count;
    double least, before;
    bool waits = work_has_waits(v);

    for (size_t i = 0; i < v->row_count; i++)
        path.whole += path_weight(v, &v->rows[i]);
    least = PATH_LEAST * path.whole;
    before = path.whole;
    for (size_t depth = 0; depth < DEEPEST_FRAMES; depth++) {
        uint32_t frame = 0;
        double weight = descend(v, depth, &lo, &hi, &frame);
        const struct view_frame *f = &v->frames[frame];

        if (weight <= 0 || weight < least || weight < PATH_KEPT * before)
            break;
        before = weight;
        if (!is_code(f->kind, waits))
            continue;
        path.deepest = (struct place){ f->name, weight };
        if (frame_kind_is_java(f->kind) && !is_of_jdk(view_string(v, f->name)))
            path.own = path.deepest;
    }
    return path;
}

static void add_place(const struct view *v, const char *before, struct place p, double whole,
                      struct buf *out)
{
    buf_printf(out, "%s%.0f %% in ", before, 100 * p.weight / whole);
    text_clean(view_string(v, p.name), TEXT_UTF8, NAME_SHOWN, out);
}

static void add_path(const struct view *v, const struct path *path, struct buf *out)
{
    buf_add_str(out, path->whole < whole_of(v) ? "; without idle threads, " : "; ");
    if (path->own.name)
        add_place(v, "", path->own, path->whole, out);
    if (path->deepest.name && path->deepest.name != path->own.name)
        add_place(v, path->own.name ? ", and there " : "", path->deepest, path->whole, out);
    if (!path->deepest.name)
        buf_add_str(out, "no code has most of it");
}

void words_add_time(struct words *w, const struct view *v, const char *link)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(WORDS_SENTENCE_BYTES);
    struct path path;

    if (whole_of(v) <= 0)
        return;
    path = path_find(v);
    buf_printf(&b, "Of %s", whole_text(v));
    add_kinds(v, &b);
    if (path.whole > 0)
        add_path(v, &path, &b);
    words_add(w, WORDS_TIME, link, "%.*s", (int)b.n, b.p);
}

/* ---- how sure ---- */

void words_add_sure(struct words *w, const struct view *v, const char *link)
{
    double n = (double)v->samples, looks = v->looks;

    if (v->samples == 0)
        return;
    words_add(w, WORDS_SURE, link,
              "%llu samples: a share of 50 %% is right within %.1f points, one of 5 %% within %.1f "
              "(95 times of 100); %.1f %% have a frame without a name, and %.1f %% are cut",
              (unsigned long long)v->samples, 100 * SURE_NORMAL * sqrt(0.5 * 0.5 / looks),
              100 * SURE_NORMAL * sqrt(0.05 * 0.95 / looks), 100 * (double)v->unknown / n,
              100 * (double)v->truncated / n);
}
