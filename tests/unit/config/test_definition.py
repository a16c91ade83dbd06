import pytest

from kafkalike.config.checks import at_least
from kafkalike.config.definition import CLUSTER_WIDE, HIGH, LONG, MEDIUM, READ_ONLY, Config, key
from kafkalike.config.errors import ConfigError
from kafkalike.config.value_types import ConfigType


class Base(Config):
    size: int = key("size", 10, "How big.", check=at_least(1))
    name: str | None = key("name", None, "What it is called.")


class Derived(Base):
    max_age_ms: int = key(
        "max.age.ms", -1, "How old.", type=LONG, importance=HIGH, dynamic=CLUSTER_WIDE
    )


def test_a_key_has_the_type_of_its_default_unless_told() -> None:
    assert Base.KEYS["size"].type is ConfigType.INT
    assert Base.KEYS["name"].type is ConfigType.STRING
    assert Derived.KEYS["max.age.ms"].type is ConfigType.LONG
    assert (Base.KEYS["size"].importance, Base.KEYS["size"].dynamic) == (MEDIUM, READ_ONLY)


def test_a_class_has_the_keys_of_its_bases_and_its_own() -> None:
    assert list(Derived.KEYS) == ["size", "name", "max.age.ms"]
    assert list(Base.KEYS) == ["size", "name"]


def test_attributes_hold_values_and_defaults() -> None:
    config = Derived(**Derived.parse({"max.age.ms": "7", "unknown": "x"}))
    assert (config.size, config.name, config.max_age_ms) == (10, None, 7)
    assert config.value("max.age.ms") == 7
    assert repr(config) == "Derived(max_age_ms=7)"


def test_a_value_that_fails_its_check_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"Invalid value 0 for configuration size: .*at least 1"):
        Base.parse({"size": "0"})


def test_objects_never_change_but_can_be_copied_with_other_values() -> None:
    config = Base(size=3)
    with pytest.raises(AttributeError, match="does not change: size"):
        config.size = 4
    with pytest.raises(AttributeError):
        del config.size
    assert config.replace(name="n") == Base(size=3, name="n")
    assert config == Base(size=3)
    assert hash(config) == hash(Base(size=3))
    assert config != Base(size=4)
    assert config != Derived(size=3)


def test_unknown_attributes_are_refused() -> None:
    with pytest.raises(TypeError, match="no_such_key"):
        Base(no_such_key=1)
