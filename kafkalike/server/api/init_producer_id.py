"""InitProducerId (22): a producer receives its id and epoch.

v2 flexible · v3 the producer says who it was (KIP-360) · v4 PRODUCER_FENCED
"""

from kafkalike.coordinator.transaction.transitions import ProducerIdAndEpoch
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import InvalidRequestError, KafkaError
from kafkalike.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.producer_errors import code_for_producer

_FIRST_VERSION_WITH_FENCED = 4


@api(ApiKey.INIT_PRODUCER_ID, versions="0-4")
async def handle(context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Let the coordinator give out an id, or the next epoch of one."""
    try:
        producer = await context.broker.transaction_coordinator.init_producer_id(
            request.transactional_id, request.transaction_timeout_ms, _expected(request)
        )
    except KafkaError as error:
        code = code_for_producer(error, context.api_version, _FIRST_VERSION_WITH_FENCED)
        return InitProducerIdResponse(
            error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
        )
    return InitProducerIdResponse(
        producer_id=producer.producer_id, producer_epoch=producer.producer_epoch
    )


def _expected(request: InitProducerIdRequest) -> ProducerIdAndEpoch | None:
    has_id = request.producer_id != NO_PRODUCER_ID
    has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
    if has_id != has_epoch:
        raise InvalidRequestError(
            f"producer id {request.producer_id} with epoch {request.producer_epoch}: "
            "give both or none"
        )
    return ProducerIdAndEpoch(request.producer_id, request.producer_epoch) if has_id else None
