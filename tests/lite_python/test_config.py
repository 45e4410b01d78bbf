# SPDX-License-Identifier: Apache-2.0
"""Configuration of networks: LiteOptions, LiteConfig, LiteIO, LiteNetworkIO; and the version."""

import re
from pathlib import Path

import pytest

from megenginelite import (
    LiteBackend,
    LiteConfig,
    LiteDeviceType,
    LiteExtraConfig,
    LiteIO,
    LiteIOType,
    LiteLayout,
    LiteLogLevel,
    LiteNetwork,
    LiteNetworkIO,
    LiteOptions,
    LiteTensor,
    get_log_level,
    set_log_level,
    version,
)

MODEL = Path(__file__).resolve().parents[1] / "data/megengine/mlp.v2.mge"


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)


def test_log_level():
    before = get_log_level()
    for level in LiteLogLevel:
        set_log_level(level)
        assert get_log_level() is level
    set_log_level(before)
    with pytest.raises(RuntimeError):
        set_log_level(9)
    assert get_log_level() == before


def test_options_by_default():
    options = LiteOptions()
    wanted = {"var_sanity_check_first_run": 1, "graph_opt_level": 2, "async_exec_level": 1}
    assert len(options._fields_) == 24
    for name, _ in options._fields_:
        assert getattr(options, name) == wanted.get(name, 0)


def test_options_are_printed():
    options = LiteOptions()
    options.const_shape = options.enable_nchw88 = 1
    printed = eval(str(options))
    assert len(printed) == 14
    assert printed["const_shape"] is True and printed["graph_opt_level"] == 2
    assert printed["enable_nchw88"] is True


def test_config():
    config = LiteConfig()
    assert (config.device_type, config.device_id) == (LiteDeviceType.LITE_CPU, 0)
    assert config.backend == LiteBackend.LITE_DEFAULT
    assert config.bare_model_cryption_name == "" and config.discrete_input_name == b""
    config.bare_model_cryption_name = b"nothing"
    assert config.bare_model_cryption_name == "nothing"
    config.bare_model_cryption_name = "AES_default"
    assert config.bare_model_cryption_name == "AES_default"
    for name in (b"data", "data"):
        config.discrete_input_name = name
        assert config.discrete_input_name == b"data"
    config.options.jit_level = 1
    assert config.options.jit_level == 1


def test_config_with_options():
    options = LiteOptions()
    options.weight_preprocess = 1
    config = LiteConfig(LiteDeviceType.LITE_CUDA, options)
    assert config.device_type == LiteDeviceType.LITE_CUDA
    assert config.options.weight_preprocess == 1
    config.device_id = 6
    assert "'device_id': 6" in str(config) and "LITE_CUDA" in str(config)


def test_extra_config():
    assert LiteExtraConfig().disable_configure_by_model_info == 0
    assert LiteExtraConfig(True).disable_configure_by_model_info == 1
    assert str(LiteExtraConfig(True)) == "{'disable_configure_by_model_info': True}"


def test_io():
    io = LiteIO("data", layout=LiteLayout([2, 4], "int8"))
    assert (io.name, io.is_host, io.io_type) == ("data", 1, LiteIOType.LITE_IO_VALUE)
    assert io.config_layout == LiteLayout([2, 4], "int8")
    assert LiteIO(b"data").name == "data"
    io.name = "other"
    assert io.name == "other"
    io.name = b"third"
    assert io.name == "third"
    assert hash(io) == hash("third")
    assert io == io and io != LiteIO("third")
    assert str(io).startswith("{'name': 'third', 'is_host': True, 'io_type': <LiteIOType.LITE_IO_V")


def test_network_io():
    io = LiteNetworkIO([LiteIO("data1", is_host=False)])
    io.add_input(
        LiteIO("data2", True, LiteIOType.LITE_IO_SHAPE, layout=LiteLayout([2, 4, 4])),
    )
    io.add_output("out1", is_host=False)
    io.add_output("out2", is_host=True, layout=LiteLayout([1, 1000]))
    assert [(i.name, i.is_host) for i in io.inputs] == [("data1", 0), ("data2", 1)]
    assert [(o.name, o.is_host) for o in io.outputs] == [("out1", 0), ("out2", 1)]
    assert io.inputs[1].io_type == LiteIOType.LITE_IO_SHAPE
    assert io.inputs[1].config_layout == LiteLayout([2, 4, 4])
    assert io.outputs[1].config_layout == LiteLayout([1, 1000])


