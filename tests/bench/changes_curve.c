/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes_curve ROUNDS SAMPLES EFFECTS BASE [CASE WANTED]...: how often the change of a release is
 * found first. BASE and CASE are files of changes.py --record: steps of a service before and after
 * a change. A replicate has an hour before the release and ten minutes after it, of some SAMPLES of
 * CPU time a minute. Each minute is drawn from a few recorded steps of BASE that follow one
 * another. A minute after the release is drawn in part from steps of CASE, so that the change costs
 * EFFECT percent. WANTED are the names that may come first. Without a CASE, ROUNDS weeks have no
 * release; the changes that are claimed each hour are counted. SEED and STEPS in the environment
 * choose the draws, and the steps that a minute is drawn from. BEFORE is the number of minutes
 * before the release, in place of 60. With BLOCK, a minute of such a week is a recorded step as it
 * is, and that many minutes follow one another as they were recorded, with HZ samples a second of
 * CPU time in place of 19.
 */
#include "base/cleanup.h"
#include "profile/category.h"
#include "profile/changes.h"

#include <math.h>

#define AFTER 10 /* minutes */
#define WEEK_HOURS (7 * 24)
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define LOOKS 720 /* samples of waits per minute: 12 threads, sampled each second */
#define LINE_BYTES (64 << 10)
#define FRAMES_MAX 1024
#define ENTRIES_MAX (1 << 20)
#define STRINGS_BYTES (64 << 20)
#define SAMPLES_MAX (1 << 20)
#define STEPS_A_MINUTE                                                                             \
    3 /* recorded steps that a minute is drawn from, so that few samples of a step                 \
       * do not repeat */
#define NAMES_SHOWN 3
#define SAMPLES_MIN 300 /* of a side, and of b at the rate of a: else the route claims nothing */
#define RECORDER_HZ 19
#define LOAD_LEAST 0.7 /* the load of a minute is random between these two */
#define LOAD_MOST 1.3

enum { CPU, OFFCPU, LOCK, EVENTS };
static const char *const EVENT_NAMES[EVENTS] = { "cpu", "offcpu", "lock" };

struct entry {
    uint32_t *stack; /* owned, leaf first */
    size_t depth;
    uint32_t thread; /* string of the table */
    uint32_t samples, flags;
    uint64_t value; /* of one sample */
    int event;
};

struct step {
    struct entry *entries; /* owned */
    size_t count, room;
    double samples[EVENTS], value[EVENTS];
};

struct recording {
    struct step *steps; /* owned */
    size_t count, room;
    double work;                /* requests answered */
    uint32_t *frames, *threads; /* owned: ids of the table, by index in the file */
    size_t frame_count, thread_count, frame_room, thread_room;
};

static struct frame_table *table;
static uint64_t state;
static size_t steps_a_minute;
static size_t minutes_before;
static unsigned long hz;
static size_t block; /* minutes that follow one another; 0: each is drawn by itself */

static void must(int r)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s\n", strerror(-r));
    exit(2);
}

static double real(const char *text)
{
    return strtod(text, NULL);
}

static unsigned long number(const char *text)
{
    return strtoul(text, NULL, 10);
}

static unsigned long from_environment(const char *name, unsigned long otherwise)
{
    return getenv(name) ? number(getenv(name)) : otherwise;
}

static void *grown(void *array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return array;
    *room = 2 * count + 64;
    array = reallocarray(array, *room, size);
    must(array ? 0 : -ENOMEM);
    return array;
}

/* ---- recordings ---- */

static enum frame_kind kind_of(const char *name)
{
    static const struct {
        const char *name;
        enum frame_kind kind;
    } KINDS[] = { { "c2", FRAME_C2 },           { "c1", FRAME_C1 },
                  { "inlined", FRAME_INLINED }, { "interpreted", FRAME_INTERPRETED },
                  { "jvm", FRAME_JVM },         { "stub", FRAME_STUB },
                  { "kernel", FRAME_KERNEL },   { "class", FRAME_CLASS },
                  { "unknown", FRAME_UNKNOWN }, { "native", FRAME_NATIVE } };

    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        if (strcmp(name, KINDS[i].name) == 0)
            return KINDS[i].kind;
    }
    return FRAME_NATIVE;
}

