/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target in at most five sentences: what its time went to, what is unusual, what changed, how
 * sure. They are composed by rules of what the backend knows, and each has a path that shows it.
 * Thread: a worker's.
 */
#pragma once

#include "profile/words.h"
#include "request/backend.h"

struct words_request {
    const struct target_selector *target;
    struct view *view;       /* what was sampled; borrowed; NULL: nothing was */
    struct time_range range; /* when that was */
    const char *link;        /* path of that profile; NULL: /profile of the target and range */
};

/* Composes *ret, which needs words_deinit(). With fewer samples than WORDS_FEW it says so, and goes
 * on about a longer time that has as many, if the target has one. */
void words_compose(const struct api_backend *be, const struct words_request *q, struct words *ret);
/* Returns @w as JSON; NULL: no memory. */
json_t *words_json(const struct words *w);
