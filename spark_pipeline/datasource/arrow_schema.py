"""The columns of the source, for Spark and for Arrow: those of Spark's own Kafka source."""

from typing import Final

import pyarrow as pa

_HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS_TYPE: Final = pa.list_(pa.field("element", _HEADER))

_PLAIN: Final = [
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.timestamp("us", tz="UTC")),
    pa.field("timestampType", pa.int32()),
]
PLAIN_SCHEMA: Final = pa.schema(_PLAIN)
SCHEMA_WITH_HEADERS: Final = pa.schema([*_PLAIN, pa.field("headers", HEADERS_TYPE)])
