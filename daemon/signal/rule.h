/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal: a sentence that says what is wrong with a JVM, by a rule over its numbers. Each has a
 * file of its own, rule_NAME.c, and a row of rules.def. Pure; thread: any.
 *
 * A rule says how strong its signal is: 1 where it fires. It fires once it was so strong for
 * `hold_s`, and ends once it was weaker than RULE_RELEASE for RULE_RELEASE_S. Severity is what it
 * costs: the share of time that threads lost, or how soon something ends.
 */
#pragma once

#include "profile/waits_now.h"
#include "signal/numbers.h"

#define RULE_RELEASE 0.7
#define RULE_RELEASE_S 30.0
#define RULE_WINDOW_S 30.0 /* that most rules look at */
#define RULE_SENTENCE_BYTES 320
#define RULE_SEVERITY_MAX 3

struct rule_view {
    const struct numbers *numbers;
    double age_s; /* of the JVM */
    /* The last look that found some. */
    const struct waits_lock *lock;
    const struct waits_pool *pool;
    const struct waits_carriers *carriers;
};

struct rule_finding {
    double strength;   /* 1 and more: it fires; NAN: not known */
    double value;      /* in the rule's unit */
    unsigned severity; /* 1 to RULE_SEVERITY_MAX */
    char sentence[RULE_SENTENCE_BYTES];
};

struct signal_rule {
    const char *name;
    const char *unit;     /* of the value */
    const char *evidence; /* path of this API; {pid}, {from} and {to} are replaced */
    const char *remedy;
    double hold_s;
    /* Looks at @v, and writes *ret, which is zero. */
    void (*look)(const struct rule_view *v, struct rule_finding *ret);
};

enum rule_id {
#define RULE(id, name) RULE_##id,
#include "signal/rules.def"
#undef RULE
    RULES
};

/* Returns a rule. Static. */
const struct signal_rule *rule_of(enum rule_id id);

/* ---- rule_text.c: what rules say ---- */

/* Writes the sentence of @f. */
void rule_say(struct rule_finding *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define RULE_BYTES_TEXT 24
/* Writes @bytes as "8.1 MiB" into @text. Returns @text. */
const char *rule_bytes(double bytes, char text[RULE_BYTES_TEXT]);
/* Writes @seconds as "14 min" or "3 h" into @text. Returns @text. */
const char *rule_duration(double seconds, char text[RULE_BYTES_TEXT]);

/* Returns the severity of losing @share of the time. */
unsigned rule_cost(double share);

/* ---- rule_growth.c: what rises until it is used up ---- */

struct rule_growth {
    struct trend trend;
    double window_s;
    double left_s;   /* until there is no more room; INFINITY: not known how much there is */
    double strength; /* 1: so steady and so fast that it fires */
};
/* Finds the longest of three windows in which @which rises, as numbers_trend() does. It rises if
 * nearly all pairs of points do, and it never was higher. @room: how much more there may be;
 * NAN: not known. Then @per_second is enough to fire. False: it does not rise. */
bool rule_growth_find(const struct numbers *n, enum number which, enum number only, double room,
                      double per_second, struct rule_growth *ret);
/* Returns the severity of what is used up in @left_s. */
unsigned rule_urgency(double left_s);
