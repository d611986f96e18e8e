"""At least one entry for each of the families that people report most (counted over public reports)."""

import pytest

import sgl_explain

# family: what its reports quote, as far as a report quotes it
FAMILIES = {
    "speculative decoding refused": "Speculative decoding with EAGLE: DSpark speculative_num_draft_tokens must equal gamma + 1 "
    "(= 5 for gamma=4), but got speculative_num_draft_tokens=8.",
    "a child died": "Received sigquit from a child process. It usually means the child failed.",
    "API drift": "ImportError: cannot import name 'HybridCache' from 'transformers.cache_utils'",
    "backend not for this GPU": "ValueError: TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a different backend.",
    "sgl_kernel cannot load": "ImportError: common_ops.abi3.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs",
    "illegal memory access": "CUDA error: an illegal memory access was encountered",
}


@pytest.mark.parametrize("text", FAMILIES.values(), ids=FAMILIES)
def test_the_family_is_explained(text):
    assert sgl_explain.diagnose(text) is not None
