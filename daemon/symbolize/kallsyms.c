/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/kallsyms.h"

static uint16_t kallsyms_rank(char type, struct span name)
{
    unsigned rank = type == 'T' || type == 'W';
    size_t underscores = 0;

    while (underscores < 3 && underscores < name.n && name.p[underscores] == '_')
        underscores++;
    rank = rank << 2 | (unsigned)(3 - underscores);
    return (uint16_t)(rank << 8 | (255 - MIN(name.n, (size_t)255)));
}

/* Parses "ffffffff81000000 T _stext" or "ffffffffc0a01000 t nf_hook\t[nf_tables]". */
static int kallsyms_line(struct span line, struct kallsyms *k, struct symbol_builder *b)
{
    struct symbol_entry e = { .limit = UINT64_MAX, .class = SYMBOL_FUNCTION };
    struct span type, name, module;

    if (!span_take_hex(&line, &e.start) || !span_take_word(&line, &type) || type.n != 1 ||
        !span_take_word(&line, &name))
        return 0;
    k->lines++;
    if (!e.start)
        return 0;
    k->hidden = false;
    e.boundary = !strchr("tTwW", type.p[0]);
    if (e.start <= UINT64_MAX - KALLSYMS_LAST_BYTES)
        e.limit = e.start + KALLSYMS_LAST_BYTES;
    e.rank = kallsyms_rank(type.p[0], name);
    if (span_take_word(&line, &module))
        name.n = (size_t)(module.p + module.n - name.p); /* the module's name stays behind the
                                                          * symbol's */
    return symbol_builder_add(b, &e, e.boundary ? SPAN_NULL : name);
}

int kallsyms_parse(struct span text, struct kallsyms *ret)
{
    _cleanup_symbol_builder_ struct symbol_builder b = { 0 };
    struct kallsyms k = { .hidden = true };
    struct span line;
    int r = 0;

    symbol_builder_init(&b, KALLSYMS_SYMBOLS_MAX, KALLSYMS_NAMES_MAX_BYTES);
    while (r == 0 && span_take_line(&text, &line))
        r = kallsyms_line(line, &k, &b);
    if (r == 0)
        r = symbol_table_build(&b, &k.symbols);
    if (r == 0)
        *ret = k;
    return r;
}

int kallsyms_read(int fd, struct kallsyms *ret, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(KALLSYMS_MAX_BYTES);
    int r;

    r = buf_read_fd(&text, fd);
    if (r < 0 && r != -EFBIG)
        return error_code(err, r, "cannot read /proc/kallsyms");
    r = kallsyms_parse(buf_span(&text), ret);
    return r < 0 ? error_code(err, r, "cannot keep the kernel's symbols") : 0;
}

void kallsyms_deinit(struct kallsyms *k)
{
    symbol_table_deinit(&k->symbols);
}
