/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration as a YAML file, and the same bytes as words of a command line. */
#include "base/cleanup.h"
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct config *c)
{
    if (c->listen.count > CONFIG_LISTEN_MAX || !c->store || !c->user || !c->config_file ||
        c->captures_max < 1 || c->captures_max > 1024 || c->answer_max_bytes < 1 << 20)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size }, line;
    _cleanup_free_ char *copy = NULL;
    struct error err = ERROR_NULL;
    char *argv[9] = { NULL };
    struct config c;
    uint64_t given = 0;
    int argc = 1;

    if (config_init(&c) < 0)
        abort();
    if (config_parse_yaml(text, "fuzz.yaml", 0, &c, &err) < 0 && !err.msg[0])
        abort();
    check(&c);
    config_deinit(&c);

    copy = span_dup(text);
    if (!copy || config_init(&c) < 0)
        abort();
    argv[0] = copy;
    text = span_of(copy);
    while (argc < 8 && span_take_line(&text, &line)) {
        copy[line.p - copy + (ptrdiff_t)line.n] = '\0';
        argv[argc++] = copy + (line.p - copy);
    }
    err = ERROR_NULL;
    if (config_parse_argv(argc, argv, &c, &given, &err) < 0 && !err.msg[0])
        abort();
    check(&c);
    config_deinit(&c);
    return 0;
}
