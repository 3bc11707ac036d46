/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what each release changed: once its first minutes are in the history, compares them with
 * the hour before the release. The result is a mark beside the release's mark, and a metric.
 */
#pragma once

#include "request/backend.h"

#define DEPLOYS_MAX 256 /* services for which the last release is compared; others are counted */
#define DEPLOYS_WARM_NS (120 * NSEC_PER_SEC) /* length of a JVM's start, which is left out */
#define DEPLOYS_LATELY_NS (600 * NSEC_PER_SEC)
#define DEPLOYS_BEFORE_NS (3600 * NSEC_PER_SEC)
#define DEPLOYS_WRITTEN_NS (90 * NSEC_PER_SEC) /* a minute is in the history after this long */
#define DEPLOYS_STOPPED_NS                                                                         \
    (300 * NSEC_PER_SEC) /* a JVM may end this long before its next release */
/* or this long after the first JVM of the next release started */
#define DEPLOYS_ROLLOUT_NS (3600 * NSEC_PER_SEC)

struct api;
struct deploys;
struct process;
struct rule_release;

/* Makes *ret. Requires that @api has a history. 0 or -ENOMEM. */
int deploys_new(struct api *api, struct deploys **ret);
/* Makes deploys_look() return after its present comparison. Accepts NULL. Thread: any. */
void deploys_stop(struct deploys *d);
/* Frees @d; accepts NULL. Returns NULL. */
struct deploys *deploys_free(struct deploys *d);
/* Compares the releases that are due at @now_ns (CLOCK_REALTIME). 0 or -errno with @err. Blocks for
 * the disk. */
int deploys_look(struct deploys *d, uint64_t now_ns, struct error *err);
/* Writes into *ret what the release that @p runs has changed; leaves *ret unchanged if that is not
 * known. @ended_ns: CLOCK_REALTIME of the end of @p, to write whether a release replaced @p; 0: @p
 * runs. @d may be NULL. Thread: any. */
void deploys_release(struct deploys *d, const struct process *p, uint64_t ended_ns,
                     struct rule_release *ret);
#define DEPLOYS_NOTE_BYTES 256
/* Writes what the release that @p runs has changed: "since 2.4.1: +6.1 +-0.4 % CPU,
 * shop.Rules.match". Until that is known: "since 2.4.1, 6 min ago". Writes "" if there is no
 * release, no change or too few samples. @d may be NULL. Thread: any. */
void deploys_note(struct deploys *d, const struct process *p, uint64_t now_ns,
                  char ret[DEPLOYS_NOTE_BYTES]);
/* Appends flamed_regression of the services that @v sees. @d may be NULL. Thread: any. */
void deploys_metrics(struct deploys *d, const struct viewer *v, struct buf *out);