static uint32_t string_id(const char *s)
{
    uint32_t id;

    must(frame_table_string(table, span_of(s), &id));
    return id;
}

/* Adds the frame of a line "KIND NAME". */
static uint32_t read_frame(char *kind)
{
    char *name = strchr(kind, ' '), *dot;
    struct frame f = { 0 };
    struct function fn = { 0 };
    uint32_t id;

    *name++ = '\0';
    f.kind = (uint8_t)kind_of(kind);
    dot = strrchr(name, '.');
    if (frame_kind_is_java(f.kind) && dot) {
        *dot = '\0';
        fn.class_name = string_id(name);
        name = dot + 1;
    }
    fn.name = string_id(name);
    must(frame_table_function(table, &fn, &f.function));
    must(frame_table_frame(table, &f, &id));
    return id;
}

static int find_name(const char *const *names, int count, const char *name)
{
    int i = 0;

    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* Adds the stack of a line "EVENT THREAD SAMPLES VALUE STATE FRAME ...", root first. */
static void read_stack(struct recording *r, struct step *step, char *line)
{
    char *save, *word = strtok_r(line, " ", &save);
    struct entry e = { .event = find_name(EVENT_NAMES, EVENTS, word) };
    uint32_t frames[FRAMES_MAX], thread = (uint32_t)number(strtok_r(NULL, " ", &save));
    enum category category;

    e.thread = r->threads[thread];
    e.samples = (uint32_t)number(strtok_r(NULL, " ", &save));
    e.value = strtoull(strtok_r(NULL, " ", &save), NULL, 10) / MAX(e.samples, 1u);
    word = strtok_r(NULL, " ", &save);
    while (e.depth < FRAMES_MAX && (word = strtok_r(NULL, " \n", &save)) != NULL)
        frames[e.depth++] = r->frames[number(word)];
    e.stack = calloc(e.depth + 1, sizeof(*e.stack));
    must(e.stack ? 0 : -ENOMEM);
    for (size_t i = 0; i < e.depth; i++)
        e.stack[i] = frames[e.depth - 1 - i];
    category = category_of(table, frame_table_get_string(table, e.thread), e.stack, e.depth,
                           e.depth && frame_table_get(table, e.stack[0])->kind == FRAME_KERNEL,
                           /* is_jvm= */ true);
    e.flags = e.event == CPU ? category << PROFILE_SAMPLE_CATEGORY_SHIFT
                             : STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT;
    step->entries = grown(step->entries, &step->room, step->count, sizeof(e));
    step->entries[step->count++] = e;
    step->samples[e.event] += e.samples;
    step->value[e.event] += (double)e.samples * (double)e.value;
}

static void read_line(struct recording *r, char *line)
{
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "frame ", 6) == 0) {
        r->frames = grown(r->frames, &r->frame_room, r->frame_count, sizeof(uint32_t));
        r->frames[r->frame_count++] = read_frame(line + 6);
    } else if (strncmp(line, "thread ", 7) == 0) {
        r->threads = grown(r->threads, &r->thread_room, r->thread_count, sizeof(uint32_t));
        r->threads[r->thread_count++] = string_id(line + 7);
    } else if (strncmp(line, "work ", 5) == 0) {
        r->work = real(line + 5);
    } else if (strcmp(line, "step") == 0) {
        r->steps = grown(r->steps, &r->room, r->count, sizeof(struct step));
        r->steps[r->count++] = (struct step){ 0 };
    } else {
        read_stack(r, &r->steps[r->count - 1], line);
    }
}

