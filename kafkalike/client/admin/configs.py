"""Configs of topics, brokers and loggers: describe and alter."""

from collections.abc import Iterable
from typing import Any

from kafkalike.client.admin.admin_base import AdminBase, as_dict, check
from kafkalike.client.admin.values import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    ConfigSource,
)
from kafkalike.protocol.messages import alter_configs, incremental_alter_configs
from kafkalike.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalike.protocol.schema import Message

_OF_ONE_BROKER = {ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER}

Configs = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""{resource type: {resource name: {config name: what is known of it}}}."""


class ConfigAdmin(AdminBase):
    """What can be done with configs."""

    async def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: str = "all",
        include_documentation: bool = False,
    ) -> Configs:
        """Return configs; `config_filter` is "all", "modified" (not default) or "dynamic"."""
        found: Configs = {}
        for broker_id, resources in _by_broker(config_resources).items():
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=resource.type_code,
                        resource_name=str(resource.name),
                        configuration_keys=None
                        if resource.configs is None
                        else list(resource.configs),
                    )
                    for resource in resources
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
            answer = await self._ask(broker_id, request)
            for result in answer.results:
                kind = ConfigResourceType(result.resource_type).name.lower()
                what = f"configs of {kind} {result.resource_name}"
                check(result.error_code, what, result.error_message)
                found.setdefault(kind, {})[result.resource_name] = {
                    config.name: _described(config)
                    for config in result.configs
                    if _is_wanted(config, config_filter.lower())
                }
        return found

    async def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Change configs: `{name: value}`, or `{name: (AlterConfigOp, value)}`.

        What is not named stays as it is, unless `incremental` is False: then all that is not named
        goes back to its default (Kafka's old AlterConfigs).
        """
        found: dict[str, dict[str, str]] = {}
        is_incremental = incremental is not False
        for broker_id, resources in _by_broker(config_resources).items():
            request: Message = (
                _incremental(resources, validate_only)
                if is_incremental
                else _whole(resources, validate_only)
            )
            answer = await self._ask(broker_id, request)
            for result in answer.responses:
                kind = ConfigResourceType(result.resource_type).name.lower()
                what = f"altering {kind} {result.resource_name}"
                check(result.error_code, what, result.error_message)
                found.setdefault(kind, {})[result.resource_name] = "OK"
        return found

    async def incremental_alter_configs(
        self, config_resources: Iterable[ConfigResource], validate_only: bool = False
    ) -> dict[str, dict[str, str]]:
        """Change configs, and leave alone what is not named."""
        return await self.alter_configs(config_resources, validate_only, incremental=True)

    async def reset_configs(
        self, config_resources: Iterable[ConfigResource], validate_only: bool = False
    ) -> dict[str, dict[str, str]]:
        """Let the named configs have their defaults again."""
        resources = [
            ConfigResource(
                resource.resource_type,
                resource.name,
                dict.fromkeys(resource.configs or (), (AlterConfigOp.DELETE, None)),
            )
            for resource in config_resources
        ]
        return await self.alter_configs(resources, validate_only, incremental=True)

    async def _ask(self, broker_id: int | None, request: Message) -> Any:
        if broker_id is None:
            return await self.ask_any(request)
        return await self.ask_broker(broker_id, request)


def _by_broker(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    """Group resources by the broker that must be asked: configs of a broker only it knows."""
    found: dict[int | None, list[ConfigResource]] = {}
    for resource in resources:
        is_of_one = resource.type_code in _OF_ONE_BROKER and str(resource.name) != ""
        broker_id = int(resource.name) if is_of_one else None
        found.setdefault(broker_id, []).append(resource)
    return found


def _described(config: Any) -> dict[str, Any]:
    described = as_dict(config)
    described.pop("name")
    described["config_source"] = ConfigSource(max(0, config.config_source)).name
    for synonym in described["synonyms"]:
        synonym["source"] = ConfigSource(synonym["source"]).name
    return described


def _is_wanted(config: Any, config_filter: str) -> bool:
    if config_filter == "modified":
        return bool(config.config_source != ConfigSource.DEFAULT_CONFIG)
    return config_filter != "dynamic" or not config.read_only


def _operations(configs: Any) -> list[tuple[str, AlterConfigOp, str | None]]:
    found = []
    for name, given in (configs or {}).items():
        operation, value = given if isinstance(given, tuple) else (AlterConfigOp.SET, given)
        if isinstance(operation, str):
            operation = AlterConfigOp[operation.upper()]
        is_deleted = operation == AlterConfigOp.DELETE
        found.append((name, AlterConfigOp(operation), None if is_deleted else str(value)))
    return found


def _incremental(resources: list[ConfigResource], validate_only: bool) -> Message:
    return incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=[
            incremental_alter_configs.AlterConfigsResource(
                resource_type=resource.type_code,
                resource_name=str(resource.name),
                configs=[
                    incremental_alter_configs.AlterableConfig(
                        name=name, config_operation=int(operation), value=value
                    )
                    for name, operation, value in _operations(resource.configs)
                ],
            )
            for resource in resources
        ],
        validate_only=validate_only,
    )


def _whole(resources: list[ConfigResource], validate_only: bool) -> Message:
    return alter_configs.AlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(
                resource_type=resource.type_code,
                resource_name=str(resource.name),
                configs=[
                    alter_configs.AlterableConfig(name=name, value=value)
                    for name, operation, value in _operations(resource.configs)
                    if operation == AlterConfigOp.SET
                ],
            )
            for resource in resources
        ],
        validate_only=validate_only,
    )
