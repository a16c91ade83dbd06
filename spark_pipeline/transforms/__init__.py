"""Pure functions from DataFrame to DataFrame, one idea each."""
