"""What goes wrong in the data source; messages name option, topic, partition and offset."""


class DataSourceError(Exception):
    """The query cannot go on; the text says what to change."""


class OptionError(DataSourceError, ValueError):
    """An option that is missing, unknown or has a value that it cannot have."""


class DataLossError(DataSourceError):
    """Records that the query was to read are gone; `failOnDataLoss=false` goes on without them."""


class NoProgressError(DataSourceError):
    """A partition gave nothing for longer than `kafkaConsumer.pollTimeoutMs`."""
