/* SPDX-License-Identifier: Apache-2.0 */
/* The two programs that the broker carries in itself, so that no file can be put in their place. */
#include "privileged/embedded.h"

#include "base/embed.h"

EMBED(embedded_helper, FLAMED_ATTACH_PATH);
EMBED(embedded_agent, FLAMED_AGENT_PATH);
