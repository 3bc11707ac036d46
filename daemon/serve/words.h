/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes a target in at most five sentences: where its time went, what is unusual, what changed,
 * and how sure that is. Rules compose them from data of the backend; each has the path of its
 * evidence. Thread: a worker's.
 */
#pragma once

#include "profile/words.h"
#include "request/backend.h"

struct words_request {
    const struct target_selector *target;
    struct view *view;       /* samples; borrowed; NULL: none */
    struct time_range range; /* time of the samples */
    const char *link;        /* path of their profile; NULL: /profile of the target and range */
};

/* Composes *ret, which needs words_deinit(). With fewer samples than WORDS_FEW it says so, and
 * describes a longer time with enough samples, if the target has one. */
void words_compose(const struct api_backend *be, const struct words_request *q, struct words *ret);
/* Returns @w as JSON; NULL: out of memory. */
json_t *words_json(const struct words *w);
