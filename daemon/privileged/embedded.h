/* SPDX-License-Identifier: Apache-2.0 */
/* flamed-attach and libflamed-agent.so as bytes. Static. */
#pragma once

#include "base/span.h"

extern const struct span embedded_helper, embedded_agent;
