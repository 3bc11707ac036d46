/* SPDX-License-Identifier: Apache-2.0 */
/* Wires push/ to the engine, the rules of access and the API. */
#pragma once

#include "push/push.h"
#include "serving.h"

struct api;
struct engine;
struct serve;

/* Starts pushing if @config has targets; push_end() and push_free() then take *ret. @host and @node
 * must outlive it. Returns 0 or -errno with @err. */
int pushing_start(const struct push_config *config, const struct serving_opts *w,
                  struct engine *engine, struct api *api, struct serve *serve, const char *host,
                  const char *node, struct push **ret, struct error *err);
