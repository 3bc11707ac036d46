/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the links of a signal, from the texts of its rule with the process and the time. */
#include "base/utc_text.h"
#include "signal/signal.h"

#include "base/buf.h"
#include "base/url.h"
#include "discover/service.h"

#define SPAN_NS (60 * NSEC_PER_SEC) /* time from {from} to {to} */

static void add_time(struct buf *b, uint64_t realtime_ns)
{
    char text[UTC_TEXT_BYTES];

    buf_add_str(b, utc_text(realtime_ns, text));
}

static void add_service(struct buf *b, const struct process *p)
{
    char name[SERVICE_NAME_BYTES];

    service_name_of_process(p, name);
    url_add_escaped(b, span_of(name));
}

static void fill(const struct signal *signal, const char *template, char *out, size_t size)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(size - 1);
    struct span rest = span_of(template);
    uint64_t to_ns = signal->now_ns - MIN(signal->now_ns, signal->ago_ns);

    while (rest.n) {
        if (span_take_str(&rest, "{pid}"))
            buf_printf(&b, "%d", (int)signal->process->id.host_pid);
        else if (span_take_str(&rest, "{service}"))
            add_service(&b, signal->process);
        else if (span_take_str(&rest, "{from}"))
            add_time(&b, to_ns - MIN(to_ns, SPAN_NS));
        else if (span_take_str(&rest, "{to}"))
            add_time(&b, to_ns + NSEC_PER_SEC - 1);
        else {
            buf_add_char(&b, rest.p[0]);
            rest = span_from(rest, 1);
        }
    }
    span_copy(buf_span(&b), out, size);
}

void signal_evidence(const struct signal *signal, char *out, size_t size)
{
    fill(signal, signal->rule->evidence, out, size);
}

void signal_remedy(const struct signal *signal, char *out, size_t size)
{
    fill(signal, signal->remedy, out, size);
}
