/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/changes: what changed between two times of the past. */
#include "api/changes_impl.h"
#include "base/cleanup.h"
#include "base/url.h"
#include "base/utc_text.h"
#include "capture/process_selector.h"
#include "store/history.h"

#define LINK_BYTES 16384 /* room for 256 pids and a service */

/* The event that each kind of change is computed from. */
static const struct {
    const char *event;
    enum change_kind kind;
} SOURCES[] = {
    { "cpu", CHANGE_FUNCTION }, { "cpu", CHANGE_CATEGORY }, { "cpu", CHANGE_OPERATION },
    { "lock", CHANGE_LOCK },    { "offcpu", CHANGE_WAIT },  { "alloc", CHANGE_ALLOCATION },
};

struct checking {
    const struct target_selector *t;
    struct error *err;
};

/* Returns the index of event @name in @p; -1: there is none. */
static int event_index(const struct profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->event_count; i++) {
        if (strcmp(p->events[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

/* Returns the time from which on single minutes are kept (CLOCK_REALTIME). */
static uint64_t oldest_of(const struct api *api, uint64_t recorded_ns)
{
    struct history_stats stats = { 0 };

    if (api->engine.history)
        history_stats(api->engine.history, &stats);
    return stats.tier_oldest_ns[0] ? stats.tier_oldest_ns[0] : recorded_ns;
}

/* Adds the samples of one event on one side. Having none is not an error. */
static int add_source(struct comparing *c, size_t source, size_t side, struct error *err)
{
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    _cleanup_(view_freep) struct view *v = NULL;
    struct view_opts o = { .names = VIEW_NAMES_MERGED, .exact = true };
    struct past_recorder recorder;
    struct error why = ERROR_NULL;
    bool needed = SOURCES[source].kind == CHANGE_FUNCTION;
    int event, r;

    if (SOURCES[source].kind == CHANGE_ALLOCATION && !c->api->engine.opts->recorder_alloc)
        return 0;
    r = past_profile(c->api, c->t, &c->sides[side], SOURCES[source].event, c->sources, &p,
                     &recorder, &why);

    if (needed) {
        c->oldest_ns = oldest_of(c->api, recorder.oldest_ns);
        c->longest_ns[side] = recorder.longest_ns;
    }
    if (r == BACKEND_NOT_FOUND || (r > 0 && !needed)) /* check_target() reports unknown targets
                                                       * later */
        return 0;
    if (r != 0 && err)
        *err = why;
    if (r != 0)
        return r;
    event = event_index(p, SOURCES[source].event);
    if (event < 0)
        return 0;
    o.event = (uint8_t)event;
    r = view_new(p, &o, &v, err) ?: change_set_add(&c->set, v, SOURCES[source].kind);
    if (r == 0 && needed)
        r = changes_pauses(c->api, c->t, &c->sides[side], p, recorder.since_ns, &c->set,
                           &c->pauses[side], err);
    if (r == 0 && needed && c->api->engine.opts->recorder_alloc)
        r = changes_rests(c->api, p, &c->set, err);
    if (r == 0 && needed)
        c->functions[side] = TAKE_PTR(v);
    if (change_is_of_waits(SOURCES[source].kind))
        c->waits[side] = true;
    return r;
}

/* Adds the samples of both sides for each event, and the pauses. If only one side has samples of
 * waits, waits were not recorded on the other side, so they are not compared. The same applies to
 * allocations and pauses. Pauses are scaled by the work of their minute, so they need samples by
 * minute. */
static int add_sources(struct comparing *c, struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(SOURCES); i++) {
        for (size_t side = 0; r == 0 && side < ARRAY_SIZE(c->sides); side++)
            r = add_source(c, i, side, err);
    }
    for (size_t side = 0; side < ARRAY_SIZE(c->allocations); side++)
        c->allocations[side] = change_set_has(&c->set, CHANGE_ALLOCATION, side);
    for (size_t kind = 0; kind < CHANGE_KINDS; kind++)
        c->set.one_sided[kind] =
            (change_is_of_waits((enum change_kind)kind) && c->waits[0] != c->waits[1]) ||
            (kind == CHANGE_ALLOCATION && !(c->allocations[0] && c->allocations[1])) ||
            (change_is_pause((enum change_kind)kind) &&
             (!(c->pauses[0] && c->pauses[1]) || changes_coarse(c, 0) || changes_coarse(c, 1)));
    return r;
}

/* ---- words ---- */

static void add_time(struct buf *out, const char *before, uint64_t realtime_ns)
{
    char text[UTC_TEXT_BYTES];

    buf_printf(out, "%s%s", before, utc_text_ns(realtime_ns, text));
}

static void add_range(struct buf *out, char side, const struct time_range *range)
{
    buf_printf(out, "&%c=", side);
    add_time(out, "", range->from_ns);
    add_time(out, "..", range->to_ns);
}

static const char *event_of(enum change_kind kind)
{
    size_t i = 0;

    while (i + 1 < ARRAY_SIZE(SOURCES) && SOURCES[i].kind != kind)
        i++;
    return SOURCES[i].event;
}

/* Writes the address of the diff of both times, for the same target and event. Pauses are in no
 * flame graph, so their address is that of the timeline from a to b. */
static void write_link(const struct comparing *c, enum change_kind kind, struct buf *out)
{
    if (change_is_pause(kind))
        buf_add_str(out, "/api/v1/timeline?by=category");
    else
        buf_printf(out, "/api/v1/diff?names=merged&event=%s", event_of(kind));
    if (c->t->service) {
        buf_add_str(out, "&service=");
        url_add_escaped(out, span_of(c->t->service));
    }
    for (size_t i = 0; i < c->t->pid_count; i++)
        buf_printf(out, "%s%d", i ? "," : "&pid=", (int)c->t->pids[i]);
    if (kind == CHANGE_OPERATION)
        buf_add_str(out, "&by=operation");
    if (change_is_pause(kind)) {
        add_time(out, "&from=", MIN(c->sides[0].from_ns, c->sides[1].from_ns));
        add_time(out, "&to=", MAX(c->sides[0].to_ns, c->sides[1].to_ns));
        return;
    }
    add_range(out, 'a', &c->sides[0]);
    add_range(out, 'b', &c->sides[1]);
}

/* Returns NULL if a text of @ch is not valid in JSON. */
static json_t *change_json(const struct comparing *c, const struct change *ch)
{
    _cleanup_buf_ struct buf link = BUF_UPTO(LINK_BYTES);
    char sentence[CHANGES_SENTENCE_BYTES];

    write_link(c, ch->of->kind, &link);
    changes_sentence(&c->set, ch, sentence);
    if (link.error)
        return NULL;
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s, s:s%}", "kind",
                     change_kind_name(ch->of->kind), "name", ch->of->name, "before", ch->before,
                     "after", ch->after, "difference", ch->difference, "low", ch->low, "high",
                     ch->high, "q", ch->q, "unit",
                     ch->of->kind == CHANGE_PAUSE_COUNT ? "pauses/min" : "percent", "sentence",
                     sentence, "diff", buf_span(&link).p, link.n);
}

static json_t *range_json(const struct time_range *range)
{
    return json_pack("{s:o, s:o}", "from", json_time(range->from_ns), "to",
                     json_time(range->to_ns));
}

/* Packs the answer, which takes @changes and @sentences. @minutes: number of minutes with samples,
 * by side. 0 or -ENOMEM. */
static int pack(const struct comparing *c, json_t *changes, bool enough, json_t *sentences,
                const double minutes[2], json_t **ret)
{
    static const char *const NAMES[] = { [CHANGES_ASKED] = "asked",
                                         [CHANGES_SINCE_DEPLOY] = "since-deploy",
                                         [CHANGES_AFTER_DEPLOY] = "after-deploy",
                                         [CHANGES_YESTERDAY] = "yesterday",
                                         [CHANGES_BEFORE] = "before" };

    *ret = json_pack("{s:o, s:b, s:o, s:{s:f, s:f}, s:{s:I, s:I}, s:{s:i, s:i}, s:s, "
                     "s:{s:o, s:o}}",
                     "changes", changes, "enough", enough, "sentences", sentences, "minutes", "a",
                     minutes[0], "b", minutes[1], "samples", "a", (json_int_t)c->set.samples[0],
                     "b", (json_int_t)c->set.samples[1], "needed", "samples", CHANGES_FEW_SAMPLES,
                     "seconds", CHANGES_LEAST_S, "times", NAMES[c->times], "ranges", "a",
                     range_json(&c->sides[0]), "b", range_json(&c->sides[1]));
    return *ret ? 0 : -ENOMEM;
}

static int answer(struct comparing *c, json_t **ret, struct error *err)
{
    _cleanup_free_ struct change *changes = NULL;
    json_t *list, *sentences;
    size_t n = 0;
    int r = changes_find(&c->set, &changes, &n);

    if (r < 0)
        return r;
    n = changes_enough(c) ? n : 0;
    n = changes_fold((const struct view *const *)c->functions, changes, n);
    sentences = changes_sentences(c, changes, n); /* before the sort, in order of rank */
    changes_sort(changes, n);
    list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(list, change_json(c, &changes[i])) == 0)
            continue;
        json_decref(list);
        json_decref(sentences);
        return error_set(err, -EIO, "a change of kind %s could not be written as JSON",
                         change_kind_name(changes[i].of->kind));
    }
    return pack(c, list, changes_enough(c), sentences,
                (double[]){ changes_minutes(&c->set.steps, c->set.steps.a),
                            changes_minutes(&c->set.steps, c->set.steps.b) },
                ret);
}

