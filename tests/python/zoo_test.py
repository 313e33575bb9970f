"""The networks of tilewright.testing: shapes, parameters, and that what they compute stays in range."""

import numpy as np
import pytest

import tilewright as tw
import tilewright.graph
import tilewright.symbol as sym
from tilewright.testing import utils, zoo

import numpy_graph

# Parameters of each network for images of its table and as many classes as papers have, moving statistics included.
# Those of vgg, squeezenet and mobilenet are the numbers that other frameworks report; batch_norm of data and before
# activations is NNVM's resnet alone.
PARAMETERS = {
    "convnet": 1_303_078,
    "mlp": 109_386,
    "resnet18": 11_699_892,
    "resnet34": 21_815_476,
    "resnet50": 25_595_060,
    "vgg11": 132_863_336,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "vgg16_bn": 138_357_544 + 4 * 4_224,
    "mobilenet": 4_252_864,
    "mobilenet_v2": 3_504_872 + 2 * 17_056,
    "squeezenet": 1_235_496,
    "squeezenet1.0": 1_248_424,
}


def small(row):
    return (3, 64, 64) if row.image_shape[1] > 64 else row.image_shape


def images(shape, batch_size=1):
    return np.random.default_rng(0).standard_normal((batch_size, *shape)).astype("float32")


# The document's network gives the sum of its shares.
@pytest.mark.parametrize("name", [name for name in zoo.NETWORKS if name != "convnet"])
def test_networks(name):
    row = zoo.NETWORKS[name]
    shape = small(row)
    symbol, params = zoo.get(name, batch_size=2, image_shape=shape)
    graph = tw.graph.create(symbol)
    assert graph.index.input_names.count("data") == 1 and set(graph.index.input_names) == {"data", *params}
    names = [node["name"] for node in graph.index.nodes]
    assert len(set(names)) == len(names)
    assert not [n for n in names if n.startswith(("conv2d", "elemwise_add"))], "names are the network's, whatever was made before"

    (shares,) = numpy_graph.run(graph, {"data": images(shape, 2), **params})
    assert shares.shape == (2, row.arguments.get("num_classes", 1000)) and np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-4)
    # Neither all alike nor one for all, and of each image other ones.
    assert (shares.std(1) > 0.1 * shares.mean(1)).all() and shares.max() < 0.9
    assert abs(shares[0] - shares[1]).max() > 0.01 * shares.max()


@pytest.mark.parametrize("name", zoo.NETWORKS)
def test_sizes(name):
    row = zoo.NETWORKS[name]
    symbol = row.module.get_symbol(**row.arguments)
    shapes, ((*_, classes),) = tw.compiler.graph_util.infer_shape(tw.graph.create(symbol), data=(1, *row.image_shape))
    params = sum(int(np.prod(shape)) for shape in shapes) - int(np.prod(row.image_shape))
    assert params == PARAMETERS[name] and classes == (1 if name == "convnet" else row.arguments.get("num_classes", 1000))


def test_depth_does_not_change_the_range():
    symbol, params = tw.testing.resnet.get_workload(num_layers=50, image_shape=(3, 64, 64))
    graph = tw.graph.create(symbol)
    values = numpy_graph.run_all(graph, {"data": images((3, 64, 64)), **params})
    squares = [float(np.mean(np.square(outputs[0]))) for node, outputs in zip(graph.index.nodes, values, strict=True)
               if node["op"] == "batch_norm"]
    assert len(squares) == 51 and min(squares) > 0.1 and max(squares) < 20


def test_parameters_follow_from_the_seed():
    first, again, other = (zoo.get("mlp", seed=seed)[1] for seed in (3, 3, 4))
    assert all((first[n].numpy() == again[n].numpy()).all() for n in first)
    assert not any((first[n].numpy() == other[n].numpy()).all() for n in first)


def test_options():
    symbol, params = zoo.get("mobilenet", image_shape=(3, 32, 32), dtype="float16", multiplier=0.25, num_classes=7)
    assert params["conv_block_1_conv_weight"].shape == (8, 3, 3, 3) and params["fc_weight"].shape == (7, 256)
    assert {p.dtype for p in params.values()} == {"float16"}
    _, params = tw.testing.mobilenet_v2.get_workload(image_shape=(3, 32, 32), multiplier=0.5)
    assert params["block2_expand_conv_weight"].shape == (48, 8, 1, 1)
    _, params = tw.testing.resnet.get_workload(num_layers=20, image_shape=(3, 28, 28))
    assert params["stage3_unit3_conv2_weight"].shape == (64, 64, 3, 3)
    net = sym.dense(sym.Variable("data"), units=50, name="fc")
    _, params = utils.create_workload(net, 1, (200,), initializer=tw.testing.init.Xavier("gaussian", "avg", 3))
    assert abs(params["fc_weight"].numpy().var() * 125 - 1) < 0.05


@pytest.mark.parametrize(
    ("call", "code", "said"),
    [
        (lambda: zoo.get("resnet-50"), "bad-argument", "no network 'resnet-50'; the nearest is 'resnet50'"),
        (lambda: tw.testing.resnet.get_symbol(num_layers=19), "bad-argument", "a resnet of 19 layers"),
        (lambda: tw.testing.resnet.get_symbol(num_layers=18, image_shape=(3, 28, 28)), "bad-argument", "images of 28 rows"),
        (lambda: tw.testing.vgg.get_symbol(num_layers=12), "bad-argument", "a vgg of 12 layers"),
        (lambda: tw.testing.squeezenet.get_symbol(version="2"), "bad-argument", "version '2'"),
        (lambda: tw.testing.init.Xavier("normal"), "bad-argument", "rnd_type 'normal'"),
        (lambda: tw.testing.init.Xavier(factor_type="both"), "bad-argument", "factor_type 'both'"),
        (lambda: zoo.get("vgg11", image_shape=(3, 16, 16)), "shape-conflict", "window"),
    ],
)
def test_errors(call, code, said):
    with pytest.raises(tw.UserError, match=said) as error:
        call()
    assert error.value.code == code


def test_unknown_parameters_are_named():
    net = sym.broadcast_add(sym.Variable("data"), sym.Variable("offset", shape=(3,)))
    with pytest.raises(tw.UserError, match="nothing is known of the parameter 'offset'"):
        utils.create_workload(net, 1, (3,))
