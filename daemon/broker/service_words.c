/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service_words.h"

static const char *const WORDS[] = {
    "OTEL_SERVICE_NAME=", "OTEL_RESOURCE_ATTRIBUTES=", "DD_SERVICE=",       "DD_ENV=",
    "DD_VERSION=",        "DD_GIT_REPOSITORY_URL=",    "DD_GIT_COMMIT_SHA="
};
static const char *const OPTIONS[] = { "-Dotel.service.name=", "-Dotel.resource.attributes=",
                                       "-Ddd.service=", "-Ddd.env=", "-Ddd.version=" };

/* Appends @word if it begins with one of @names. */
static void add_if(struct span word, const char *const *names, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        if (span_starts_with(word, names[i]) && word.n <= SERVICE_WORD_MAX) {
            buf_add(out, word.p, word.n);
            buf_add_char(out, '\0');
        }
    }
}

static void add_options(struct span text, struct buf *out)
{
    struct span word;

    while (span_take_word(&text, &word))
        add_if(word, OPTIONS, ARRAY_SIZE(OPTIONS), out);
}

void service_words_find(struct span environ, struct buf *out)
{
    struct span word;

    while (span_take_until(&environ, '\0', &word)) {
        if (span_take_str(&word, "JAVA_TOOL_OPTIONS=") || span_take_str(&word, "JDK_JAVA_OPTIONS="))
            add_options(word, out);
        else
            add_if(word, WORDS, ARRAY_SIZE(WORDS), out);
    }
}
