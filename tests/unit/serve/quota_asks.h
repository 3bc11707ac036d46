/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for tests of quotas, and checks that must pass whatever one caller holds. */
#pragma once

#include "serve_fixture.h"

#define ALICE 64111u
#define BOB 64112u
/* For a sanitized build beside other tests; jvm_lockout requires 200 ms. */
#define QUOTA_SOON_NS NSEC_PER_SEC

/* Skips the test without root. */
void quota_need_root(void);
/* Sends a request on @fd, and closes @fd. */
void quota_ask(int fd, const char *method, const char *target, struct reply *ret);
/* Sends a GET on @fd, and closes @fd. Returns the status. */
unsigned quota_status(int fd, const char *target);
/* Checks that @target on @fd is answered at once with @status. */
void quota_assert_soon(int fd, const char *target, unsigned status);
/* Checks that health works for all and everything for root, whatever others hold. */
void quota_assert_root_and_health(void);
/* Returns the value of Retry-After; 0: there is none. */
uint64_t quota_retry_s(const struct reply *r);
/* Checks that @r is a 429 with this reason and a time to retry. */
void quota_assert_refused(const struct reply *r, const char *contains);
