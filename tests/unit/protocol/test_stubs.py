from kafkalike.protocol.stubs import stubs


def test_stubs_are_what_the_tables_say() -> None:
    """Run `python -m kafkalike.protocol.stubs` if this fails."""
    for path, content in stubs():
        assert path.read_text(encoding="utf-8") == content, path.name


def test_no_stub_is_left_of_a_module_that_is_gone() -> None:
    paths = {path for path, _ in stubs()}
    assert paths == set(next(iter(paths)).parent.glob("*.pyi"))
