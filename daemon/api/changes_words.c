/* SPDX-License-Identifier: Apache-2.0 */
/* What changed, in sentences. */
#include "api/changes_impl.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "profile/lock_words.h"

#include <math.h>

#define SENTENCES_MAX 5
#define NAME_SHOWN 200 /* bytes */

/* The sides, as sentences name them. */
static const char *const WHEN[] = { "before", "after" };

static const char *whole_of(enum change_kind kind)
{
    return change_is_of_waits(kind)    ? "time of busy threads"
           : kind == CHANGE_ALLOCATION ? "allocated bytes"
                                       : "CPU time";
}

double changes_minutes(const struct change_steps *s, size_t steps)
{
    return (double)s->step_ns / (double)NSEC_PER_SEC / CHANGES_MINUTE_S * (double)steps;
}

/* Returns the mean length of a pause on a side, in ms. */
static double pause_ms(const struct change_set *s, size_t side)
{
    double percent = change_set_mean(s, CHANGE_PAUSE_TIME, side),
           count = change_set_mean(s, CHANGE_PAUSE_COUNT, side); /* per minute */

    return count > 0 ? percent / 100 * CHANGES_MINUTE_S * 1e3 / count : 0;
}

static void write_pauses(const struct change_set *s, const struct change *ch, struct buf *out)
{
    bool is_time = ch->of->kind == CHANGE_PAUSE_TIME;

    buf_printf(out,
               "Pauses for garbage collection %s %.1f %s %s than before (%.1f to %.1f): %.1f %s, "
               "now %.1f %s; %.1f a minute of %.1f ms, now %.1f of %.1f ms",
               is_time ? "take" : "are", fabs(ch->difference),
               is_time ? "% of the time" : "a minute",
               ch->difference > 0 ? "more"
               : is_time          ? "less"
                                  : "fewer",
               ch->low, ch->high, ch->before, is_time ? "%" : "a minute", ch->after,
               is_time ? "%" : "a minute", change_set_mean(s, CHANGE_PAUSE_COUNT, 0),
               pause_ms(s, 0), change_set_mean(s, CHANGE_PAUSE_COUNT, 1), pause_ms(s, 1));
}

/* Writes the subject of the sentence: what takes more or less. */
static void write_subject(const struct change *ch, struct buf *out)
{
    if (ch->of->kind == CHANGE_LOCK) {
        buf_add_str(out, "Waiting for ");
        lock_words(span_of(ch->of->name), out);
        return;
    }
    buf_add_str(out, ch->of->kind == CHANGE_WAIT         ? "Waiting (["
                     : ch->of->kind == CHANGE_ALLOCATION ? "Allocation of "
                                                         : "");
    text_clean(span_of(ch->of->name), TEXT_UTF8, NAME_SHOWN, out);
    buf_add_str(out, ch->of->kind == CHANGE_WAIT ? "])" : "");
}

void changes_sentence(const struct change_set *s, const struct change *ch,
                      char text[CHANGES_SENTENCE_BYTES])
{
    _cleanup_buf_ struct buf out = BUF_UPTO(CHANGES_SENTENCE_BYTES - 1);

    if (change_is_pause(ch->of->kind)) {
        write_pauses(s, ch, &out);
    } else {
        write_subject(ch, &out);
        buf_printf(&out,
                   "%s takes %.1f %% %s of the %s of before (%.1f to %.1f): %.1f %%, now %.1f %%",
                   out.n ? "" : "?", fabs(ch->difference), ch->difference > 0 ? "more" : "less",
                   whole_of(ch->of->kind), ch->low, ch->high, ch->before, ch->after);
    }
    if (s->cover == CHANGE_COVER_FEW)
        buf_printf(&out, "; only %.1f minutes before are known",
                   changes_minutes(&s->steps, s->steps.a));
    snprintf(text, CHANGES_SENTENCE_BYTES, "%.*s", (int)out.n, out.n ? out.p : "");
}

/* Adds a sentence if samples do not cover all of the requested times. */
static void add_cover(const struct comparing *c, json_t *list)
{
    const struct change_steps *has = &c->set.steps;
    double a = changes_minutes(has, has->a), b = changes_minutes(has, has->b);
    char text[CHANGES_SENTENCE_BYTES], oldest[PAST_TIME_BYTES];

    if (a >= c->asked[0] && b >= c->asked[1])
        return;
    past_time_text(c->oldest_ns, oldest);
    snprintf(text, sizeof(text),
             "Samples cover %.1f of the %.1f minutes before, and %.1f of the %.1f after%s%s%s", a,
             c->asked[0], b, c->asked[1],
             c->set.cover == CHANGE_COVER_NONE  ? ": too few to tell"
             : c->set.cover == CHANGE_COVER_FEW ? ": how much the service varies by itself is "
                                                  "taken from the time after"
                                                : "",
             oldest[0] ? "; single minutes are kept since " : "", oldest);
    json_array_append_new(list, json_string(text));
}

