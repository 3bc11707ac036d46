/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration's `schedules` (captures that flamed takes by itself) and `triggers` (captures
 * that an alert starts by name). Values only, without clocks or processes. Immutable once read;
 * thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "request/backend.h"
#include "request/matcher.h"
#include "schedule/condition.h"

#define RULES_SCHEDULES_MAX 64
#define RULES_TRIGGERS_MAX 64
#define RULE_NAME_MAX 63
#define RULE_EVERY_MIN_NS NSEC_PER_SEC
#define RULE_EVERY_MAX_NS (UINT64_C(366) * 86400 * NSEC_PER_SEC)
#define RULE_FOR_MIN_NS (100 * NSEC_PER_MSEC)
#define RULE_FOR_MAX_NS (3600 * NSEC_PER_SEC)
#define RULE_KEEP_MIN_NS (60 * NSEC_PER_SEC)
#define RULE_KEEP_MAX_NS (UINT64_C(36500) * 86400 * NSEC_PER_SEC)
#define RULE_COOLDOWN_MAX_NS (UINT64_C(7) * 86400 * NSEC_PER_SEC)
#define RULE_COOLDOWN_DEFAULT_NS (60 * NSEC_PER_SEC)
#define RULE_HZ_MAX 10000u

struct rule {
    char name[RULE_NAME_MAX + 1];                      /* [a-z0-9-]; unique among schedules and
                                                        * triggers */
    struct matcher_list match;                         /* empty: all processes of the node */
    char event[EVENTS_AT_ONCE_MAX * EVENT_NAME_BYTES]; /* names, separated by commas */
    uint32_t millihz;                                  /* rate of events that count time */
    uint64_t every_ns;                                 /* period of a schedule; 0 for triggers */
    uint64_t for_ns;
    uint64_t keep_ns;     /* 0: the store's own limit */
    uint64_t cooldown_ns; /* of a trigger */
    struct condition on;  /* of a trigger: the condition on which it fires by itself */
    bool webhook;         /* of a trigger: it has a webhook, which push/ reads */
    bool requests;        /* captures of the rule read the requests of samples */
    enum symbols_source symbols;
};

struct rules {
    struct rule *schedules, *triggers; /* owned */
    size_t schedule_count, trigger_count;
};

struct rules *rules_free(struct rules *r);
CLEANUP_FUNCTION(rules_freep, rules, rules_free)

/* Reads the keys `schedules` and `triggers` of the YAML document @text (UTF-8) and ignores all
 * other keys. @file appears only in error messages. Returns 0 and *ret (owned; empty without these
 * keys), -EINVAL with a message, or -ENOMEM. The message names line, rule, key and the valid form.
 */
int rules_parse(struct span text, const char *file, struct rules **ret, struct error *err);

/* Returns the capture request of @rule. Its strings and matchers point into @rule. */
struct capture_request rule_request(const struct rule *rule);
/* Returns the trigger with the name most similar to @name; NULL if there are no triggers. */
const struct rule *rules_nearest_trigger(const struct rules *r, const char *name);
