"""What a broker does every so often, asked or not."""

from kafkalike.server.services import BrokerServices
from kafkalike.utils.periodic import PeriodicTasks


def start_housekeeping(services: BrokerServices, tasks: PeriodicTasks) -> None:
    """Start it all; whoever owns `tasks` stops it."""
    config = services.config

    async def shrink_isrs() -> None:
        services.replica_manager.maybe_shrink_isrs()

    for what, task, period_ms in (
        (
            "high watermark checkpoint",
            services.replica_state_changes.checkpoint_high_watermarks,
            config.replica_high_watermark_checkpoint_interval_ms,
        ),
        ("ISR check", shrink_isrs, config.replica_lag_time_max_ms // 2),
        (
            "offset expiry",
            services.group_coordinator.remove_expired_offsets,
            config.offsets_retention_check_interval_ms,
        ),
        (
            "delegation token expiry",
            services.security.token_manager.remove_expired,
            config.delegation_token_expiry_check_interval_ms,
        ),
    ):
        tasks.start(what, task, delay_ms=period_ms, period_ms=period_ms)