/* Adds a sentence if single minutes of a side are no longer kept. */
static void add_coarse(const struct comparing *c, json_t *list)
{
    bool before = changes_coarse(c, 0), after = changes_coarse(c, 1),
         hours = MAX(c->longest_ns[0], c->longest_ns[1]) > 10 * HISTORY_MINUTE_NS;

    if (before || after)
        json_array_append_new(list,
                              json_sprintf("In the time %s, samples are kept in parts of up to %s, "
                                           "each counted as one minute: pauses were not compared",
                                           before && after ? "before and after" : WHEN[after],
                                           hours ? "an hour" : "10 minutes"));
}

/* Adds a sentence on each of waits, pauses and allocations that only one side has. Also adds one on
 * allocations that are not known. */
static void add_one_sided(const struct comparing *c, json_t *list)
{
    double skipped = changes_minutes(&c->set.steps, change_set_skipped(&c->set));

    if (c->waits[0] != c->waits[1])
        json_array_append_new(
            list, json_sprintf("No waits are recorded %s: waits and locks were not compared",
                               WHEN[c->waits[0]]));
    if (c->pauses[0] != c->pauses[1] && !changes_coarse(c, 0) && !changes_coarse(c, 1))
        json_array_append_new(list, json_sprintf("No pauses are known %s: pauses were not compared",
                                                 WHEN[c->pauses[0]]));
    if (c->allocations[0] != c->allocations[1])
        json_array_append_new(
            list, json_sprintf("Allocations are not recorded in all of the time %s: they "
                               "were not compared",
                               WHEN[c->allocations[0]]));
    if (skipped > 0)
        json_array_append_new(
            list,
            json_sprintf("In %.1f minutes the allocations of a JVM were not recorded, because its "
                         "probes were hit too often: %s",
                         skipped,
                         c->allocations[0] && c->allocations[1] ? "these minutes were left out"
                                                                : "allocations were not compared"));
}

/* Adds a sentence if some series were not compared because there are too many. */
static void add_left_out(const struct comparing *c, json_t *list)
{
    const struct change_set *s = &c->set;
    size_t functions = s->left_out[CHANGE_FUNCTION] + s->untested;
    char text[CHANGES_SENTENCE_BYTES];

    if (!functions && !s->left_out[CHANGE_LOCK] && !s->left_out[CHANGE_OPERATION] &&
        !s->left_out[CHANGE_ALLOCATION])
        return;
    snprintf(text, sizeof(text),
             "Up to %zu functions, %zu locks, %zu operations and %zu places of allocation were not "
             "compared: there are too many of them",
             functions, s->left_out[CHANGE_LOCK], s->left_out[CHANGE_OPERATION],
             s->left_out[CHANGE_ALLOCATION]);
    json_array_append_new(list, json_string(text));
}

bool changes_enough(const struct comparing *c)
{
    return MIN(c->set.samples[0], c->set.samples[1]) >= CHANGES_FEW_SAMPLES &&
           change_set_expected(&c->set) >= CHANGES_FEW_SAMPLES && c->set.cover != CHANGE_COVER_NONE;
}

json_t *changes_sentences(const struct comparing *c, const struct change *changes, size_t n)
{
    uint64_t few = MIN(c->set.samples[0], c->set.samples[1]);
    json_t *list = json_array();
    char text[CHANGES_SENTENCE_BYTES];

    if (few < CHANGES_FEW_SAMPLES) {
        snprintf(text, sizeof(text),
                 "%llu samples: too few to tell, each of the two times needs %d",
                 (unsigned long long)few, CHANGES_FEW_SAMPLES);
        json_array_append_new(list, json_string(text));
    } else if (change_set_expected(&c->set) < CHANGES_FEW_SAMPLES) {
        snprintf(text, sizeof(text),
                 "%.0f samples would be in the later time, if it were as busy as the earlier one: "
                 "too few to tell, it needs %d",
                 change_set_expected(&c->set), CHANGES_FEW_SAMPLES);
        json_array_append_new(list, json_string(text));
    } else if (n == 0 && changes_enough(c)) {
        snprintf(text, sizeof(text), "No change of %.1f %% or more is significant.",
                 CHANGES_EFFECT);
        json_array_append_new(list, json_string(text));
    }
    for (size_t i = 0; i < MIN(n, (size_t)SENTENCES_MAX); i++) {
        changes_sentence(&c->set, &changes[i], text);
        json_array_append_new(list, json_string(text));
    }
    if (c->why[0])
        json_array_append_new(list, json_string(c->why));
    add_cover(c, list);
    add_coarse(c, list);
    add_one_sided(c, list);
    add_left_out(c, list);
    return list;
}
