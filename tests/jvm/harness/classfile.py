# SPDX-License-Identifier: Apache-2.0
"""Changes names in a class file. Its constant pool stores each name with a length, so any bytes fit."""
import struct

# Bytes that follow the tag of each kind of constant. Utf8 (1) has its own length.
SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


def rename(data: bytes, names: dict[bytes, bytes]) -> bytes:
    """Returns DATA with every Utf8 constant that is a key of NAMES replaced by its value."""
    count, = struct.unpack_from(">H", data, 8)
    out, position, index = bytearray(data[:10]), 10, 1
    while index < count:
        tag = data[position]
        if tag == 1:
            length, = struct.unpack_from(">H", data, position + 1)
            text = data[position + 3:position + 3 + length]
            position += 3 + length
            text = names.get(text, text)
            out += struct.pack(">BH", 1, len(text)) + text
        else:
            size = 1 + SIZES[tag]
            out += data[position:position + size]
            position += size
            index += tag in (5, 6) # long and double take two places
        index += 1
    return bytes(out + data[position:])
