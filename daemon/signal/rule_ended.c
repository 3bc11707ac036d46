/* SPDX-License-Identifier: Apache-2.0 */
/* A JVM that ended: signal/ended.c finds out how. */
#include "signal/rule.h"

const struct signal_rule rule_ended = {
    .name = "ended",
    .unit = "status",
    .evidence = "/profile?pid={pid}&from={from}&to={to}",
    .remedy = "the profile has its last minute; its own log, or hs_err_pid*.log in its working "
              "folder after a crash, says more",
};
