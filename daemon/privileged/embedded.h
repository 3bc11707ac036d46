/* SPDX-License-Identifier: Apache-2.0 */
/* flamed-attach and libflamed-agent.so as bytes. Static. */
#pragma once

#include "base/span.h"

/* Return the programs that are carried inside: flamed-attach, and the agent. */
struct span blob_of_helper(void);
struct span blob_of_agent(void);
