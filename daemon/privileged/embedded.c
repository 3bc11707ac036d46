/* SPDX-License-Identifier: Apache-2.0 */
/* Both programs are embedded in the broker, so that no file can replace them. */
#include "privileged/embedded.h"

#include "base/embed.h"

EMBED(embedded_helper, FLAMED_ATTACH_PATH);
EMBED(embedded_agent, FLAMED_AGENT_PATH);
