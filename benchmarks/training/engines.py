# SPDX-License-Identifier: Apache-2.0
"""The engines of the benchmark: the functions nets are made of, and a training step over them."""

from nets import HEADS, LEARNING_RATE, MOMENTUM, TASKS, WIDTH, batch_of

ATTENTION_SCALE = (WIDTH // HEADS) ** -0.5


class Mge:
    """MGE: eager, traced; with measured kernels (fastrun), computing again (recompute)."""

    variants = ("eager", "trace", "fastrun", "recompute")

    def __init__(self, device="cpu"):
        import megengine as mge
        import megengine.functional as F

        mge.set_default_device("xpux" if device == "cpu" else "gpu0")
        self.mge, self.F = mge, F
        self.relu, self.gelu, self.linear = F.relu, F.gelu, F.linear
        self.max_pool2d, self.transpose = F.max_pool2d, F.transpose
        self.version = mge.engine_version

    def conv2d(self, x, weight, bias, stride=1, padding=0):
        return self.F.conv2d(x, weight, bias, stride=stride, padding=padding)

    def batch_norm(self, x, scale, shift, mean, variance):
        # Statistics are written in place, as by the module.
        return self.F.batch_norm(x, mean, variance, scale, shift, training=True, momentum=0.9)

    def layer_norm(self, x, scale, shift):
        return self.F.layer_norm(x, (WIDTH,), True, scale, shift)

    def embedding(self, words, table):
        return self.F.embedding(words, table)

    def attention(self, query, key, value):
        scores = self.F.matmul(query, key, transpose_b=True) * ATTENTION_SCALE
        return self.F.matmul(self.F.softmax(scores, axis=-1), value)

    def trainer(self, name, variant, half):
        """Return a function that does a step and returns the loss."""
        from megengine import amp, autodiff, jit, optimizer

        mge, task = self.mge, TASKS[name]
        state = {
            key: mge.Tensor(value.reshape(self._shape(key, value, task)))
            if "running" in key
            else mge.Parameter(value.reshape(self._shape(key, value, task)))
            for key, value in task.state().items()
        }
        parameters = [p for p in state.values() if isinstance(p, mge.Parameter)]
        manager = autodiff.GradManager().attach(parameters)
        kinds = {
            "sgd": lambda p, lr: optimizer.SGD(p, lr=lr, momentum=MOMENTUM),
            "adam": lambda p, lr: optimizer.Adam(p, lr=lr),
        }
        update = kinds[task.optimizer](parameters, LEARNING_RATE[task.optimizer])

        def step(x, labels):
            with manager:
                with amp.autocast(enabled=half, low_prec_dtype="bfloat16"):
                    logits = task.net(self, state, x)
                loss = self.F.nn.cross_entropy(logits.astype("float32"), labels)
                manager.backward(loss)
            update.step().clear_grad()
            return loss

        if variant == "fastrun":
            mge.config.benchmark_kernel = True
        memory = jit.SublinearMemoryConfig() if variant == "recompute" else None
        traced = jit.trace(step, symbolic=True, sublinear_memory_config=memory)
        run = step if variant == "eager" else traced
        x, labels = (mge.Tensor(array) for array in batch_of(name))
        return lambda: float(run(x, labels).item())

    @staticmethod
    def _shape(key, value, task):
        """Vectors of convolutions and of batch norms have the axes of images here."""
        is_channels = value.ndim == 1 and ("conv" in key or ("norm" in key and task.image))
        return (1, value.size, 1, 1) if is_channels else value.shape


class Torch:
    """PyTorch: eager, with images channels-last, compiled; in double precision (float64)."""

    variants = ("eager", "channels_last", "compile", "float64")

    def __init__(self, device="cpu"):
        import torch
        from torch.nn import functional as F

        self.torch = torch
        self.relu, self.gelu, self.linear, self.embedding = F.relu, F.gelu, F.linear, F.embedding
        self.conv2d, self.max_pool2d, self.transpose = F.conv2d, F.max_pool2d, torch.permute
        self.attention, self.F = F.scaled_dot_product_attention, F
        torch.backends.cudnn.allow_tf32 = False  # on by default; ours are strict
        self.version, self.device = torch.__version__, "cpu" if device == "cpu" else "cuda"

    def batch_norm(self, x, scale, shift, mean, variance):
        return self.F.batch_norm(x, mean, variance, scale, shift, training=True)

    def layer_norm(self, x, scale, shift):
        return self.F.layer_norm(x, (WIDTH,), scale, shift)

    def trainer(self, name, variant, half):
        """Return a function that does a step and returns the loss."""
        torch, task, is_exact = self.torch, TASKS[name], variant == "float64"
        place = {"device": self.device}
        state = {k: torch.from_numpy(v.copy()).to(**place) for k, v in task.state().items()}
        x, labels = (torch.from_numpy(array).to(**place) for array in batch_of(name))
        if is_exact:
            x = x.double() if x.is_floating_point() else x
            state = {key: value.double() for key, value in state.items()}
        if variant == "channels_last":
            x, state = self._channels_last(x), {k: self._channels_last(v) for k, v in state.items()}
        parameters = [v.requires_grad_() for k, v in state.items() if "running" not in k]
        kinds = {
            "sgd": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=MOMENTUM),
            "adam": lambda p, lr: torch.optim.Adam(p, lr=lr),
        }
        update = kinds[task.optimizer](parameters, LEARNING_RATE[task.optimizer])
        labels = labels.long()

        def loss_of(x, labels):
            with torch.autocast(self.device, enabled=half and not is_exact, dtype=torch.bfloat16):
                logits = task.net(self, state, x)
            return self.F.cross_entropy(logits if is_exact else logits.float(), labels)

        compute = torch.compile(loss_of) if variant == "compile" else loss_of

        def step():
            update.zero_grad()
            loss = compute(x, labels)
            loss.backward()
            update.step()
            return loss.item()

        return step

    def _channels_last(self, tensor):
        if tensor.dim() != 4:
            return tensor
        return tensor.to(memory_format=self.torch.channels_last)


ENGINES = {"mge": Mge, "torch": Torch}
