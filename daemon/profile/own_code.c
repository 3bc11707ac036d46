/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/own_code.h"

#include "base/list.h"

static const char *const LIBRARIES[] = {
#define LIBRARY(package) package,
#include "profile/libraries.def"
#undef LIBRARY
};

/* Package of a launcher, which starts other programs. */
#define LAUNCHER "org.springframework.boot.loader"

/* Returns whether @name is in @package, or in a package below it. */
static bool is_of(struct span name, struct span package)
{
    return name.n > package.n && memcmp(name.p, package.p, package.n) == 0 &&
           name.p[package.n] == '.';
}

static bool is_library(struct span class_name)
{
    return ANY_OF(i, ARRAY_SIZE(LIBRARIES), is_of(class_name, span_of(LIBRARIES[i])));
}

/* Returns the first OWN_CODE_PARTS parts of the package of class @name. */
static struct span main_package(struct span name)
{
    struct span package = { name.p, span_rfind(name, '.') };
    size_t parts = 0;

    if (package.n == name.n)
        return SPAN_NULL;
    for (size_t i = 0; i < package.n; i++) {
        parts += package.p[i] == '.';
        if (parts == OWN_CODE_PARTS)
            return (struct span){ package.p, i };
    }
    return package;
}

void own_code_init(const struct profile *p, struct own_code *ret)
{
    ret->count = 0;
    for (size_t i = 0; i < p->process_count && ret->count < OWN_CODE_MAINS_MAX; i++) {
        struct span name = intern_get(p->strings, p->processes[i].name), package;
        size_t slash = span_rfind(name, '/');

        if (slash < name.n)
            name = span_from(name, slash + 1);
        if (!is_library(name) || is_of(name, SPAN(LAUNCHER)))
            continue;
        package = main_package(name);
        if (package.n && !own_code_has(ret, name))
            ret->mains[ret->count++] = package;
    }
}

bool own_code_has(const struct own_code *own, struct span class_name)
{
    if (!is_library(class_name))
        return true;
    return ANY_OF(i, own->count, is_of(class_name, own->mains[i]));
}