static int call_check(struct api *api, void *arg)
{
    const struct checking *a = arg;
    _cleanup_(target_freep) struct target *target = NULL;
    int r = target_new(a->t, &target, a->err);

    return r != 0 ? r
                  : target_check(target, api->engine.discover, api->engine.opts->proc_fd, a->err);
}

/* Checks that the target of a comparison without samples exists. 0, an outcome or -errno. */
static int check_target(const struct comparing *c, struct error *err)
{
    struct checking a = { c->t, err };

    if (!(c->sources & PAST_RECORDER) || !(c->t->pid_count || c->t->service) ||
        past_known_time(c->api, c->t).to_ns)
        return 0;
    return api_ask(c->api, call_check, &a, err);
}

/* Answers that the ranges are too short to compare. */
static int answer_short(const struct comparing *c, json_t **ret, struct error *err)
{
    int r = check_target(c, err);
    json_t *sentences;
    double minutes[2];

    if (r != 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(minutes); i++)
        minutes[i] = (double)(c->sides[i].to_ns - c->sides[i].from_ns) / (double)NSEC_PER_SEC /
                     CHANGES_MINUTE_S;
    sentences = json_array();
    json_array_append_new(
        sentences, json_sprintf("The time before or after is too short to compare: each needs %d "
                                "seconds at least",
                                CHANGES_LEAST_S));
    if (c->why[0])
        json_array_append_new(sentences, json_string(c->why));
    return pack(c, json_array(), false, sentences, minutes, ret);
}

