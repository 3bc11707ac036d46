/* SPDX-License-Identifier: Apache-2.0 */
/* A java command line: up to the first line break the VM's own copy, then the arguments. With the
 * mask on, no value of a hidden option is shown. */
#include "discover/args.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = { (const char *)data, size }, command, cmdline, main, after, arg;

    if (!span_take_line(&text, &command))
        return 0;
    cmdline = text;
    if (args_main_of_command(command, cmdline, &main, &after) && main.n == 0)
        abort();
    if (args_main(cmdline, &main, &after) &&
        (main.n == 0 || main.p < cmdline.p || main.p + main.n > cmdline.p + cmdline.n))
        abort();
    for (int mask = 0; mask <= 1; mask++) {
        struct buf out;

        buf_init(&out, 1 << 16);
        args_add(&out, cmdline, mask == 1);
        args_add_words(&out, command, mask == 1);
        for (size_t i = 0; i < out.n; i++) {
            if ((unsigned char)out.p[i] < 0x20)
                abort();
        }
        buf_clear(&out);
        while (span_take_until(&cmdline, '\0', &arg)) {
            if (mask && span_starts_with(arg, "-Dsecret=")) {
                args_add(&out, arg, true);
                if (!span_eq_str(buf_span(&out), "-Dsecret=" ARGS_MASK) && arg.n > 9)
                    abort();
                buf_clear(&out);
            }
        }
        cmdline = text;
        buf_deinit(&out);
    }
    return 0;
}
