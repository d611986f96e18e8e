"""Stand-ins for packages that need a GPU, so that SGLang's imports of them succeed on a CPU.

Importing this module puts a finder first on ``sys.meta_path``: every import below one of the packages named in
``$AUTOMOCK`` (comma-separated; by default the GPU packages that SGLang imports) gives a module in which every name
exists and does nothing.
"""

import importlib.abc
import importlib.machinery
import os
import sys
import types

DEFAULT_PACKAGES = "sgl_kernel,flashinfer,deep_gemm,vllm,cutlass,flash_attn"
PACKAGES = tuple((os.environ.get("AUTOMOCK") or DEFAULT_PACKAGES).split(","))


class Anything:
    """A value that can be called, subclassed, indexed as a type and joined with ``|``; its attributes are the same."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        """Return what is decorated, if this looks like a decorator's call; anything otherwise."""
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return args[0]
        return Anything()

    def __getattr__(self, name):
        _refuse_dunder(name)
        return Anything()

    def __mro_entries__(self, bases):
        return (object,)

    def __class_getitem__(cls, item):
        return cls

    def __or__(self, other):
        return self

    def __ror__(self, other):
        return self


class PermissiveModule(types.ModuleType):
    """A module that has every name: a capitalised one is an empty class, any other is anything."""

    __version__ = "99.0"  # later than every minimum that SGLang checks

    def __getattr__(self, name):
        _refuse_dunder(name)
        value = _empty_class(name) if name[:1].isupper() else Anything()
        setattr(self, name, value)
        return value


class PermissiveFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds and loads the packages of ``$AUTOMOCK`` and all their submodules."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in PACKAGES:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return PermissiveModule(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def _refuse_dunder(name):
    # Python asks for these to learn what an object can do; saying yes to all of them breaks copying and inspection.
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)


def _empty_class(name):
    return type(name, (), {"__init__": lambda self, *args, **kwargs: None})


sys.meta_path.insert(0, PermissiveFinder())