static void read_recording(const char *path, struct recording *ret)
{
    FILE *f = fopen(path, "re");
    static char line[LINE_BYTES];

    must(f ? 0 : -errno);
    *ret = (struct recording){ 0 };
    while (fgets(line, sizeof(line), f))
        read_line(ret, line);
    fclose(f);
}

static double sum_of(const struct recording *r, int event, bool values)
{
    double sum = 0;

    for (size_t i = 0; i < r->count; i++)
        sum += values ? r->steps[i].value[event] : r->steps[i].samples[event];
    return sum;
}

/* ---- replicates ---- */

#define LOCKS "lock:" /* before the wanted name of a change that costs waits, not CPU time */

/* Returns the cost of the change in @changed: its part of the work, or of the time of busy
 * threads. */
static double effect_of(const struct recording *base, const struct recording *changed, bool locks)
{
    double waits[] = { sum_of(base, LOCK, true), sum_of(changed, LOCK, true) };

    if (locks)
        return waits[1] / (waits[1] + sum_of(changed, CPU, true)) -
               waits[0] / (waits[0] + sum_of(base, CPU, true));
    return sum_of(changed, CPU, false) / changed->work / (sum_of(base, CPU, false) / base->work) -
           1;
}

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* Draws from a Poisson distribution. */
static uint32_t poisson(double mean)
{
    double limit = exp(-fmin(mean, 30)), product = uniform();
    uint32_t n = 0;

    if (mean > 30) {
        double normal = sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());

        return (uint32_t)fmax(floor(mean + sqrt(mean) * normal + 0.5), 0);
    }
    for (; product > limit; n++)
        product *= uniform();
    return n;
}

struct drawing {
    struct record *record; /* owned */
    uint32_t process;
};

/* Draws some @mean samples of @event at minute @minute from @step. */
static void draw(struct drawing *d, const struct step *step, int event, double mean, size_t minute)
{
    double each = step->samples[event] > 0 ? mean / step->samples[event] : 0;

    for (size_t i = 0; i < step->count && each > 0; i++) {
        const struct entry *e = &step->entries[i];
        struct profile_thread thread = { .name = e->thread, .process = d->process };
        struct profile_sample s = { .time_ns = minute * MINUTE_NS + MINUTE_NS / 2,
                                    .event = (uint8_t)event,
                                    .flags = e->flags & 0x3fff };
        uint32_t n = e->event != event ? 0 : block ? e->samples : poisson(e->samples * each), id;

        if (!n)
            continue;
        must(record_thread(d->record, &thread, &id));
        s.thread = id & 0xffffff;
        s.count = n;
        s.value = event == CPU ? 0 : n * e->value;
        must(record_sample(d->record, &s, e->stack, e->depth));
    }
}

/* Draws some @mean samples of @event from steps of @from that follow one another. */
static void draw_steps(struct drawing *d, const struct recording *from, size_t first, int event,
                       double mean, size_t minute)
{
    double all = 0;

    for (size_t i = 0; i < steps_a_minute; i++)
        all += from->steps[(first + i) % from->count].samples[event];
    for (size_t i = 0; i < steps_a_minute && all > 0; i++) {
        const struct step *step = &from->steps[(first + i) % from->count];

        draw(d, step, event, mean * step->samples[event] / all, minute);
    }
}

/* Draws one minute, the part @mix of its work from @changed. */
static void draw_minute(struct drawing *d, const struct recording *base,
                        const struct recording *changed, double mix, double samples, size_t minute)
{
    size_t before = (size_t)(uniform() * (double)base->count),
           after = (size_t)(uniform() * (double)changed->count);
    double load = LOAD_LEAST + (LOAD_MOST - LOAD_LEAST) * uniform();

    for (int event = 0; event < EVENTS; event++) {
        bool cpu = event == CPU;
        double all = cpu ? samples * load : LOOKS,
               of_base = cpu ? 1 : sum_of(base, event, false) / sum_of(base, OFFCPU, false),
               of_changed = cpu ? 1 + effect_of(base, changed, false)
                                : sum_of(changed, event, false) / sum_of(changed, OFFCPU, false);

        draw_steps(d, base, before, event, all * of_base * (1 - mix), minute);
        if (mix > 0)
            draw_steps(d, changed, after, event, all * of_changed * mix, minute);
    }
}

