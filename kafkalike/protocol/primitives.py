"""The parts of the wire format that compiled codecs call: unsigned varints and tagged fields.

Fixed-size values and strings are read and written inline by the code that `decoder_generator` and
`encoder_generator` make; what is here is rare, or too long to repeat in every codec.
"""

from typing import NoReturn

from kafkalike.protocol.errors import ProtocolError

_SHORT_VARINTS = tuple(bytes((number,)) for number in range(128))


def read_unsigned_varint(buffer: bytes, position: int) -> tuple[int, int]:
    """Return the value at `position` and the position after it."""
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 28:
            raise ProtocolError(f"the varint before byte {position} is longer than 5 bytes")
    if value > 0xFFFFFFFF:
        raise ProtocolError(f"the varint before byte {position} does not fit 32 bits")
    return value, position


def unsigned_varint(value: int) -> bytes:
    """Encode a number that is not negative, seven bits a byte, lowest first."""
    if value < 0x80:
        return _SHORT_VARINTS[value]
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def read_tagged_fields(buffer: bytes, position: int, end: int) -> tuple[dict[int, bytes], int]:
    """Read a section of tagged fields, none of them known; return them and the position after."""
    count, position = read_unsigned_varint(buffer, position)
    if count * 2 > end - position:
        overrun("tagged fields")
    fields = {}
    for _ in range(count):
        tag, position = read_unsigned_varint(buffer, position)
        size, position = read_unsigned_varint(buffer, position)
        if size > end - position:
            overrun(f"tagged field {tag}")
        fields[tag] = buffer[position : position + size]
        position += size
    return fields, position


def tagged_fields(fields: dict[int, bytes]) -> bytes:
    """Encode a section of tagged fields, in the order of their tags as KIP-482 asks."""
    parts = [unsigned_varint(len(fields))]
    for tag in sorted(fields):
        value = fields[tag]
        parts += (unsigned_varint(tag), unsigned_varint(len(value)), value)
    return b"".join(parts)


def overrun(field: str) -> NoReturn:
    """Refuse a length or count that the bytes left cannot hold."""
    raise ProtocolError(f"{field} is longer than the bytes left")


def unexpected_null(field: str) -> NoReturn:
    """Refuse null (or a negative length) where the version has no null."""
    raise ProtocolError(f"{field} is null, which this version does not allow")


def wrong_tag_size(tag: int) -> NoReturn:
    """Refuse a known tagged field whose content is not as long as its size says."""
    raise ProtocolError(f"tagged field {tag} does not have the size it states")
