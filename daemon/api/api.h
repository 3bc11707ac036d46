/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of api/: implements struct api_backend for serve/, by questions to the engine. */
#pragma once

#include "request/backend.h"

struct api;
struct engine;
struct push;

/* Creates *ret, which borrows @e. 0 or -ENOMEM. */
int api_new(struct engine *e, struct api **ret);
/* Sets the pusher, which has to outlive all requests; NULL: nothing is pushed. Thread: any. */
void api_set_push(struct api *api, struct push *push);
/* Ends the thread of @api, which asks the engine. Call it after the last request and before the
 * engine stops. Accepts NULL. */
void api_end(struct api *api);
/* Frees @api; accepts NULL. Returns NULL. */
struct api *api_free(struct api *api);
/* Returns the table of functions, a part of @api. */
const struct api_backend *api_backend(const struct api *api);
