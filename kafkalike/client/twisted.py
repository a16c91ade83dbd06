"""The clients for programs that run on Twisted, under the names of the blocking ones.

`kafkalike.client` has the blocking clients, `kafkalike.client.aio` those for asyncio.
"""

from kafkalike.client.async_admin import KafkaAdminClient as KafkaAdminClient
from kafkalike.client.async_consumer import KafkaConsumer as KafkaConsumer
from kafkalike.client.async_producer import KafkaProducer as KafkaProducer
