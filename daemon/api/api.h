/* SPDX-License-Identifier: Apache-2.0 */
/* The door of api/: answers the questions of serve/ to the engine, as struct api_backend. */
#pragma once

#include "request/backend.h"

struct api;
struct engine;
struct push;

/* Makes *ret. Borrows @e, which outlives it. 0 or -ENOMEM. */
int api_new(struct engine *e, struct api **ret);
/* Sets the pusher, which has to outlive all requests; NULL: nothing is pushed. Thread: any. */
void api_set_push(struct api *api, struct push *push);
/* Ends its thread, which asks the engine. Call it after the last request and before the engine
 * stops. Accepts NULL. */
void api_end(struct api *api);
/* Frees @api; accepts NULL. Returns NULL. */
struct api *api_free(struct api *api);
/* Returns the table of its functions. Points into @api. */
const struct api_backend *api_backend(const struct api *api);