static void drop_samples(struct comparing *c)
{
    for (size_t side = 0; side < ARRAY_SIZE(c->functions); side++)
        c->functions[side] = view_free(c->functions[side]);
    change_set_deinit(&c->set);
}

/* Adds the samples of both sides to an empty set of @steps. */
static int take_samples(struct comparing *c, const struct change_steps *steps, struct error *err)
{
    drop_samples(c);
    c->waits[0] = c->waits[1] = c->pauses[0] = c->pauses[1] = false;
    c->sides[0] = (struct time_range){ steps->a_ns, steps->a_ns + steps->a * steps->step_ns };
    c->sides[1] = (struct time_range){ steps->b_ns, steps->b_ns + steps->b * steps->step_ns };
    return change_set_init(&c->set, steps) ?: add_sources(c, err);
}

struct taking {
    struct comparing *c;
    struct error *err;
};

static int take_again(void *cookie, const struct change_steps *steps)
{
    const struct taking *t = cookie;

    return take_samples(t->c, steps, t->err);
}

/* Compares both sides of @c. */
static int compare(struct comparing *c, json_t **ret, struct error *err)
{
    struct taking taking = { c, err };
    struct change_steps steps;
    int r = change_steps_of(c->sides[0].from_ns, c->sides[0].to_ns, c->sides[1].from_ns,
                            c->sides[1].to_ns, &steps);

    if (r == -ENODATA)
        return answer_short(c, ret, err);
    if (r < 0) {
        error_remedy(err, "give ranges such as a=-20m..-10m&b=-10m..now");
        return error_parameter(err, "a", -EINVAL,
                               "one of the ranges is too long: it may have %d parts, each of a "
                               "tenth of the shorter range or a minute",
                               RANK_MINUTES_MAX);
    }
    c->asked[0] = changes_minutes(&steps, steps.a);
    c->asked[1] = changes_minutes(&steps, steps.b);
    r = take_samples(c, &steps, err);
    /* The history has only whole minutes, so of its shorter steps only one per minute would have
     * samples. */
    if (r == 0 && c->sources & PAST_RECORDER)
        r = change_steps_fit(&c->set, take_again, &taking);
    if (r == 0 && c->set.samples[0] + c->set.samples[1] == 0)
        r = check_target(c, err);
    if (r == 0)
        r = answer(c, ret, err);
    drop_samples(c);
    return r;
}

int changes_kept(struct api *api, const struct target_selector *t, const struct time_range *a,
                 const struct time_range *b, json_t **ret, struct error *err)
{
    struct comparing c = {
        .api = api, .t = t, .sides = { *a, *b }, .sources = PAST_HISTORY | PAST_MINUTES
    };

    return compare(&c, ret, err);
}

int document_changes(struct api *api, const struct document_query *q, json_t **ret,
                     struct error *err)
{
    _cleanup_(resolved_deinit) struct resolved resolved;
    struct comparing c = { .api = api,
                           .t = &resolved.selector,
                           .sources = PAST_RECORDER | PAST_HISTORY | PAST_MINUTES | PAST_STORE };
    int r = selector_resolve(api, q->target, &resolved, err);

    if (r == 0 && q->a && q->b)
        memcpy(c.sides, (struct time_range[]){ *q->a, *q->b }, sizeof(c.sides));
    else if (r == 0)
        r = changes_sides(api, c.t, c.sides, &c.times, c.why, err);
    return r == 0 ? compare(&c, ret, err) : r;
}
