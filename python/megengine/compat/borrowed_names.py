# SPDX-License-Identifier: Apache-2.0
"""Names that modules of MegEngine import from each other, which code written for it finds there.

Maps each module to the modules that define its borrowed names; ``F=`` is the module itself.
"""

import functools

_TABLE = """
core
    core.tensor.megbrain_graph: Graph
core.tensor.array_method
    core._imperative_rt.core2: apply astype_cpp batched_matmul_cpp broadcast_cpp expand_dims_cpp
        getitem_cpp make_shape_tuple matmul_cpp reshape_cpp setitem_cpp squeeze_cpp
        transpose_cpp
    core.ops: builtin
    core.tensor.utils: _normalize_axis astensor1d cast_tensors convert_inputs subgraph
core.tensor.megbrain_graph
    core: _imperative_rt
    core._wrap: as_device
core.tensor.utils
    compat.subgraphs: interpret_subgraph jit_supported subgraph subgraph_fn
    core._imperative_rt.core2: apply astensor1d_cpp astype_cpp convert_inputs_cpp
        convert_single_value_cpp
    core._imperative_rt.graph: make_const
    core._wrap: as_device
    core.autodiff.grad: Function
    core.ops: builtin
data.dataset
    data.dataset.vision: cifar cityscapes coco folder imagenet meta_vision mnist objects365
        utils voc
data.transform
    data.transform.vision: functional transform
data.transform.vision.transform
    data.transform.meta_transform: Transform
    data.transform.vision.functional: F=
functional.distributed
    distributed.functional: collective_comm
functional.elemwise
    core.ops: builtin
    core.ops.builtin: Elemwise
    functional.activation: hsigmoid hswish relu relu6 sigmoid
functional.loss
    core.tensor.array_method: _reduce
    functional.elemwise: abs equal log logaddexp maximum
    functional.nn: indexing_one_hot logsumexp relu
    functional.tensor: broadcast_to cumsum linspace ones where zeros
functional.math
    core._imperative_rt.core2: Const apply
    core.ops: builtin
    core.tensor.array_method: _elwise _matmul
    core.tensor.utils: _normalize_axis
    functional.elemwise: _elemwise_multi_type clip
    functional.tensor: broadcast_to expand_dims squeeze
    utils.deprecation: deprecated_kwargs_default
functional.metric
    functional.elemwise: abs maximum minimum
    functional.tensor: broadcast_to transpose
functional.nn
    core._imperative_rt.core2: Const apply dtype_promotion make_shape_tuple pixel_shuffle_cpp
    core._imperative_rt.ops: BatchNorm Dimshuffle Dropout Elemwise GetVarShape Identity Reduce
        Reshape TypeCvt
    core.ops: builtin
    core.tensor: megbrain_graph
    core.tensor.array_method: _elwise _matmul
    core.tensor.utils: astensor1d cast_tensors convert_single_value subgraph subgraph_fn
    device: get_cudnn_version is_cuda_available
    distributed.functional: all_reduce_sum
    distributed.group: WORLD
    functional.debug_param: get_execution_strategy
    functional.elemwise: exp log log1p maximum minimum
    functional.math: max normalize sum
    functional.tensor: broadcast_to concat expand_dims ones repeat reshape squeeze transpose
        zeros zeros_like
    jit.tracing: exclude_from_trace
functional.quantized
    core._imperative_rt.core2: apply
    core.ops: builtin
    functional.debug_param: get_execution_strategy
functional.tensor
    core._imperative_rt.core2: Const apply broadcast_cpp create_complex dtype_promotion
        expand_dims_cpp get_device get_imag get_real split_cpp squeeze_cpp
    core._imperative_rt.ops: Copy Identity
    core._wrap: as_device
    core.ops: builtin
    core.tensor.utils: astensor1d convert_inputs subgraph_fn
    functional.elemwise: ceil cos sin
functional.utils
    core._imperative_rt.core2: apply
    core._imperative_rt.ops: AssertEqual
    functional.elemwise: abs maximum minimum
    functional.tensor: ones zeros
functional.vision
    core._imperative_rt.core2: apply
    core.ops: builtin
    core.tensor: megbrain_graph utils
    core.tensor.utils: astensor1d
    functional.elemwise: floor
    functional.math: argsort
    functional.tensor: broadcast_to concat expand_dims reshape transpose
jit.tracing
    core._imperative_rt: rt=
    core._imperative_rt.ops: AssertEqual CollectiveComm RemoteRecv RemoteSend set_jit_enabled
    core.tensor.megbrain_graph: G=
    jit.dtr_config: DTRConfig
    jit.sublinear_memory_config: SublinearMemoryConfig
    tensor: tensor
    utils.comp_graph_tools: cgtools=
    utils.naming: AutoNaming
    utils.profiler: is_profiling
logger
    compat.services: _imperative_rt_logger
module.activation
    functional.nn: gelu leaky_relu prelu relu sigmoid silu softmax
    module.init: ones_ zeros_
module.adaptive_pooling
    functional.nn: adaptive_avg_pool2d adaptive_max_pool2d
    tensor: Parameter
module.batch_matmul_activation
    functional.math: matmul
    functional.nn: relu
module.batchnorm
    distributed.group: Group WORLD
    functional.nn: batch_norm sync_batch_norm
    module: init
module.concat
    functional.tensor: concat
module.conv
    functional.nn: conv1d conv2d conv3d conv_transpose2d conv_transpose3d deformable_conv2d
        local_conv2d pad region_restricted_conv relu
    module: init
    module.module: Module
    tensor: Parameter
    utils.tuple_function: _pair _pair_nonzero _triple _triple_nonzero
module.conv_bn
    functional.nn: relu
module.conv_transpose_bn
    functional.nn: relu
module.deformable_psroi_pooling
    functional.nn: deformable_psroi_pooling
module.dropout
    functional.nn: dropout
module.init
    functional.tensor: full
    random.rng: normal uniform
module.linear
    functional.nn: linear relu
module.linear_bn
    functional.nn: relu
module.lrn
    functional.nn: local_response_norm
module.module
    core._imperative_rt.core2: make_shape_tuple
module.multiheadattn
    megengine: mge=
    device: get_cudnn_version is_cuda_available
    functional.nn: multi_head_attention
    module.init: ones_ xavier_uniform_ zeros_
module.normalization
    megengine: mge=
module.padding
    functional: nn
module.pixel_shuffle
    functional.nn: pixel_shuffle
module.pooling
    functional.nn: avg_pool2d max_pool2d
module.rnn
    core._imperative_rt.core2: apply
    core._imperative_rt.ops: BatchNorm
    core.ops: builtin
    functional.tensor: stack zeros
module.sliding_window
    functional.nn: sliding_window sliding_window_transpose
optimizer.adadelta
    tensor: tensor
optimizer.adagrad
    tensor: tensor
optimizer.adam
    tensor: tensor
optimizer.adamw
    optimizer.optimizer: Optimizer
    tensor: tensor
optimizer.clip_grad
    core._imperative_rt.core2: pop_scope push_scope
optimizer.lamb
    core._imperative_rt.core2: apply
    core._imperative_rt.ops: LAMBUpdate
    functional.math: sum
    optimizer.optimizer: Optimizer
    tensor: tensor
optimizer.optimizer
    core._imperative_rt.core2: get_auto_format_convert pop_scope push_scope
        set_auto_format_convert
    core.tensor.utils: set_convert_inputs
optimizer.sgd
    tensor: tensor
quantization.observer
    distributed.functional: all_reduce_max all_reduce_min
    distributed.group: WORLD get_rank
quantization.utils
    core._imperative_rt.core2: apply
    core.autodiff.grad: Function
    core.ops: builtin
    core.tensor.dtype: QuantDtypeMeta
    functional: F=
    tensor: Tensor
random.rng
    core._imperative_rt.core2: apply
    core._imperative_rt.ops: BetaRNG GammaRNG GaussianRNG PermutationRNG PoissonRNG ShuffleRNG
        UniformRNG
    core.tensor: utils
serialization
    utils.max_recursion_limit: max_recursion_limit
tensor
    core._imperative_rt.core2: FormatType apply
    core._imperative_rt.ops: Borrow Copy GetVarShape
    core._trace_option: use_symbolic_shape
    core._wrap: as_device
    core.tensor.array_method: ArrayMethodMixin
traced_module.checker
    core._imperative_rt.core2: apply
    core._imperative_rt.ops: Copy ROIAlign ROIPooling
traced_module.expr
    core._imperative_rt: OpDef
    core._imperative_rt.core2: Const apply
    core._imperative_rt.ops: FakeQuant
    tensor: Parameter
    traced_module.module_tracer: active_module_tracer
    traced_module.node: NodeMixin
    traced_module.pytree: ArgsIndex TreeDef tree_flatten
traced_module.fake_quant
    quantization.utils: QuantMode
traced_module.module_tracer
    core.tensor.array_method: ArrayMethodMixin
    functional: F=
    module.module: Module
    module.qat.module: QATModule
    tensor: Tensor
traced_module.node
    tensor: Tensor
    traced_module.module_tracer: active_module_tracer
traced_module.pytree
    core._imperative_rt: OpDef
    core._wrap: Device
    core.tensor.dtype: QuantDtypeMeta
    distributed.group: Group
    quantization.utils: LSQParams QParams QuantMode
    tensor: Parameter
    traced_module.node: NodeMixin
traced_module.serialization
    core._imperative_rt: OpDef
    core.ops: builtin
    tensor: Tensor
traced_module.traced_module
    core._imperative_rt.core2: apply
    core._imperative_rt.ops: Copy
    core._trace_option: set_symbolic_shape use_symbolic_shape
    functional: F=
    module: M=
    module.qat.module: QATModule
    quantization.fake_quant: FakeQuantize LSQ TQT
    quantization.observer: ExponentialMovingAverageObserver HistogramObserver MinMaxObserver
        Observer PassiveObserver SyncExponentialMovingAverageObserver SyncMinMaxObserver
    tensor: Tensor
    traced_module.expr: CallFunction CallMethod Expr GetAttr Input get_suffix_name is_apply_def
        is_call_function is_call_module is_call_tensor_method is_constant is_getattr is_input
    traced_module.module_tracer: active_module_tracer get_tensor_wrapable_method
    traced_module.node: ModuleNode NodeMixin TensorNode
    traced_module.pytree: ArgsIndex TreeDef
    traced_module.serialization: load_apply_expr load_call_module_expr
        load_call_tensor_method_expr load_functional
    utils.max_recursion_limit: max_recursion_limit
traced_module.utils
    tensor: Tensor
utils.bn_fusion
    functional.elemwise: sqrt
    functional.tensor: ones zeros
utils.comp_graph_tools
    core: _imperative_rt
    core.tensor.megbrain_graph: G=
utils.module_stats
    core.tensor.dtype: get_dtype_bit
    functional: F=
    logger: MegEngineLogFormatter
utils.module_utils
    module.sequential: Sequential
    tensor: Tensor
utils.network
    core: _imperative_rt
    core._imperative_rt.graph: ComputingGraph
    core.tensor.megbrain_graph: G=
    utils.comp_graph_tools: get_opr_type
    utils.network_node: Host2DeviceCopy ImmutableTensor NetworkNode str_to_mge_class
utils.network_node
    core._imperative_rt: rt=
    core._imperative_rt.core2: apply
    core._trace_option: use_symbolic_shape
    core._wrap: Device
    core.ops: builtin
    utils.comp_graph_tools: replace_vars
    utils.module_stats: preprocess_receptive_field register_flops register_receptive_field
utils.tensor_sanity_check
    core._imperative_rt.core2: sync
"""


@functools.cache
def borrowed() -> dict[str, dict[str, tuple[str, str]]]:
    """By module and name, the defining module and the name there; an empty name is the module."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    names: dict[str, tuple[str, str]] = {}
    home = ""
    for line in _TABLE.strip().splitlines():
        if not line.startswith(" "):
            names = found[f"megengine.{line}"] = {}
            continue
        for word in line.split():
            if word.endswith(":"):
                home = f"megengine.{word[:-1]}" if word != "megengine:" else "megengine"
            else:
                names[word.rstrip("=")] = (home, "" if word.endswith("=") else word)
    return found
