"""Values as Java prints them."""


def java_double(value: float) -> str:
    """Write a number as Java's Double: 2097152.0, 1.048576E8."""
    if value != value or value in (float("inf"), float("-inf")):
        return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, "NaN")
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value) if "e" not in repr(value) else f"{value:f}"
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:
        digits, _, exponent = _scientific(value).partition("e")
    whole = digits if "." in digits else f"{digits}.0"
    return f"{whole}E{int(exponent)}"


def _scientific(value: float) -> str:
    """Write all digits that tell the number from others, and no more."""
    for precision in range(17):
        text = f"{value:.{precision}e}"
        if float(text) == value:
            return text
    return f"{value:.17e}"
