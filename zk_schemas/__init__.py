"""One JSON Schema (draft 2020-12) per kind of znode; `x-znode` names the paths it is for."""
