"""One module per API with its table of fields: the facts of the wire format, and nothing else.

`define` puts a class into the module for every message and every struct of the table. The `.pyi`
files tell editors and mypy about them; `python -m kafkalike.protocol.stubs` writes them anew.
Where Kafka has two different structs of one name in request and response, ours carry the name of
the message in front (`AlterIsrRequestTopicData`).
"""
