"""EndTxn (26): a transaction is committed or aborted.

v2 PRODUCER_FENCED · v3 flexible
"""

from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.producer_errors import code_for_producer

_FIRST_VERSION_WITH_FENCED = 2


@api(ApiKey.END_TXN, versions="0-3")
async def handle(context: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
    """Answer when the end is decided; the markers are written afterwards."""
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    try:
        await context.broker.transaction_coordinator.end_transaction(
            request.transactional_id, producer, is_commit=request.committed
        )
    except KafkaError as error:
        return EndTxnResponse(
            error_code=code_for_producer(error, context.api_version, _FIRST_VERSION_WITH_FENCED)
        )
    return EndTxnResponse()
