"""The few calls of librdkafka that the benchmark needs, on the library inside confluent-kafka.

Called through ctypes and by batches: confluent-kafka's own calls cost about 1 µs of Python a
record, which would make the client the slowest part and measure that. Consumption uses the calls
without a group, so that no coordinator takes part.
"""

import ctypes
import struct
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import confluent_kafka

_PRODUCER, _CONSUMER = 0, 1
_METADATA_DEADLINE_S = 30.0
_OFFSET_BEGINNING = -2
_ERROR_BYTES = 512
_TIMESTAMP = struct.Struct("q")


class _Message(ctypes.Structure):
    """`rd_kafka_message_t`."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_len", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


def _load() -> ctypes.CDLL:
    package = Path(confluent_kafka.__file__).parent
    (path,) = package.with_name("confluent_kafka.libs").glob("librdkafka*")
    library = ctypes.CDLL(str(path))
    # Called once a record: keeping the interpreter's lock saves more than it holds up.
    library.rd_kafka_message_destroy = ctypes.PyDLL(str(path)).rd_kafka_message_destroy
    pointer, i32, i64, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64, ctypes.c_char_p
    for name, result, *arguments in (
        ("conf_new", pointer),
        ("conf_set", i32, pointer, text, text, text, ctypes.c_size_t),
        ("new", pointer, i32, pointer, text, ctypes.c_size_t),
        ("topic_new", pointer, pointer, text, pointer),
        ("produce_batch", i32, pointer, ctypes.c_int32, i32, pointer, i32),
        ("flush", i32, pointer, i32),
        ("poll", i32, pointer, i32),
        ("outq_len", i32, pointer),
        ("queue_new", pointer, pointer),
        ("consume_start_queue", i32, pointer, ctypes.c_int32, i64, pointer),
        ("consume_batch_queue", ctypes.c_ssize_t, pointer, i32, pointer, ctypes.c_size_t),
        ("message_destroy", None, pointer),
        ("query_watermark_offsets", i32, pointer, text, ctypes.c_int32, pointer, pointer, i32),
        ("err2str", text, i32),
        ("last_error", i32),
    ):
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library


_lib = _load()


class LibrdkafkaError(Exception):
    """librdkafka refused something; unless it may pass, the benchmark ends."""


class _Client:
    """A handle with one topic. The process ends after its work, so nothing is ever destroyed."""

    def __init__(self, kind: int, topic: str, settings: Mapping[str, object]) -> None:
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        conf = _lib.rd_kafka_conf_new()
        for key, value in settings.items():
            if _lib.rd_kafka_conf_set(conf, key.encode(), str(value).encode(), error, _ERROR_BYTES):
                raise LibrdkafkaError(error.value.decode())
        self._handle = _lib.rd_kafka_new(kind, conf, error, _ERROR_BYTES)
        if not self._handle:
            raise LibrdkafkaError(error.value.decode())
        self._name = topic.encode()
        self._topic = _lib.rd_kafka_topic_new(self._handle, self._name, None)

    def until_known(self, partitions: int) -> None:
        """Wait until this client finds all partitions: brokers learn of a new topic one by one."""
        deadline = time.perf_counter() + _METADATA_DEADLINE_S
        for partition in range(partitions):
            while not self._is_known(partition):
                if time.perf_counter() > deadline:
                    raise LibrdkafkaError(f"{self._name.decode()}-{partition} is not to be found")
                time.sleep(0.01)

    def _is_known(self, partition: int) -> bool:
        try:
            self.end_offset(partition)
        except LibrdkafkaError:
            return False
        return True

    def end_offset(self, partition: int) -> int:
        """Ask the broker for the end offset (high watermark) of a partition."""
        low, high = ctypes.c_int64(), ctypes.c_int64()
        _check(
            _lib.rd_kafka_query_watermark_offsets(
                self._handle, self._name, partition, ctypes.byref(low), ctypes.byref(high), 10_000
            )
        )
        return high.value


class Producer(_Client):
    """Sends the same payload over and over, a batch of records a call."""

    def __init__(
        self, topic: str, settings: Mapping[str, object], payload: bytes, batch: int
    ) -> None:
        super().__init__(_PRODUCER, topic, settings)
        self._payload = ctypes.create_string_buffer(payload, len(payload))
        self._batch = (_Message * batch)()
        for message in self._batch:
            message.payload = ctypes.addressof(self._payload)
            message.len = len(payload)

    def produce(self, partition: int, count: int) -> int:
        """Queue up to `count` records without copying them; returns how many fitted."""
        return int(_lib.rd_kafka_produce_batch(self._topic, partition, 0, self._batch, count))

    def produce_stamped(self, partition: int, now_ns: int) -> None:
        """Queue one record that begins with a time; the payload is copied."""
        _TIMESTAMP.pack_into(self._payload, 0, now_ns)
        copy_flag = 0x2
        if _lib.rd_kafka_produce_batch(self._topic, partition, copy_flag, self._batch, 1) != 1:
            raise LibrdkafkaError("the queue is full")

    def poll(self) -> None:
        """Serve callbacks."""
        _lib.rd_kafka_poll(self._handle, 0)

    def flush(self, timeout_s: float) -> None:
        """Wait until all is sent and, with acks, answered."""
        _check(_lib.rd_kafka_flush(self._handle, int(timeout_s * 1000)))


class Consumer(_Client):
    """Reads partitions by assignment into one queue."""

    def __init__(self, topic: str, settings: Mapping[str, object], batch: int) -> None:
        super().__init__(_CONSUMER, topic, settings)
        self._queue = _lib.rd_kafka_queue_new(self._handle)
        self._batch = (ctypes.c_void_p * batch)()

    def start(self, partition: int) -> None:
        """Begin to fetch a partition from its first offset."""
        if _lib.rd_kafka_consume_start_queue(
            self._topic, partition, _OFFSET_BEGINNING, self._queue
        ):
            _check(_lib.rd_kafka_last_error())

    def consume(self, timeout_ms: int) -> tuple[int, int]:
        """Take what is there, waiting `timeout_ms` for the first: (records, bytes of a record).

        Only the first and the last record of a batch are looked at: all have the same size, and an
        error that ends the run is the last thing in the queue.
        """
        count = _lib.rd_kafka_consume_batch_queue(
            self._queue, timeout_ms, self._batch, len(self._batch)
        )
        if count <= 0:
            return 0, 0
        pointers = self._batch[:count]
        sizes = {_value(pointer).len for pointer in (pointers[0], pointers[-1])}
        if len(sizes) != 1:
            raise LibrdkafkaError(f"records of different sizes: {sizes}")
        deque(map(_lib.rd_kafka_message_destroy, pointers), maxlen=0)
        return count, sizes.pop()

    def consume_stamp(self, timeout_ms: int) -> int | None:
        """Take one record of `produce_stamped` and return its time, None when none came."""
        if _lib.rd_kafka_consume_batch_queue(self._queue, timeout_ms, self._batch, 1) != 1:
            return None
        payload = _value(self._batch[0]).payload
        (stamp,) = _TIMESTAMP.unpack(ctypes.string_at(payload, _TIMESTAMP.size))
        _lib.rd_kafka_message_destroy(self._batch[0])
        return int(stamp)


def _value(pointer: int) -> _Message:
    message = _Message.from_address(pointer)
    _check(message.err)
    return message


def _check(code: int) -> None:
    if code:
        raise LibrdkafkaError(_lib.rd_kafka_err2str(code).decode())
