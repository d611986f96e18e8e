"""At least one entry for each of the families that people report most, by a text as reports quote it."""

import pytest

import sgl_explain

TEXT_BY_FAMILY = {
    "speculative decoding": (
        "ValueError: LoRA with EAGLE/NEXTN/EAGLE3 speculative decoding does not support "
        "--speculative-adaptive: the draft is built from a static ServerArgs snapshot, and the "
        "runtime-state swap does not rebuild LoRA cuda-graph metadata."
    ),
    "a child died (exit code)": (
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is "
        "-9 (SIGKILL), a common cause is the OS OOM killer."
    ),
    "a child died (sigquit)": ("Received sigquit from a child proces. It usually means the child failed."),
    "a child died (Ray)": ("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."),
    "Python API drift": (
        "ImportError: cannot import name 'HybridCache' from 'transformers.cache_utils' "
        "(/usr/lib/python3/dist-packages/transformers/cache_utils.py)"
    ),
    "backend or kernel not for this GPU": (
        "ValueError: TRTLLM MLA backend is only supported on Blackwell GPUs (SM100). Please use a different backend."
    ),
    "sgl_kernel cannot load": (
        "ImportError: /usr/lib/python3/dist-packages/sgl_kernel/common_ops.abi3.so: undefined "
        "symbol: _ZN3c104cuda9SetDeviceEab"
    ),
    "illegal memory access": (
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCUDA kernel "
        "errors might be asynchronously reported at some other API call"
    ),
    "prefill/decode disaggregation": (
        "Decode transfer failed for request rank=0 decode_req.req.rid='abc' "
        "decode_req.req.bootstrap_room=5 with exception KVTransferError(bootstrap_room=5): Failed to "
        "get kvcache from prefill instance, it might be dead"
    ),
    "CUDA graph capture wrapper": (
        "Exception: Capture cuda graph failed: something odd\nPossible solutions:\n1. set "
        "--mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)"
    ),
    "NCCL": (
        "torch.distributed.DistBackendError: NCCL error in: "
        "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3356, unhandled system error (run with "
        "NCCL_DEBUG=INFO for details), NCCL version 2.27.3"
    ),
    "gloo": (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed "
        "by peer [10.0.0.2]:31210"
    ),
    "router / gateway: no workers": ("No available workers (all circuits open or unhealthy)"),
    "router / gateway: start": ("Timeout 300s waiting for workers to become healthy"),
    "diffusion server": ("Rank 0 scheduler is dead. Please check if there are relevant logs."),
    "diffusion server: no output": ("Model generation returned no output."),
    "Ascend NPU": ("RuntimeError: call aclnnMoeDistributeDispatch failed, detail:EZ9999: Inner Error!"),
    "AMD ROCm": ("RuntimeError: HIP error: invalid device function"),
    "HiCache": (
        "ValueError: Not enough host memory available. Requesting 120.50 GB but only have 80.20 GB "
        "free. Please reduce the size of the hierarchical cache."
    ),
    "LoRA": (
        "ValueError: The following requested LoRA adapters are not loaded: {'a'}\nLoaded adapters: dict_keys(['b'])."
    ),
    "KV pool at run time": (
        "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for "
        "`--max-running-requests`. req_to_token_pool.available_size()=0, num_reqs=3"
    ),
    "RL weight update": (
        "Failed to update parameter online: size mismatch. The full weights of the ModelRunner are "
        "partially updated. Please discard the whole weights."
    ),
    "memory saver": (
        "RuntimeError: TorchMemorySaver observes invalid LD_PRELOAD. You can use "
        "configure_subprocess() utility, or directly specify "
        "`LD_PRELOAD=/path/to/torch_memory_saver_cpp.some-postfix.so python your_script.py. "
        '(LD_PRELOAD="" process_id=1)'
    ),
    "multimodal: token mismatch": (
        "ValueError: Number of tokens in multimodal embedding does not match those in the input "
        "text. Got 100 tokens in the text but 90 tokens from multimodal embeddings."
    ),
    "multimodal: bad data": ("Error while loading data ImageData: cannot identify image file"),
    "pool leak check": (
        "ValueError: token_to_kv_pool_allocator memory leak detected! self.max_total_num_tokens=100, "
        "available_size=90, evictable_size=5, protected_size=0"
    ),
    "missing Python module": ("ModuleNotFoundError: No module named 'vllm'"),
    "transformers mismatch": ("ImportError: cannot import name 'AutoVideoProcessor' from 'transformers'"),
    "pipeline parallelism": ("ValueError: len(partitions)=3 does not match pp_size=2."),
    "torch.compile": (
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: Cannot "
        "find a working triton installation."
    ),
    "piecewise graphs": ("RuntimeError: Piecewise CUDA Graph failed with error: x"),
    "grammar": ("Invalid grammar request: Failed to compile json grammar: x"),
    "warm-up failed": (
        "Initialization failed. warmup error: Traceback (most recent call last):\nAssertionError: "
        "res=<Response [502]>, res.text=''"
    ),
    "quantization config mismatch": (
        "ValueError: ModelOptFp8Config only supports static FP8 quantization in SGLang. For NVFP4 "
        "quantization, use ModelOptFp4Config."
    ),
    "segfault": ("Fatal Python error: Segmentation fault"),
    "bus error": ("Fatal Python error: Bus error"),
    "FlashInfer version": (
        "Exception: flashinfer_python is installed with version 0.2.3, which is less than the "
        "minimum required version 0.6.7. Please reinstall the latest version by following the "
        "instructions at https://docs.flashinfer.ai/installation.html."
    ),
    "chat template": ("jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'content'"),
    "context length, wording 1": (
        "Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens). Use a shorter "
        "input or enable --allow-auto-truncate."
    ),
    "context length, wording 2": ("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    "context length, wording 3": (
        "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
        "requested a total of 5000 tokens: 4000 tokens from the input messages and 1000 tokens for "
        "the completion. Please reduce the number of tokens in the input messages or the completion "
        "to fit within the limit."
    ),
    "KeyError in load_weights": (
        "Traceback (most recent call last):\n  File "
        '"/usr/lib/python3/dist-packages/sglang/srt/models/llama.py", line 500, in load_weights\n    '
        "param = params_dict[name]\nKeyError: 'model.layers.0.self_attn.qkv_proj.weight_scale_inv'"
    ),
    "architecture not supported": (
        "ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported "
        "architectures: dict_keys(['A'])"
    ),
    "device-side assert": ("RuntimeError: CUDA error: device-side assert triggered"),
    "CUDA out of memory": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
        "capacity of 79.10 GiB of which 1.20 GiB is free."
    ),
    "KV pool start-up memory": (
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current "
        "value: mem_fraction_static=0.5"
    ),
    "weight shape mismatch": (
        "AssertionError: Attempted to load weight (torch.Size([10])) into parameter (torch.Size([20]))"
    ),
    "custom all-reduce set-up": (
        "Setup Custom allreduce failed with CUDART error: invalid argument. To silence this warning, "
        "specify --disable-custom-all-reduce explicitly."
    ),
    "a harmless import error": (
        "Ignore import error when loading sglang.srt.models.midashenglm: No module named 'torchaudio'"
    ),
    "tool-call parsing": ("Error in parse_streaming_increment: x"),
    "scheduler watchdog": ("Watchdog timeout (self.watchdog_timeout=300)"),
    "memory capacity unbalanced": (
        "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other "
        "processes. pre_model_load_memory=1.0, local_gpu_memory=2.0, local_gpu_memory * 0.9=1.8"
    ),
    "signal in another thread": ("ValueError: signal only works in main thread of the main interpreter"),
    "NIXL": ("nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND"),
    "GGUF architecture": ("ValueError: GGUF model with architecture foo is not supported yet."),
    "gated repository": (
        "OSError: You are trying to access a gated repo.\nMake sure to have access to it at "
        "https://huggingface.co/meta-llama/Llama-3.1-8B."
    ),
    "unknown model type": (
        "ValueError: The checkpoint you are trying to load has model type `foo` but Transformers "
        "does not recognize this architecture. This could be because of an issue with the "
        "checkpoint, or because your version of Transformers is out of date."
    ),
    "block_n divisibility": (
        "ValueError: Weight output_partition_size = 64 is not divisible by weight quantization block_n = 128."
    ),
    "cuDNN check": ("RuntimeError: CRITICAL WARNING: PyTorch 2.9.1 & CuDNN Compatibility Issue Detected"),
    "Triton OutOfResources": (
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, "
        "Hardware limit: 101376. Reducing block sizes or `num_stages` may help."
    ),
    "DeepGEMM": ("RuntimeError: Assertion error (csrc/apis/x.hpp:1): Unsupported architecture"),
    "health check": (
        "Health check failed. Server couldn't get a response from detokenizer for last 20 seconds. "
        "tic start time: 09:00:00. last_heartbeat time: 08:59:00"
    ),
    "DeepEP": ("RuntimeError: DeepEP error: timeout (dispatch CPU)"),
}


@pytest.mark.parametrize("family", TEXT_BY_FAMILY)
def test_the_family_is_explained(family: str):
    assert sgl_explain.diagnose(TEXT_BY_FAMILY[family]) is not None
