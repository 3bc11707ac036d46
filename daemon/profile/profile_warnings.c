/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of a finished profile that has one owner so far. */
#include "profile/profile.h"

#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/text.h"

#define SEVERAL_NAMED 4 /* processes that the warning names */
#define SEVERAL_NAME_MAX 64

void profile_warn(struct profile *p, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    int n;

    if (p->warning_count == PROFILE_WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    text = n >= 0 ? text_clean_owned(text) : NULL;
    if (text)
        p->warnings[p->warning_count++] = text;
}

/* A process, across all images that it executes. */
struct one_process {
    uint64_t start_ticks;
    uint64_t host_pid;
};

void profile_warn_several(struct profile *p, const char *selector)
{
    _cleanup_free_ bool *sampled = calloc(p->process_count + 1, sizeof(*sampled));
    struct id_table seen;
    char names[SEVERAL_NAMED * 96] = "";
    size_t n = 0;
    uint32_t id;

    if (!sampled)
        return;
    id_table_init(&seen, sizeof(struct one_process), UINT32_MAX / 2);
    for (size_t i = 0; i < p->sample_count; i++)
        sampled[p->threads[p->samples[i].thread].process] = true;
    for (size_t i = 0; i < p->process_count; i++) {
        const struct profile_process *one = &p->processes[i];
        struct one_process key = { one->start_ticks, (uint64_t)one->host_pid };
        _cleanup_buf_ struct buf name = BUF_UPTO(SEVERAL_NAME_MAX + 1);

        if (!sampled[i] || id_table_add(&seen, &key, &id) != 1 || id >= SEVERAL_NAMED)
            continue;
        text_clean(intern_get(p->strings, one->name), TEXT_UTF8, SEVERAL_NAME_MAX, &name);
        n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%d (%.*s)", n ? ", " : "",
                              one->host_pid, (int)name.n, name.n ? name.p : "");
    }
    if (seen.count > SEVERAL_NAMED)
        snprintf(names + n, sizeof(names) - n, ", and %u more", seen.count - SEVERAL_NAMED);
    if (seen.count > 1)
        profile_warn(p, "%s chose %u " PROFILE_SEVERAL_TEXT "%s. pid= chooses one", selector,
                     seen.count, names);
    id_table_deinit(&seen);
}
