"""Classes of the site's own that a key of the configuration names: `package.module.ClassName`.

An object is made without arguments; its `configure(properties)`, if it has one, is called once.
"""

from importlib import import_module
from typing import Any

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError


# Any: the class is the site's own.
def configured(config: BrokerConfig, key: str, *methods: str) -> Any:
    """Make the object of a key, None if the key is not set; it must have these methods."""
    class_name = config.value(key)
    if not class_name:
        return None
    module_name, _, name = class_name.rpartition(".")
    try:
        plugin = getattr(import_module(module_name), name)()
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"Invalid value {class_name} for configuration {key}: Class {class_name} could not be "
            f"found ({error}); give a Python class that can be imported, as package.module.Class."
        ) from error
    for method in methods:
        if not callable(getattr(plugin, method, None)):
            raise ConfigError(f"{key}: {class_name} has no method {method}(...)")
    if hasattr(plugin, "configure"):
        plugin.configure(config.originals)
    return plugin
