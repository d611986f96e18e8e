"""Import hook giving permissive stub modules for GPU-only packages (names in AUTOMOCK env or the default)."""
import importlib.abc
import importlib.machinery
import os
import sys
import types

NAMES=tuple((os.environ.get("AUTOMOCK") or "sgl_kernel,flashinfer,deep_gemm,vllm,cutlass,flash_attn").split(","))
class Any_:
    def __init__(self,*a,**k): pass
    def __call__(self,*a,**k): return a[0] if len(a)==1 and callable(a[0]) and not k else Any_()
    def __getattr__(self,n):
        if n.startswith("__") and n.endswith("__"): raise AttributeError(n)
        return Any_()
    def __mro_entries__(self,b): return (object,)
    def __class_getitem__(cls,i): return cls
    def __or__(self,o): return self
    def __ror__(self,o): return self
class M(types.ModuleType):
    __version__="99.0"
    def __getattr__(self,n):
        if n.startswith("__") and n.endswith("__"): raise AttributeError(n)
        v = type(n,(),{"__init__":lambda s,*a,**k:None}) if n[:1].isupper() else Any_()
        setattr(self,n,v); return v
class F(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self,name,path=None,target=None):
        if name.split(".")[0] in NAMES: return importlib.machinery.ModuleSpec(name,self,is_package=True)
    def create_module(self,spec): return M(spec.name)
    def exec_module(self,m): m.__path__=[]
sys.meta_path.insert(0,F())
