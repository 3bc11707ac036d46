/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of entries, for code that copies entries from one table of names to another. */
#pragma once

#include "profile/profile.h"

/* Replaces the id *string of one table by that of another. 0 or -errno. */
typedef int (*string_fn)(void *cookie, uint32_t *string);

/* Calls @fn for each of the strings until it fails. Returns the last result of @fn. */
#define EACH_STRING_(fn, cookie, ...)                                                              \
    ({                                                                                             \
        uint32_t *const strings_[] = { __VA_ARGS__ };                                              \
        int r_ = 0;                                                                                \
                                                                                                   \
        for (size_t i_ = 0; i_ < ARRAY_SIZE(strings_) && r_ == 0; i_++)                            \
            r_ = (fn)((cookie), strings_[i_]);                                                     \
        r_;                                                                                        \
    })

/* Calls @fn for each string of an entry until it fails. Returns the last result of @fn. */
static inline int module_each_string(struct module *m, string_fn fn, void *cookie)
{
    return EACH_STRING_(fn, cookie, &m->path, &m->build_id);
}

/* Calls @fn as module_each_string() does. */
static inline int function_each_string(struct function *f, string_fn fn, void *cookie)
{
    return EACH_STRING_(fn, cookie, &f->class_name, &f->name, &f->signature, &f->file);
}

/* Calls @fn as module_each_string() does. */
static inline int process_each_string(struct profile_process *p, string_fn fn, void *cookie)
{
    return EACH_STRING_(fn, cookie, &p->name, &p->container, &p->pod, &p->pod_namespace,
                        &p->service, &p->version, &p->attributes);
}

/* Calls @fn as module_each_string() does. */
static inline int moment_each_string(struct profile_moment *m, string_fn fn, void *cookie)
{
    return EACH_STRING_(fn, cookie, &m->name, &m->by, &m->compiler);
}
