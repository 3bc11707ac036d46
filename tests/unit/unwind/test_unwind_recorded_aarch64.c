/* SPDX-License-Identifier: Apache-2.0 */
/* The same as test_unwind_recorded.c with stacks of JVMs on aarch64, on any host. */
#define UNWIND_AARCH64
#include "test_unwind_recorded.c"
