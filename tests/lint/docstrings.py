# SPDX-License-Identifier: Apache-2.0
"""Finds functions in a header that have no comment, or one that begins with no verb. prose.py counts them.

The comment stands above the prototype. Prototypes that follow one another without a blank line share the comment of the first. Functions
that make and free an object need none: the house style describes them."""

import re

COMMENT, NEWLINE = "@", "\x01"  # stand for a comment, and for a line's end in it
LIFECYCLE = re.compile(r"_(?:init|deinit|new|freep?|ref|unref)$")
FUNCTION = re.compile(r"^[A-Za-z_][\w \t*]*?[ *](\w+)\((?:[^;{}]|\n)*?\)[^;{}()]*(?:__attribute__\(\(.*?\)\)\s*)?[;{]", re.MULTILINE)

# A comment with such a begin names the result of the function, not its work.
VERBLESS = re.compile(r"^/\* (The|An?|Whether|True|What|How|Where|Which|Why)\b(?:(?!\*/).)*\*/\n"
                      r"(?:static inline )?(?:const )?(?:struct |enum )?\w+ \**(\w+)\([^;{]*[;{]", re.MULTILINE | re.DOTALL)


def verbless(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in VERBLESS.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(2), match.group(1)


def outermost(text):
    """Returns the text without directives and bodies in braces. A comment is COMMENT, with NEWLINE for each of its lines."""
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "#" + NEWLINE * m.group().count("\n"), text, flags=re.MULTILINE)
    out, depth, at = [], 0, 0
    for token in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|[{}]', text, re.DOTALL):
        piece, lines = token.group(), token.group().count("\n")
        between = text[at : token.start()]
        out.append(NEWLINE * between.count("\n") if depth else between)
        at = token.end()
        if piece == "{":
            out.append("" if depth else piece)
            depth += 1
        elif piece == "}":
            depth -= 1
            out.append("" if depth else piece)
        elif piece.startswith("/"):
            out.append(NEWLINE * lines if depth else COMMENT + NEWLINE * lines)
    return "".join(out) + text[at:]


def undocumented(path):
    with open(path, encoding="utf-8") as file:
        text = outermost(file.read())
    number = 1
    for block in re.split(r"(\n[ \t]*\n)", text):
        comment = re.search(r"^[ \t]*" + COMMENT, block, re.MULTILINE)
        for function in FUNCTION.finditer(block):
            if function.group().startswith(("typedef", "_Static_assert", "return")) or LIFECYCLE.search(function.group(1)):
                continue
            if not comment or comment.start() > function.start():
                before = block[: function.start()]
                yield number + before.count("\n") + before.count(NEWLINE), function.group(1)
        number += block.count("\n") + block.count(NEWLINE)
