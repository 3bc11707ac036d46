/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/lock_words.h"

#include "base/text.h"

#define NAME_SHOWN 200 /* bytes */

void lock_words(struct span name, struct buf *out)
{
    bool of_class = span_take_str(&name, LOCK_OF_CLASS);

    if (!name.n || name.p[0] == '[') { /* "[lock of unknown class]" */
        buf_add_str(out, "a lock of unknown class");
        return;
    }
    buf_add_str(out, of_class ? "the lock of class " : "a lock of class ");
    text_clean(name, TEXT_UTF8, NAME_SHOWN, out);
    buf_add_str(out, of_class ? " itself" : "");
}