/* Takes the steps of one minute after another, in blocks that begin anywhere. */
static void take_minutes(struct drawing *d, const struct recording *base, size_t first,
                         size_t count)
{
    size_t step = 0;

    for (size_t m = first; m < first + count; m++) {
        step = (m - first) % block ? step + 1
                                   : (size_t)(uniform() * (double)(base->count - block + 1));
        for (int event = 0; event < EVENTS; event++)
            draw(d, &base->steps[step], event, 1, m);
    }
}

static struct profile *draw_profile(const struct recording *base, const struct recording *changed,
                                    double mix, double samples, size_t before, size_t after)
{
    struct profile_process process = { .host_pid = 1, .name = string_id("Changed") };
    struct profile meta = { .event_count = EVENTS };
    struct drawing d = { NULL, 0 };
    struct profile *p = NULL;

    for (int event = 0; event < EVENTS; event++) {
        struct profile_event *e = &meta.events[event];

        snprintf(e->name, sizeof(e->name), "%s", EVENT_NAMES[event]);
        snprintf(e->unit, sizeof(e->unit), "nanoseconds");
        e->period = event == CPU ? NSEC_PER_SEC / hz : 1;
        e->valued = event != CPU;
    }
    must(record_new(table, SAMPLES_MAX, &d.record));
    must(record_process(d.record, &process, &d.process));
    if (block) {
        take_minutes(&d, base, 0, before);
        take_minutes(&d, base, before, after);
    }
    for (size_t m = 0; !block && m < before + after; m++)
        draw_minute(&d, base, changed, m < before ? 0 : mix, samples, m);
    must(record_finish(d.record, &meta, &p));
    record_free(d.record);
    return p;
}

/* Finds the changes as the route does. The caller frees *ret, and deinits @set. */
static size_t find(struct profile *p, size_t before, size_t after, struct change_set *set,
                   struct change **ret)
{
    static const struct {
        int event;
        enum change_kind kind;
    } SOURCES[] = { { CPU, CHANGE_FUNCTION },
                    { CPU, CHANGE_CATEGORY },
                    { LOCK, CHANGE_LOCK },
                    { OFFCPU, CHANGE_WAIT } };
    struct change_steps steps = {
        .b_ns = before * MINUTE_NS, .step_ns = MINUTE_NS, .a = before, .b = after
    };
    struct view *functions = NULL;
    size_t n = 0;

    must(change_set_init(set, &steps));
    for (size_t i = 0; i < ARRAY_SIZE(SOURCES); i++) {
        struct view_opts o = { .names = VIEW_NAMES_MERGED, .exact = true };
        struct view *v = NULL;

        o.event = (uint8_t)SOURCES[i].event;
        must(view_new(p, &o, &v, NULL));
        must(change_set_add(set, v, SOURCES[i].kind));
        if (SOURCES[i].kind == CHANGE_FUNCTION)
            functions = v;
        else
            view_free(v);
    }
    must(changes_find(set, ret, &n));
    if (MIN(set->samples[0], set->samples[1]) < SAMPLES_MIN ||
        change_set_expected(set) < SAMPLES_MIN)
        n = 0;
    n = changes_fold((const struct view *const[]){ functions, NULL }, *ret, n);
    view_free(functions);
    return n;
}

static bool is_wanted(const char *wanted, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = wanted; (at = strstr(at, name)) != NULL; at += n) {
        if ((at == wanted || at[-1] == ',' || at[-1] == ':') && (at[n] == ',' || at[n] == '\0'))
            return true;
    }
    return false;
}

static void show(const struct change *found, size_t n)
{
    for (size_t i = 0; i < MIN(n, (size_t)NAMES_SHOWN); i++)
        printf(" %s %s %+.2f (%.2f to %.2f, from %.2f, q %.4f)",
               change_kind_name(found[i].of->kind), found[i].of->name, found[i].difference,
               found[i].low, found[i].high, found[i].before, found[i].q);
    printf("%s\n", n ? "" : " none");
}

