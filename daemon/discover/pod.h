/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of containers and pods, from files that the runtimes leave on the node's disk. The files
 * are root's, but their labels come from images and manifests, which any user may write. Pure;
 * thread: any.
 */
#pragma once

#include "base/span.h"
#include "discover/discover.h"

#define POD_CONFIG_MAX_BYTES ((size_t)1 << 20)
#define POD_CONFIG_MAX_DEPTH 64
#define POD_LOGS_MAX_BYTES ((size_t)4 << 20)

/*
 * Adds what a runtime's description of the container says: containerd's and CRI-O's config.json
 * (annotations), docker's config.v2.json (name, labels and image). Fills name, image_version,
 * pod_uid, pod_name, pod_namespace and, if it is still unknown, runtime. Fields that @json lacks
 * stay. Return: 0, -EBADMSG (no JSON object), -EFBIG (too large or too deep), -ENOMEM.
 */
int pod_parse_config(struct span json, struct container *c);

/* Adds the names in a file name of /var/log/containers: POD_NAMESPACE_CONTAINER-ID.log. Returns
 * true if the file is of the container c->id. */
bool pod_parse_log_name(struct span name, struct container *c);
/* Adds the names in several file names, separated by NUL, as pod_parse_log_name() does. */
bool pod_parse_log_names(struct span names, struct container *c);
