"""A process that decodes one table and ends: what damages it does not damage the one that asked.

It is started by its path, with ``-I -S``: it loads the extension alone, no package and nothing else that is installed.
"""

import sys


def command() -> list[str] | None:
    """The words that start it, before the table's path; none where it is not known which interpreter this is."""
    if not sys.executable:
        return None
    from . import _core

    return [sys.executable, "-I", "-S", __file__, _core.__file__]


if __name__ == "__main__":
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    name = "_core"
    spec = spec_from_file_location(name, sys.argv[1], loader=ExtensionFileLoader(name, sys.argv[1]))
    assert spec is not None and spec.loader is not None
    core = module_from_spec(spec)
    spec.loader.exec_module(core)
    sys.exit(core.decode_table(sys.argv[2]))
