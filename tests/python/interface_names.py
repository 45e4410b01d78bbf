# SPDX-License-Identifier: Apache-2.0
"""The names of MegEngine's public interface, each in the module that defines it."""

_NAMES = """
megengine
    __version__ _full_sync cgtools tensor
megengine.amp
    enabled high_prec_dtype low_prec_dtype
megengine.amp.autocast
    autocast autocast.__call__ autocast.__enter__ autocast.__exit__
megengine.amp.convert_format
    convert_module_format convert_tensor_format
megengine.amp.grad_scaler
    GradScaler GradScaler.backward GradScaler.load_state_dict GradScaler.state_dict
    GradScaler.unscale GradScaler.update Xla_GradScaler Xla_GradScaler.backward
    Xla_GradScaler.update
megengine.autodiff
    Function Function.__call__ Function.backward Function.forward
megengine.autodiff.grad_manager
    GradManager GradManager.__enter__ GradManager.__exit__ GradManager.__or__ GradManager.attach
    GradManager.attached_tensors GradManager.backward GradManager.record GradManager.release
    GradManagerGroup GradManagerGroup.__enter__ GradManagerGroup.__exit__
    GradManagerGroup.merge_with get_backwarding_grad_manager
megengine.config
    _auto_format_convert _compute_mode _override async_level benchmark_kernel
    benchmark_with_subprocess deterministic_kernel disable_memory_forwarding
megengine.core.tensor.dtype
    QuantDtypeMeta bfloat16 convert_from_qint1 convert_from_qint32 convert_from_qint4
    convert_from_qint8 convert_from_quint4 convert_from_quint8 convert_to_qint1 convert_to_qint32
    convert_to_qint4 convert_to_qint8 convert_to_quint4 convert_to_quint8 create_quantized_dtype
    get_dtype_bit get_scale get_zero_point intb1 intb2 intb4 is_bfloat16 is_differentible_dtype
    is_dtype_equal is_lowbit is_quantize qint1 qint32 qint4 qint8 quint4 quint8
megengine.data.collator
    Collator Collator.apply
megengine.data.dataloader
    DataLoader DataLoader.__iter__ DataLoader.__len__ DataLoader.check_memory_rationality
    get_worker_info
megengine.data.dataset.meta_dataset
    ArrayDataset ArrayDataset.__getitem__ ArrayDataset.__len__ ConcatDataset
    ConcatDataset.__getitem__ ConcatDataset.__len__ Dataset Dataset.__getitem__ Dataset.__len__
    StreamDataset StreamDataset.__getitem__ StreamDataset.__iter__ StreamDataset.__len__
megengine.data.dataset.vision.cifar
    CIFAR10 CIFAR10.__getitem__ CIFAR10.__len__ CIFAR10.bytes2array CIFAR10.download CIFAR10.meta
    CIFAR10.process CIFAR10.untar CIFAR100 CIFAR100.bytes2array CIFAR100.meta
megengine.data.dataset.vision.cityscapes
    Cityscapes Cityscapes.__getitem__ Cityscapes.__len__
megengine.data.dataset.vision.coco
    COCO COCO.__getitem__ COCO.__len__ COCO.get_img_info has_valid_annotation
megengine.data.dataset.vision.folder
    ImageFolder ImageFolder.__getitem__ ImageFolder.__len__ ImageFolder.collect_class
    ImageFolder.collect_samples
megengine.data.dataset.vision.imagenet
    ImageNet ImageNet.check_raw_file ImageNet.meta ImageNet.valid_ground_truth
megengine.data.dataset.vision.meta_vision
    VisionDataset VisionDataset.__getitem__ VisionDataset.__len__
megengine.data.dataset.vision.mnist
    MNIST MNIST.__getitem__ MNIST.__len__ MNIST.download MNIST.meta MNIST.process parse_idx1
    parse_idx3
megengine.data.dataset.vision.objects365
    Objects365 Objects365.__getitem__ Objects365.__len__ Objects365.get_img_info
megengine.data.dataset.vision.voc
    PascalVOC PascalVOC.__getitem__ PascalVOC.__len__ PascalVOC.get_img_info PascalVOC.parse_voc_xml
megengine.data.sampler
    Infinite Infinite.__iter__ Infinite.__len__ Infinite.__next__ Infinite.sample MapSampler
    MapSampler.__iter__ MapSampler.__len__ MapSampler.batch MapSampler.sample MapSampler.scatter
    RandomSampler RandomSampler.sample ReplacementSampler ReplacementSampler.sample Sampler
    SequentialSampler SequentialSampler.sample StreamSampler StreamSampler.__iter__
    StreamSampler.batch StreamSampler.sample
megengine.data.transform.meta_transform
    CudaTransform CudaTransform.apply PseudoTransform PseudoTransform.apply Transform
    Transform.apply Transform.apply_batch
megengine.data.transform.vision.functional
    flip pad resize to_bgr to_gray wrap_keepdims
megengine.data.transform.vision.transform
    BrightnessTransform CenterCrop CenterCrop.apply ColorJitter ColorJitter.apply Compose
    Compose.apply Compose.apply_batch ContrastTransform GaussianNoise HueTransform Lighting
    Normalize Pad RandomCrop RandomCrop.apply RandomHorizontalFlip RandomHorizontalFlip.apply
    RandomResize RandomResize.apply RandomResizedCrop RandomResizedCrop.apply RandomVerticalFlip
    RandomVerticalFlip.apply Resize Resize.apply SaturationTransform ShortestEdgeResize
    ShortestEdgeResize.apply ToMode TorchTransformCompose VisionTransform VisionTransform.apply
    VisionTransform.apply_batch
megengine.device
    DeviceType coalesce_free_memory get_allocated_memory get_cuda_compute_capability
    get_cuda_device_property get_cuda_driver_version get_cuda_version get_cudnn_version
    get_default_device get_device_count get_max_allocated_memory get_max_reserved_memory
    get_mem_status_bytes get_reserved_memory get_tensorrt_version is_atlas_available
    is_cambricon_available is_cuda_available is_rocm_available reset_max_memory_stats
    set_default_device set_prealloc_config what_is_xpu
megengine.distributed
    backend group_end group_start make_allreduce_cb
megengine.distributed.functional
    all_gather all_reduce_max all_reduce_min all_reduce_sum all_to_all broadcast collective_comm
    gather reduce_scatter_sum reduce_sum remote_recv remote_send scatter
megengine.distributed.group
    Group Group.check Group.comp_node Group.is_single_machine Group.key Group.rank Group.reset
    Group.size WORLD get_backend get_client get_local_device_id get_mm_server_addr
    get_py_server_addr get_rank get_world_size group_barrier init_process_group is_distributed
    new_group override_backend
megengine.distributed.helper
    AllreduceCallback AllreduceCallback.__call__ bcast_list_ get_device_count_by_fork get_offsets
    pack_allreduce_split param_pack_concat param_pack_split synchronized
megengine.distributed.launcher
    launcher launcher.__call__
megengine.distributed.server
    Client Client.bcast_val Client.connect Client.group_barrier Client.user_get Client.user_pop
    Client.user_set Server
megengine.distributions.distribution
    Distribution Distribution.batch_shape Distribution.cdf Distribution.event_shape
    Distribution.expand Distribution.icdf Distribution.log_prob Distribution.mean
    Distribution.sample Distribution.stddev Distribution.variance
megengine.distributions.exponential
    Exponential Exponential.cdf Exponential.icdf Exponential.log_prob Exponential.mean
    Exponential.sample Exponential.stddev Exponential.variance
megengine.dtr.dtr
    disable enable enable_sqrt_sampling evictee_minimum_size eviction_threshold
megengine.experimental.weight_scaler
    get_norm_mod_value get_scaled_model
megengine.functional.debug_param
    get_conv_execution_strategy get_execution_strategy set_conv_execution_strategy
    set_execution_strategy
megengine.functional.distributed
    all_gather all_reduce_max all_reduce_min all_reduce_sum all_to_all broadcast gather
    reduce_scatter_sum reduce_sum remote_recv remote_send scatter
megengine.functional.einsum
    einsum
megengine.functional.elemwise
    abs acos acosh add asin asinh atan atan2 atanh ceil clip cos cosh div equal erf exp expm1 floor
    floor_div greater greater_equal hsigmoid hswish left_shift less less_equal log log1p logaddexp
    logical_and logical_not logical_or logical_xor maximum minimum mod mul neg not_equal pow relu
    relu6 right_shift round sigmoid sin sinh sqrt square sub tan tanh
megengine.functional.external
    atlas_runtime_opr cambricon_runtime_opr extern_opr_subgraph magicmind_runtime_opr
    tensorrt_runtime_opr
megengine.functional.inplace
    _inplace_add_
megengine.functional.loss
    binary_cross_entropy cross_entropy ctc_loss hinge_loss l1_loss square_loss
megengine.functional.math
    argmax argmin argsort cross dot isinf isnan matinv matmul max mean min norm normalize prod sign
    sort std sum svd topk var
megengine.functional.metric
    topk_accuracy
megengine.functional.nn
    adaptive_avg_pool2d adaptive_max_pool2d avg_pool2d batch_norm conv1d conv2d conv3d
    conv_transpose2d conv_transpose3d deformable_conv2d deformable_psroi_pooling dropout embedding
    gelu general_norm group_norm hsigmoid hswish indexing_one_hot instance_norm layer_norm
    leaky_relu linear local_conv2d local_response_norm logsigmoid logsoftmax logsumexp max_pool2d
    multi_head_attention one_hot pad pixel_shuffle prelu region_restricted_conv relu relu6 sigmoid
    silu sliding_window sliding_window_transpose softmax softplus sync_batch_norm
megengine.functional.quantized
    batch_conv_bias_activation conv_bias_activation conv_transpose2d
megengine.functional.tensor
    arange broadcast_to complex concat cond_take copy cumsum diag expand_dims eye flatten full
    full_like gather imag linspace meshgrid non_zero ones ones_like polar real repeat reshape roll
    scatter split squeeze stack swapaxes tile transpose where zeros zeros_like
megengine.functional.utils
    copy topk_accuracy
megengine.functional.vision
    correlation cvt_color flip interpolate nms nvof remap resize roi_align roi_pooling rot90 rotate
    warp_affine warp_perspective
megengine.hub.exceptions
    FetcherError GitCheckoutError GitPullError InvalidGitHost InvalidProtocol InvalidRepo
megengine.hub.fetcher
    GitHTTPSFetcher GitHTTPSFetcher.fetch GitSSHFetcher GitSSHFetcher.fetch RepoFetcherBase
    RepoFetcherBase.fetch
megengine.hub.hub
    help import_module list load load_serialized_obj_from_url pretrained pretrained.__call__
megengine.jit
    TraceError
megengine.jit.dtr_config
    DTRConfig
megengine.jit.graph_opt_config
    GraphOptimizationConfig
megengine.jit.partial_tracing
    partial_trace
megengine.jit.sublinear_memory_config
    SublinearMemoryConfig
megengine.jit.tracing
    exclude_from_trace is_tracing trace trace.__call__ trace.check_external trace.dump
    trace.get_profile trace.ops trace.vars trace.without_host
megengine.jit.xla_backend
    xla_trace
megengine.lite

megengine.logger
    MegEngineLogFormatter call_countlog_func enable_debug_log get_logger replace_mgb_log_level
    set_log_file set_log_level set_mgb_log_level
megengine.module.activation
    GELU GELU.forward LeakyReLU LeakyReLU.forward PReLU PReLU.forward ReLU ReLU.forward SiLU
    SiLU.forward Sigmoid Sigmoid.forward Softmax Softmax.forward
megengine.module.adaptive_pooling
    AdaptiveAvgPool2d AdaptiveAvgPool2d.forward AdaptiveMaxPool2d AdaptiveMaxPool2d.forward
megengine.module.batch_matmul_activation
    BatchMatMulActivation BatchMatMulActivation.forward BatchMatMulActivation.reset_parameters
megengine.module.batchnorm
    BatchNorm1d BatchNorm2d SyncBatchNorm SyncBatchNorm.forward
megengine.module.concat
    Concat Concat.forward
megengine.module.conv
    Conv1d Conv1d.calc_conv Conv1d.forward Conv1d.get_pad_witdth Conv2d Conv2d.calc_conv
    Conv2d.forward Conv2d.get_pad_witdth Conv3d Conv3d.calc_conv Conv3d.forward ConvRelu2d
    ConvRelu2d.forward ConvTranspose2d ConvTranspose2d.calc_conv_transpose2d ConvTranspose2d.forward
    ConvTranspose3d ConvTranspose3d.forward ConvTransposeRelu2d ConvTransposeRelu2d.forward
    DeformableConv2d DeformableConv2d.calc_conv DeformableConv2d.forward LocalConv2d
    LocalConv2d.forward RegionRestrictedConv RegionRestrictedConv.calc_conv
    RegionRestrictedConv.forward RegionRestrictedConv.get_pad_width
megengine.module.conv_bn
    ConvBn2d ConvBn2d.forward ConvBnRelu2d ConvBnRelu2d.forward
megengine.module.conv_transpose_bn
    ConvTransposeBn2d ConvTransposeBn2d.forward ConvTransposeBnRelu2d ConvTransposeBnRelu2d.forward
megengine.module.deformable_psroi_pooling
    DeformablePSROIPooling DeformablePSROIPooling.forward
megengine.module.dropout
    Dropout Dropout.forward
megengine.module.elemwise
    Elemwise Elemwise.forward
megengine.module.embedding
    Embedding Embedding.forward Embedding.from_pretrained Embedding.reset_parameters
megengine.module.external
    AtlasRuntimeSubgraph AtlasRuntimeSubgraph.data AtlasRuntimeSubgraph.forward
    CambriconRuntimeSubgraph CambriconRuntimeSubgraph.data CambriconRuntimeSubgraph.forward
    ExternOprSubgraph ExternOprSubgraph.data ExternOprSubgraph.forward ExternOprSubgraph.name
    MagicMindRuntimeSubgraph MagicMindRuntimeSubgraph.data MagicMindRuntimeSubgraph.forward
    TensorrtRuntimeSubgraph TensorrtRuntimeSubgraph.data TensorrtRuntimeSubgraph.forward
megengine.module.identity
    Identity Identity.forward
megengine.module.init
    calculate_correct_fan calculate_fan_in_and_fan_out calculate_gain fill_ msra_normal_
    msra_uniform_ normal_ ones_ uniform_ xavier_normal_ xavier_uniform_ zeros_
megengine.module.linear
    Linear Linear.calc_linear Linear.forward Linear.reset_parameters LinearRelu LinearRelu.forward
megengine.module.linear_bn
    LinearBn1d LinearBn1d.forward LinearBnRelu1d LinearBnRelu1d.forward
megengine.module.lrn
    LocalResponseNorm LocalResponseNorm.forward
megengine.module.module
    Module Module.__call__ Module.apply Module.buffers Module.children Module.disable_quantize
    Module.eval Module.forward Module.load_state_dict Module.modules Module.named_buffers
    Module.named_children Module.named_modules Module.named_parameters Module.named_tensors
    Module.parameters Module.register_forward_hook Module.register_forward_pre_hook
    Module.replace_param Module.state_dict Module.tensors Module.train Module.zero_grad
megengine.module.multiheadattn
    MultiHeadAttention MultiHeadAttention.forward MultiHeadAttention.reset_parameters
megengine.module.normalization
    GeneralNorm GeneralNorm.forward GeneralNorm.reset_parameters GroupNorm GroupNorm.forward
    GroupNorm.reset_parameters InstanceNorm InstanceNorm.forward InstanceNorm.reset_parameters
    LayerNorm LayerNorm.forward LayerNorm.reset_parameters
megengine.module.padding
    Pad Pad.forward
megengine.module.pixel_shuffle
    PixelShuffle PixelShuffle.forward
megengine.module.pooling
    AvgPool2d AvgPool2d.forward MaxPool2d MaxPool2d.forward
megengine.module.qat.batch_matmul_activation
    BatchMatMulActivation BatchMatMulActivation.forward BatchMatMulActivation.from_float_module
megengine.module.qat.concat
    Concat Concat.forward Concat.from_float_module
megengine.module.qat.conv
    Conv2d Conv2d.calc_conv_qat Conv2d.forward Conv2d.from_float_module ConvRelu2d
    ConvRelu2d.forward ConvTranspose2d ConvTranspose2d.calc_conv_transpose2d_qat
    ConvTranspose2d.forward ConvTranspose2d.from_float_module ConvTransposeRelu2d
    ConvTransposeRelu2d.forward
megengine.module.qat.conv_bn
    ConvBn2d ConvBn2d.forward ConvBnRelu2d ConvBnRelu2d.forward
megengine.module.qat.conv_transpose_bn
    ConvTransposeBn2d ConvTransposeBn2d.forward ConvTransposeBnRelu2d ConvTransposeBnRelu2d.forward
megengine.module.qat.elemwise
    Elemwise Elemwise.forward Elemwise.from_float_module
megengine.module.qat.linear
    Linear Linear.calc_linear_qat Linear.forward Linear.from_float_module LinearRelu
    LinearRelu.forward
megengine.module.qat.linear_bn
    LinearBn1d LinearBn1d.forward LinearBnRelu1d LinearBnRelu1d.forward
megengine.module.qat.module
    QATModule QATModule.apply_quant_activation QATModule.apply_quant_bias
    QATModule.apply_quant_weight QATModule.from_float_module QATModule.get_activation_dtype
    QATModule.get_activation_qparams QATModule.get_weight_dtype QATModule.get_weight_qparams
    QATModule.set_fake_quant QATModule.set_observer QATModule.set_qconfig
megengine.module.qat.quant_dequant
    DequantStub DequantStub.forward DequantStub.from_float_module QuantStub QuantStub.forward
    QuantStub.from_float_module
megengine.module.quant_dequant
    DequantStub DequantStub.forward QuantStub QuantStub.forward
megengine.module.quantized.batch_matmul_activation
    BatchMatMulActivation BatchMatMulActivation.calc_bmm_quantized BatchMatMulActivation.forward
    BatchMatMulActivation.from_qat_module
megengine.module.quantized.concat
    Concat Concat.forward Concat.from_qat_module
megengine.module.quantized.conv
    Conv2d Conv2d.calc_conv_quantized Conv2d.forward Conv2d.from_qat_module ConvRelu2d
    ConvRelu2d.forward ConvTranspose2d ConvTranspose2d.calc_conv_transpose2d_quantized
    ConvTranspose2d.forward ConvTranspose2d.from_qat_module ConvTransposeRelu2d
    ConvTransposeRelu2d.forward
megengine.module.quantized.conv_bn
    ConvBn2d ConvBn2d.forward ConvBnRelu2d ConvBnRelu2d.forward
megengine.module.quantized.conv_transpose_bn
    ConvTransposeBn2d ConvTransposeBn2d.forward ConvTransposeBnRelu2d ConvTransposeBnRelu2d.forward
megengine.module.quantized.elemwise
    Elemwise Elemwise.forward Elemwise.from_qat_module
megengine.module.quantized.linear
    Linear Linear.calc_linear_quantized Linear.forward Linear.from_qat_module LinearRelu
    LinearRelu.forward
megengine.module.quantized.linear_bn
    LinearBn1d LinearBn1d.forward LinearBnRelu1d LinearBnRelu1d.forward
megengine.module.quantized.module
    QuantizedModule QuantizedModule.__call__ QuantizedModule.from_qat_module
megengine.module.quantized.quant_dequant
    DequantStub DequantStub.forward DequantStub.from_qat_module QuantStub QuantStub.forward
    QuantStub.from_qat_module
megengine.module.rnn
    LSTM LSTM.apply_op LSTM.create_cell LSTM.get_output_from_hidden LSTM.init_hidden LSTMCell
    LSTMCell.forward RNN RNN.apply_op RNN.create_cell RNN.get_output_from_hidden RNN.init_hidden
    RNNBase RNNBase.apply_op RNNBase.create_cell RNNBase.forward RNNBase.get_output_from_hidden
    RNNBase.init_hidden RNNBase.reset_parameters RNNCell RNNCell.forward RNNCellBase
    RNNCellBase.forward RNNCellBase.reset_parameters
megengine.module.sequential
    Sequential Sequential.__delitem__ Sequential.__getitem__ Sequential.__iter__ Sequential.__len__
    Sequential.__setitem__ Sequential.forward Sequential.layer_values
megengine.module.sliding_window
    SlidingWindow SlidingWindow.forward SlidingWindowTranspose SlidingWindowTranspose.forward
megengine.module.vision
    ActiveBlur ActiveBlur.forward ActiveBlur.get_kernel AdditiveElemwise AdditiveElemwise.forward
    AdditiveElemwise.per_channel AdditiveElemwise.sample AdditiveGaussianNoise
    AdditiveGaussianNoise.sample AdditiveGaussianNoise.seed AdditiveLaplaceNoise
    AdditiveLaplaceNoise.sample AdditiveLaplaceNoise.seed AdditivePoissonNoise
    AdditivePoissonNoise.sample AdditivePoissonNoise.seed CropAndPad CropAndPad.forward Cutmix
    Cutmix.forward Cutmix.sample Dilation Dilation.forward Emboss Emboss.get_kernel FillPoly
    FillPoly.forward Flip Flip.forward GaussianBlur GaussianBlur.forward LinearContrast
    LinearContrast.forward Mixup Mixup.forward Mixup.sample RandomHorizontalFlip
    RandomHorizontalFlip.forward RandomVerticalFlip RandomVerticalFlip.forward Remap Remap.forward
    Resize Resize.forward Rot90 Rot90.forward Rotate Rotate.forward Sharpen Sharpen.get_kernel
megengine.optimizer.adadelta
    Adadelta
megengine.optimizer.adagrad
    Adagrad
megengine.optimizer.adam
    Adam
megengine.optimizer.adamw
    AdamW
megengine.optimizer.clip_grad
    clip_grad_norm clip_grad_value
megengine.optimizer.lamb
    LAMB LAMBFp16
megengine.optimizer.lr_scheduler
    LRScheduler LRScheduler.get_lr LRScheduler.load_state_dict LRScheduler.state_dict
    LRScheduler.step
megengine.optimizer.multi_step_lr
    MultiStepLR MultiStepLR.get_lr MultiStepLR.load_state_dict MultiStepLR.state_dict
megengine.optimizer.optimizer
    Optimizer Optimizer.add_param_group Optimizer.backward Optimizer.bcast_param
    Optimizer.clear_grad Optimizer.load_state_dict Optimizer.state_dict Optimizer.step
    Optimizer.zero_grad
megengine.optimizer.sgd
    SGD
megengine.quantization.fake_quant
    FakeQuantize FakeQuantize.fake_quant_forward LSQ LSQ.fake_quant_forward LSQ.get_qparams
    LSQ.set_qparams TQT TQT.fake_quant_forward TQT.get_qparams TQT.set_qparams
megengine.quantization.observer
    ExponentialMovingAverageObserver ExponentialMovingAverageObserver.forward
    ExponentialMovingAverageObserver.set_momentum HistogramObserver HistogramObserver.forward
    HistogramObserver.get_qparams HistogramObserver.sideeffect_forward MinMaxObserver
    MinMaxObserver.forward MinMaxObserver.get_qparams Observer Observer.disable Observer.enable
    Observer.forward Observer.train PassiveObserver PassiveObserver.forward
    PassiveObserver.get_qparams PassiveObserver.scale PassiveObserver.set_qparams
    SyncExponentialMovingAverageObserver SyncExponentialMovingAverageObserver.forward
    SyncMinMaxObserver SyncMinMaxObserver.forward
megengine.quantization.qconfig
    QConfig calibration_qconfig easyquant_qconfig ema_fakequant_qconfig ema_lowbit_fakequant_qconfig
    min_max_fakequant_qconfig passive_qconfig sync_ema_fakequant_qconfig tqt_qconfig
megengine.quantization.quantize
    apply_easy_quant disable_fake_quant disable_observer enable_fake_quant enable_observer
    hook_qat_module propagate_qconfig quantize quantize_qat reset_qconfig
megengine.quantization.utils
    LSQParams QParams QParams.update QParamsModuleMixin QParamsModuleMixin.get_qparams
    QParamsModuleMixin.get_quantized_dtype QuantMode QuantMode.ASYMMERTIC QuantMode.SYMMERTIC Round
    Round.backward Round.forward create_qparams fake_quant_bias fake_quant_tensor lsq_forward
    tqt_forward
megengine.random
    beta exponential gamma multinomial normal permutation poisson shuffle uniform
megengine.random.rng
    RNG RNG.beta RNG.exponential RNG.gamma RNG.multinomial RNG.normal RNG.permutation RNG.poisson
    RNG.shuffle RNG.uniform seed
megengine.serialization
    load save
megengine.tensor
    Parameter Tensor Tensor.T Tensor.__abs__ Tensor.__add__ Tensor.__and__ Tensor.__array__
    Tensor.__array_wrap__ Tensor.__bool__ Tensor.__ceil__ Tensor.__complex__ Tensor.__contains__
    Tensor.__dlpack__ Tensor.__eq__ Tensor.__float__ Tensor.__floor__ Tensor.__floordiv__
    Tensor.__ge__ Tensor.__getitem__ Tensor.__getnewargs__ Tensor.__getstate__ Tensor.__gt__
    Tensor.__hash__ Tensor.__iadd__ Tensor.__iand__ Tensor.__ifloordiv__ Tensor.__ilshift__
    Tensor.__imatmul__ Tensor.__imod__ Tensor.__imul__ Tensor.__index__ Tensor.__int__
    Tensor.__invert__ Tensor.__ior__ Tensor.__ipow__ Tensor.__irshift__ Tensor.__isub__
    Tensor.__iter__ Tensor.__itruediv__ Tensor.__ixor__ Tensor.__le__ Tensor.__len__
    Tensor.__lshift__ Tensor.__lt__ Tensor.__matmul__ Tensor.__mod__ Tensor.__mul__ Tensor.__ne__
    Tensor.__neg__ Tensor.__or__ Tensor.__pos__ Tensor.__pow__ Tensor.__radd__ Tensor.__rand__
    Tensor.__repr__ Tensor.__rfloordiv__ Tensor.__rlshift__ Tensor.__rmatmul__ Tensor.__rmod__
    Tensor.__rmul__ Tensor.__ror__ Tensor.__round__ Tensor.__rpow__ Tensor.__rrshift__
    Tensor.__rshift__ Tensor.__rsub__ Tensor.__rtruediv__ Tensor.__rxor__ Tensor.__setitem__
    Tensor.__setstate__ Tensor.__sub__ Tensor.__truediv__ Tensor.__trunc__ Tensor.__xor__
    Tensor._reset Tensor._tuple_shape Tensor.astype Tensor.detach Tensor.device Tensor.dmap_callback
    Tensor.dtype Tensor.flatten Tensor.format Tensor.grad Tensor.graph Tensor.item Tensor.max
    Tensor.mean Tensor.min Tensor.name Tensor.ndim Tensor.numpy Tensor.prod Tensor.qparams
    Tensor.requires_grad Tensor.reset_zero Tensor.reshape Tensor.set_value Tensor.shape Tensor.size
    Tensor.sum Tensor.to Tensor.tolist Tensor.transpose Tensor.value_id Tensor.var
megengine.tools.accuracy_shake_var_tree
    get_dependence main parse varNode varNode.get_dependence_list varNode.get_reference_list
    varNode.get_varNode varNode.show_src_info
megengine.tools.benchmark_op
    get_avg_time get_perf_results perf_func
megengine.tools.compare_binary_iodump
    check load_tensor_binary main
megengine.tools.draw_graph
    main
megengine.tools.graph_info_analyze
    comp_graph_plotter convert load_mem_info load_single_graph main peak_mem_regist
megengine.tools.load_network_and_run
    get_execution_strategy get_opt_kwargs main make_data_given_desc run_model
megengine.tools.network_visualize
    main visualize
megengine.tools.profile_analyze
    main
megengine.tools.profiler
    main run_module run_script
megengine.tools.svg_viewer
    main
megengine.traced_module
    optimize register_supported_type
megengine.traced_module.expr
    Apply Apply.apply_module_trace_hook Apply.interpret Apply.make CallFunction
    CallFunction.interpret CallFunction.make CallMethod CallMethod.graph CallMethod.interpret
    CallMethod.make Constant Constant.interpret Constant.make Expr Expr.add_inputs Expr.add_outputs
    Expr.args Expr.disable_remove Expr.enable_remove Expr.kwargs Expr.named_args Expr.replace_inputs
    Expr.return_val Expr.set_arg Expr.set_args_kwargs Expr.top_graph Expr.unflatten_args GetAttr
    GetAttr.interpret GetAttr.make Input Input.make get_suffix_name is_apply_def is_call_function
    is_call_module is_call_tensor_method is_constant is_getattr is_input rstrip
megengine.traced_module.fake_quant
    FakeQuantize FakeQuantize.fake_quant_forward FakeQuantize.get_qparams FakeQuantize.set_qparams
megengine.traced_module.node
    ModuleNode ModuleNode.owner Node Node.name Node.qualname Node.top_graph NodeMixin
    NodeMixin.clear_node NodeMixin.get NodeMixin.get_wrapped_type NodeMixin.wrap NodeMixin.wrap_safe
    TensorNode TensorNode.device TensorNode.dtype TensorNode.qparams TensorNode.shape
    TensorNode.value
megengine.traced_module.serialization
    FUNCTIONAL_LOADER MODULE_LOADER OPDEF_LOADER TENSORMETHOD_LOADER load_apply_expr
    load_call_module_expr load_call_tensor_method_expr load_functional register_functional_loader
    register_module_loader register_opdef_loader register_tensor_method_loader
megengine.traced_module.tm_config
    disable_default_checker enable_expr_checker
megengine.traced_module.traced_module
    BaseFilter BaseFilter.__iter__ BaseFilter.as_count BaseFilter.as_dict BaseFilter.as_list
    BaseFilter.as_unique ExprFilter ExprFilter.call_function ExprFilter.call_method
    ExprFilter.expr_id ExprFilterCallFunction ExprFilterCallFunction.__iter__ ExprFilterCallMethod
    ExprFilterCallMethod.__iter__ ExprFilterExprId ExprFilterExprId.__iter__ InternalGraph
    InternalGraph.add_input_node InternalGraph.add_output_node InternalGraph.compile
    InternalGraph.eval InternalGraph.exprs InternalGraph.get_dep_exprs InternalGraph.get_expr_by_id
    InternalGraph.get_function_by_type InternalGraph.get_method_by_type
    InternalGraph.get_module_by_type InternalGraph.get_node_by_id InternalGraph.get_node_by_name
    InternalGraph.inputs InternalGraph.insert_exprs InternalGraph.interpret InternalGraph.name
    InternalGraph.nodes InternalGraph.outputs InternalGraph.qualname InternalGraph.replace_node
    InternalGraph.reset_inputs InternalGraph.reset_outputs InternalGraph.top_graph NameSpace
    NameSpace.associate_name_with_obj NameSpace.auto_naming_for_outputs NameSpace.create_unique_name
    NameSpace.merge NameSpace.unassociate_name_with_obj NameSpace.used_names NodeFilter
    NodeFilter.name NodeFilter.node_id NodeFilter.type NodeFilterName NodeFilterName.__iter__
    NodeFilterName.make_re NodeFilterNodeId NodeFilterNodeId.__iter__ NodeFilterType
    NodeFilterType.__iter__ TracedModule TracedModule.clear_end_points
    TracedModule.clear_watch_points TracedModule.flatten TracedModule.forward TracedModule.graph
    TracedModule.set_end_points TracedModule.set_watch_points TracedModuleBuilder
    TracedModuleBuilder.__call__ TracedModuleBuilder.build cpp_apply_module_trace
    register_as_builtin trace_module wrap
megengine.traced_module.utils
    get_subattr
megengine.utils.bn_fusion
    fold_weight_bias fuse_conv_bn_relu_module fuse_linear_bn_relu_module
megengine.utils.comp_graph_tools
    GraphInference GraphInference.run convert_inputs convert_outputs embed_inputs find_vars_by_name
    get_dep_vars get_opr_type get_oprs_seq get_owner_opr_inputs get_owner_opr_type graph_traversal
    replace_oprs replace_vars
megengine.utils.custom_op_tools
    FileBaton FileBaton.release FileBaton.try_acquire FileBaton.wait Versioner
    Versioner.bump_version_if_changed Versioner.get_version build build_and_load hash_build_args
    hash_source_files update_hash version_check
megengine.utils.dlpack
    from_dlpack to_dlpack
megengine.utils.hook
    HookHandler HookHandler.remove
megengine.utils.http_download
    Bar Bar.__call__ HTTPDownloadError download_from_url
megengine.utils.module_stats
    dict2table disable_receptive_field enable_receptive_field get_activation_stats get_op_stats
    get_param_stats hook_modules module_stats preprocess_receptive_field print_activations_stats
    print_op_stats print_param_stats print_summary register_flops register_hook_module
    register_receptive_field sizeof_fmt sum_activations_stats sum_op_stats sum_param_stats
megengine.utils.module_utils
    get_expand_structure set_expand_structure set_module_mode_safe
megengine.utils.naming
    AutoNaming AutoNaming.clear
megengine.utils.network
    Network Network.add_dep_oprs Network.add_output Network.all_oprs Network.all_oprs_dict
    Network.all_vars Network.all_vars_dict Network.data_providers_filter Network.dest_vars
    Network.dump Network.get_dep_oprs Network.get_opr_by_name Network.get_opr_by_type
    Network.get_var_by_name Network.get_var_receive_oprs Network.load Network.make_const
    Network.make_input_node Network.metadata Network.modify_opr_names Network.opr_filter
    Network.optimize_for_inference Network.params_filter Network.remove_output Network.replace_oprs
    Network.replace_vars Network.reset_batch_size Network.var_filter NodeFilter NodeFilter.__iter__
    NodeFilter.as_count NodeFilter.as_dict NodeFilter.as_list NodeFilter.as_unique
    NodeFilter.check_type NodeFilter.data_provider NodeFilter.has_input NodeFilter.make_all_deps
    NodeFilter.name NodeFilter.not_type NodeFilter.param_provider NodeFilter.type
    NodeFilterCheckType NodeFilterCheckType.__iter__ NodeFilterHasInput NodeFilterHasInput.__iter__
    NodeFilterName NodeFilterName.__iter__ NodeFilterName.make_re NodeFilterNotType
    NodeFilterNotType.__iter__ NodeFilterType NodeFilterType.__iter__ as_oprnode as_varnode
    set_symbolic_shape
megengine.utils.network_node
    AdaptivePoolingForward Argmax Argmin ArgsortForward AssertEqual AxisAddRemove
    BatchConvBiasForward BatchNormForward BatchedIncrMeshIndexing BatchedMatrixMul
    BatchedMeshIndexing BatchedSetMeshIndexing Broadcast Concat CondTake ConstOpBase
    ConstOpBase.compile ConstOpBase.device ConstOpBase.dtype ConstOpBase.load ConstOpBase.numpy
    ConstOpBase.set_value ConstOpBase.shape ConvBiasForward ConvolutionBackwardData
    ConvolutionForward Copy CvtColorForward DeformableConvForward DeformablePSROIPoolingForward
    Dimshuffle Dot Elemwise ElemwiseMultiType Eye GetVarShape GroupLocalForward Host2DeviceCopy
    Host2DeviceCopy.compile Host2DeviceCopy.load Identity ImmutableTensor IncrMeshIndexing
    IncrSubtensor IndexingBase IndexingIncrMultiAxisVec IndexingMultiAxisVec IndexingOneHot
    IndexingSetMultiAxisVec IndexingSetOneHot Linspace MatrixInverse MatrixMul MeshIndexing NMSKeep
    NetworkNode NvOf OpNode OpNode.add_inp_var OpNode.add_out_var OpNode.compile OpNode.id
    OpNode.load OpNode.priority PoolingForward RNGOpr ROIAlignForward ROIPoolingForward
    ReadOnlyOpNode Reduce RemapForward Reshape ResizeForward SVD SetMeshIndexing SetSubtensor
    SharedDeviceTensor Subtensor TopK TypeCvt VarNode VarNode.graph VarNode.id VarNode.load
    VarNode.owner VarNode.partial_shape VarNode.set_owner_opr VarNode.shape VarNode.shapeof
    VarNode.users VarNode.var WarpAffineForward WarpPerspectiveForward str_to_mge_class
megengine.utils.persistent_cache
    PersistentCacheOnServer PersistentCacheOnServer.flush PersistentCacheOnServer.get_cache_dir
    PersistentCacheOnServer.get_cache_file PersistentCacheOnServer.get_redis_config
    PersistentCacheOnServer.lock_cache_file main
megengine.utils.profile_analyzer
    NonExistNum OprProfRst OprProfRst.update_device_prof_info OprProfRst.update_footprint
    OprProfRst.update_host_prof_info ProfileAnalyzer ProfileAnalyzer.select Record
    Record.get_column_by_name TimeFuncHelper TimeFuncHelper.eval_time_func
    TimeFuncHelper.max_end_func TimeFuncHelper.min_start_func
megengine.utils.profiler
    Profiler Profiler.__call__ Profiler.__enter__ Profiler.__exit__ Profiler.directory Profiler.dump
    Profiler.format_path Profiler.formats Profiler.path Profiler.start Profiler.step Profiler.stop
    is_profiling merge_trace_events profile scope
megengine.utils.tensorboard
    NodeRaw SummaryWriterExtend SummaryWriterExtend.add_graph_by_node_raw_list
    SummaryWriterExtend.add_node_raw SummaryWriterExtend.add_node_raw_attributes
    SummaryWriterExtend.add_node_raw_name_suffix SummaryWriterExtend.add_text attr_value_proto graph
    node node_proto tensor_shape_proto text
megengine.xla.build
    build_xla
"""


def _read(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, list[str]] = {}
    module: list[str] = []
    for line in text.strip().splitlines():
        if line.startswith(" "):
            module += line.split()
        else:
            module = found[line] = []
    return {name: frozenset(names) for name, names in found.items()}


INTERFACE = _read(_NAMES)