/* Results of some replicates: how often the change came first in the list, first in the sentences,
 * and anywhere. */
struct found {
    unsigned listed, said, anywhere;
};

static struct found replicate(const struct recording *base, const struct recording *changed,
                              const char *wanted, double effect, double samples, int rounds)
{
    double more = effect_of(base, changed, strncmp(wanted, LOCKS, sizeof(LOCKS) - 1) == 0),
           mix = effect / 100 / more;
    struct found sum = { 0 };

    for (int round = 0; round < rounds; round++) {
        struct profile *p =
            draw_profile(base, changed, fmin(mix, 1), samples, minutes_before, AFTER);
        struct change *found = NULL;
        struct change_set set;
        size_t n = find(p, minutes_before, AFTER, &set, &found);
        bool anywhere = false;

        sum.said += n && is_wanted(wanted, found[0].of->name);
        changes_sort(found, n);
        for (size_t i = 0; i < n; i++)
            anywhere |= is_wanted(wanted, found[i].of->name);
        sum.anywhere += anywhere;
        sum.listed += n && is_wanted(wanted, found[0].of->name);
        if (!(n && is_wanted(wanted, found[0].of->name))) {
            printf("    MISSED (of %.1f %% mix %.3f):", 100 * more, mix);
            show(found, n);
        }
        free(found);
        change_set_deinit(&set);
        profile_unref(p);
    }
    return sum;
}

/* Compares each hour of a week with the ten minutes after it. */
static void weeks(const struct recording *base, double samples, int rounds)
{
    for (int week = 0; week < rounds; week++) {
        size_t claimed = 0, hours = 0;

        for (int hour = 0; hour < WEEK_HOURS; hour++) {
            struct profile *p = draw_profile(base, base, 0, samples, minutes_before, AFTER);
            struct change *found = NULL;
            struct change_set set;
            size_t n = find(p, minutes_before, AFTER, &set, &found);

            claimed += n;
            hours += n > 0;
            if (n) {
                printf("    claimed:");
                show(found, n);
            }
            free(found);
            change_set_deinit(&set);
            profile_unref(p);
        }
        printf("  week %d: %zu changes claimed in %zu of %d comparisons\n", week + 1, claimed,
               hours, WEEK_HOURS);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct recording base, changed;
    int rounds = argc > 4 ? (int)number(argv[1]) : 0;
    char *save, *effects;

    if (argc < 5 || rounds < 1)
        return fprintf(stderr,
                       "usage: changes_curve ROUNDS SAMPLES EFFECTS BASE [CASE WANTED]...\n"),
               2;
    steps_a_minute = from_environment("STEPS", STEPS_A_MINUTE);
    minutes_before = from_environment("BEFORE", 60);
    block = from_environment("BLOCK", 0);
    hz = from_environment("HZ", RECORDER_HZ);
    state = from_environment("SEED", 1);
    must(frame_table_new(ENTRIES_MAX, STRINGS_BYTES, &table));
    read_recording(argv[4], &base);
    if (block > base.count)
        return fprintf(stderr, "%s has only %zu steps\n", argv[4], base.count), 2;
    if (argc == 5)
        return weeks(&base, real(argv[2]), rounds), 0;
    for (int i = 5; i + 1 < argc; i += 2) {
        read_recording(argv[i], &changed);
        effects = strdup(argv[3]);
        for (char *word = strtok_r(effects, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
            struct found f =
                replicate(&base, &changed, argv[i + 1], real(word), real(argv[2]), rounds);

            printf("%s %s %%: first of the list %u, first of the sentences %u, listed %u of %d\n",
                   argv[i], word, f.listed, f.said, f.anywhere, rounds);
            fflush(stdout);
        }
        free(effects);
    }
    return 0;
}
