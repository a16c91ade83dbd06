"""Declaring configuration keys: one typed line per key, and objects that hold their values.

    class LogKeys(Config):
        log_segment_bytes: int = key("log.segment.bytes", 1 << 30, "Largest size of one log file.",
                                     check=at_least(14), importance=HIGH, dynamic=CLUSTER_WIDE)

On the class, `LogKeys.KEYS["log.segment.bytes"]` is the declaration, for documentation,
DescribeConfigs and dynamic updates. On an object, `config.log_segment_bytes` is the value.
Objects never change.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Final, NamedTuple, Self

from kafkalike.config.value_types import ConfigType, parse_value


class Importance(Enum):
    """How much a key matters to who sets up a broker."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Whether a broker key can change while the broker runs, and for whom."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


HIGH: Final = Importance.HIGH
MEDIUM: Final = Importance.MEDIUM
LOW: Final = Importance.LOW
READ_ONLY: Final = UpdateMode.READ_ONLY
PER_BROKER: Final = UpdateMode.PER_BROKER
CLUSTER_WIDE: Final = UpdateMode.CLUSTER_WIDE
INT: Final = ConfigType.INT
SHORT: Final = ConfigType.SHORT
LONG: Final = ConfigType.LONG
LIST: Final = ConfigType.LIST
CLASS: Final = ConfigType.CLASS
PASSWORD: Final = ConfigType.PASSWORD
MAX_INT: Final = (1 << 31) - 1
MAX_LONG: Final = (1 << 63) - 1

_TYPE_OF_DEFAULT: Final[dict[type, ConfigType]] = {
    bool: ConfigType.BOOLEAN,
    int: ConfigType.INT,
    float: ConfigType.DOUBLE,
    str: ConfigType.STRING,
    tuple: ConfigType.LIST,
    type(None): ConfigType.STRING,
}


class ConfigKey(NamedTuple):
    """The declaration of one key."""

    name: str
    type: ConfigType
    default: Any
    doc: str
    check: Callable[[str, Any], None] | None
    importance: Importance
    dynamic: UpdateMode
    internal: bool
    server_default: str | None

    @property
    def attribute(self) -> str:
        """The name of the attribute that holds the value."""
        return self.name.replace(".", "_")

    def parse(self, text: str) -> Any:
        """Turn text into a value, or raise a `ConfigError`."""
        value = parse_value(self.name, text, self.type)
        if self.check is not None:
            self.check(self.name, value)
        return value


def key(
    name: str,
    default: Any,
    doc: str,
    *,
    type: ConfigType | None = None,
    check: Callable[[str, Any], None] | None = None,
    importance: Importance = MEDIUM,
    dynamic: UpdateMode = READ_ONLY,
    internal: bool = False,
    server_default: str | None = None,
) -> Any:
    """Declare a key; its type is that of the default unless said otherwise.

    The return type is `Any` so that the attribute can be annotated with the type of its values.
    """
    return ConfigKey(
        name,
        type or _TYPE_OF_DEFAULT[default.__class__],
        default,
        doc,
        check,
        importance,
        dynamic,
        internal,
        server_default,
    )


class Config:
    """Values for a set of keys; a subclass declares keys and inherits those of its bases."""

    KEYS: ClassVar[Mapping[str, ConfigKey]] = MappingProxyType({})
    _DEFAULTS: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        keys: dict[str, ConfigKey] = {}
        for base in reversed(cls.__bases__):
            if issubclass(base, Config):
                keys.update(base.KEYS)
        own = [value for value in vars(cls).values() if isinstance(value, ConfigKey)]
        keys.update((key.name, key) for key in own)
        cls.KEYS = MappingProxyType(keys)
        cls._DEFAULTS = {key.attribute: key.default for key in keys.values()}

    def __init__(self, **values: Any) -> None:
        """Take values by attribute name; what is not given has its default."""
        unknown = values.keys() - self._DEFAULTS.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no keys {sorted(unknown)}")
        self.__dict__.update(self._DEFAULTS)
        self.__dict__.update(values)

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> dict[str, Any]:
        """Turn the properties that are keys of this class into values by attribute name."""
        return {
            key.attribute: key.parse(properties[name])
            for name, key in cls.KEYS.items()
            if name in properties
        }

    def value(self, name: str) -> Any:
        """Return the value of a key by the key's name."""
        return self.__dict__[self.KEYS[name].attribute]

    def replace(self, **values: Any) -> Self:
        """Return a copy with other values for some attributes."""
        current = {attribute: self.__dict__[attribute] for attribute in self._DEFAULTS}
        return type(self)(**{**current, **values})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} does not change: {name}")

    def _identity(self) -> tuple[Any, ...]:
        return tuple(self.__dict__[attribute] for attribute in self._DEFAULTS)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        changed = (
            f"{attribute}={self.__dict__[attribute]!r}"
            for attribute, default in self._DEFAULTS.items()
            if self.__dict__[attribute] != default
        )
        return f"{type(self).__name__}({', '.join(changed)})"
