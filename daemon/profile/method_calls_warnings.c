/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about calls: their accuracy, and the calls left out. */
#include "profile/method_calls_impl.h"

static void warn(struct method_calls *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void warn(struct method_calls *c, const char *fmt, ...)
{
    va_list ap;

    if (c->warning_count == VIEW_CALLS_WARNINGS)
        return;
    va_start(ap, fmt);
    vsnprintf(c->warnings[c->warning_count++], VIEW_SENTENCE_BYTES, fmt, ap);
    va_end(ap);
}

void method_calls_warn(struct method_calls *c, double thinned)
{
    if (c->row_count)
        warn(c,
             "times of calls are exact to about %.3g ms, the interval: shorter calls are seen by "
             "chance, and two calls with less time between them count as one%s",
             (double)c->period_ns * thinned / 1e6,
             c->period_ns > NSEC_PER_MSEC ? ". interval=1ms is more exact" : "");
    else
        warn(c, "no sample has a frame of a method that calls= matches%s",
             c->virtual_left_out ? ", but for those of virtual threads" : "");
    if (c->virtual_left_out)
        warn(c,
             "%llu samples of calls in virtual threads are left out: samples do not say which "
             "virtual thread they are of",
             (unsigned long long)c->virtual_left_out);
    if (thinned > 1.01)
        warn(c,
             "there was no room for all samples: each stands for %.1f, so that many short calls "
             "are not seen. Take fewer processes or seconds",
             thinned);
    if (c->methods_left_out || c->calls_left_out || c->nested_left_out)
        warn(c,
             "calls= matches more than is kept: %llu methods, %llu places on stacks and the "
             "lengths of %llu calls are left out",
             (unsigned long long)c->methods_left_out, (unsigned long long)c->nested_left_out,
             (unsigned long long)c->calls_left_out);
}