def test_network_io_of_lists():
    io = LiteNetworkIO(
        [
            ["data1", False],
            ["data2", True, LiteIOType.LITE_IO_SHAPE, LiteLayout([2, 4, 4])],
            "data3",
        ],
        [["out1", False], LiteIO("out2")],
    )
    assert [i.name for i in io.inputs] == ["data1", "data2", "data3"]
    assert [o.is_host for o in io.outputs] == [0, 1]
    assert str(io).startswith("{'inputs': [{'name': 'data1', 'is_host': False,")


def test_network_io_for_c():
    io = LiteNetworkIO(["a", "b"], ["c"])
    arrays = io._create_network_io()
    assert (arrays.input_size, arrays.output_size) == (2, 1)
    assert [arrays.inputs[i].name for i in range(2)] == ["a", "b"]
    assert arrays.outputs[0].name == "c"
    empty = LiteNetworkIO()._create_network_io()
    assert (empty.input_size, empty.output_size) == (0, 0)


def test_two_of_one_name():
    for io in (LiteNetworkIO(["a", "a"]), LiteNetworkIO(outputs=["b", "b"])):
        with pytest.raises(RuntimeError, match="'?[ab]'?"):
            LiteNetwork(io=io).load(MODEL)


@pytest.mark.parametrize("name", ["LITE_ATLAS", "LITE_NPU", "LITE_CAMBRICON"])
def test_devices_that_are_not_built(name):
    with pytest.raises(RuntimeError, match=name.removeprefix("LITE_")):
        LiteNetwork(LiteConfig(LiteDeviceType[name])).load(MODEL)


def test_only_one_backend():
    config = LiteConfig()
    config.backend = 1
    with pytest.raises(RuntimeError, match="backend"):
        LiteNetwork(config)


def test_network_is_printed():
    assert str(LiteNetwork()).startswith("{'config': {'has_compression': False,")


def structs():
    io = LiteIO(b"\xff", io_type=LiteIOType.LITE_IO_SHAPE)
    return [
        LiteConfig(),
        LiteOptions(),
        LiteExtraConfig(),
        io,
        LiteLayout([2]),
        LiteNetworkIO([io]),
    ]


@pytest.mark.parametrize("struct", structs(), ids=lambda struct: type(struct).__name__)
def test_missing_attributes(struct):
    for name in ("device_typ", "options_", "no_such"):
        with pytest.raises(AttributeError, match=name):
            setattr(struct, name, 1)
        with pytest.raises(AttributeError, match=name):
            getattr(struct, name)


def test_an_unknown_attribute_lists_the_known():
    with pytest.raises(AttributeError, match="LiteConfig has no attribute.*device_type.*backend"):
        LiteConfig().device_typ = 1


def test_every_struct_field_is_printed():
    config, io, layout = LiteConfig(), LiteIO(b"\xff"), LiteLayout([2])
    config.device_type, config.backend = 99, 5
    config.bare_model_cryption_name = config.discrete_input_name = b"\xff"
    io.io_type, io.config_layout.data_type = 9, -1
    layout.data_type, layout.ndim = 77, 99
    assert "'device_type': 99" in repr(config) and "'backend': 5" in repr(config)
    assert "'io_type': 9" in repr(LiteNetworkIO([io])) and "'data_type': -1" in repr(io)
    assert "'data_type': 77" in repr(layout)
    assert "99" in repr(LiteNetwork(LiteConfig(), LiteNetworkIO([LiteIO("99")])))
    assert repr(LiteTensor(physic_construct=False))


def test_non_text_names_round_trip():
    io = LiteIO(b"a\xff")
    assert LiteIO(io.name)._name == b"a\xff" and LiteIO("\u4e2d").name == "\u4e2d"


def test_errors_begin_with_the_cause():
    with pytest.raises(RuntimeError, match="^forward: no model"):
        LiteNetwork().forward()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("precision", 3, "precision 3"), ("weight_bits", 5, "weight_bits"), ("precision", -1, "-1")],
)
def test_numbers_outside_the_range_of_options(name, value, message):
    options = LiteOptions()
    setattr(options, name, value)
    assert f"'{name}': {value}" in repr(options)
    with pytest.raises(RuntimeError, match=message):
        LiteNetwork(LiteConfig(option=options)).load(MODEL)
