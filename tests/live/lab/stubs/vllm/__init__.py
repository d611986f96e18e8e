"""A stand-in for vllm with only what SGLang's CPU fallback imports; put ``stubs/`` on ``$PYTHONPATH`` to serve."""
