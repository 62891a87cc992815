#!/usr/bin/env python3
"""The five layers of `gemel bench conv`, and two networks with their gradients, in gemel and in PyTorch.

PyTorch runs them row-major and with channels last. For each layer and pass gemel is timed (`gemel bench conv --json -`), then PyTorch in this process on as many
threads; the best of each counts. One table: GF/s, and how many times as fast gemel is as the faster of
PyTorch's two layouts. Then a LeNet for digits of 8 * 8 (batch 64) and ResNet-18 for images of 64 * 64 (batch 8, random
weights, batch normalisation of the batch): loss and gradients by all parameters, by `gemel grad` and `gemel bench FILE`
and by PyTorch's autograd, eagerly, in milliseconds.

Python 3.9 or later; torch from PyPI. Never needed to build or test gemel. SPDX-License-Identifier: MIT
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

LAYERS = {"L1": (3, 96, 11, 128), "L2": (64, 128, 9, 64), "L3": (128, 128, 9, 32), "L4": (128, 128, 7, 16),
          "L5": (384, 384, 3, 13)}
PASSES = ("forward", "grad weights", "grad inputs")


def best(run, seconds):
    """The shortest of the runs that fit into SECONDS, at least three."""
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def pass_of(torch, x, w, y, which):
    if which == "forward":
        return lambda: torch.nn.functional.conv2d(x, w)
    mask = [which == "grad inputs", which == "grad weights", False]
    return lambda: torch.ops.aten.convolution_backward(y, x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, mask)


def by_torch(torch, layer, batch, which, seconds):
    """GF/s row-major and with channels last."""
    channels, filters, kernel, image = layer
    places = image - kernel + 1
    flops = 2 * batch * channels * filters * kernel**2 * places**2
    rates = []
    for layout in (torch.contiguous_format, torch.channels_last):
        x = torch.rand(batch, channels, image, image).to(memory_format=layout)
        w = torch.rand(filters, channels, kernel, kernel).to(memory_format=layout)
        y = torch.rand(batch, filters, places, places).to(memory_format=layout)
        with torch.no_grad():
            rates.append(flops / best(pass_of(torch, x, w, y, which), seconds) * 1e-9)
    return rates


def by_gemel(gemel, name, threads, milliseconds):
    out = subprocess.run([gemel, "bench", "conv", "--case", name, "--threads", str(threads), "--time",
                          str(milliseconds), "--json", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rows = [json.loads(line) for line in out.stdout.splitlines()]
    return {row["metric"]: row["value"] for row in rows}


# ---- Networks ----


class Network:
    """The text of a network's loss, and the shapes of its parameters, in the order of PyTorch's."""

    def __init__(self, name, batch, image):
        self.name, self.batch, self.shapes, self.lines, self.values = name, batch, {}, [], 0
        self.inputs = [f"images: f32[{batch}, {', '.join(map(str, image))}]", f"labels: i64[{batch}]"]

    def parameter(self, *shape):
        name = f"p{len(self.shapes)}"
        self.shapes[name] = shape
        return name

    def let(self, expression):
        self.values += 1
        self.lines.append(f"  v{self.values} = {expression}")
        return f"v{self.values}"

    def conv(self, x, channels, filters, kernel, stride=1, bias=False):
        w, pad = self.parameter(filters, channels, kernel, kernel), kernel // 2
        y = f"corr({x}, {w}, stride = [{stride}, {stride}], low = [{pad}, {pad}], high = [{pad}, {pad}])"
        if bias:
            y += f" + dimshuffle({self.parameter(filters)}, order = [0, -1, -1])"
        return self.let(y)

    def norm(self, x, channels, count):
        gamma, beta = self.parameter(channels), self.parameter(channels)
        mean = self.let(f"sum({x}, axes = [0, 2, 3], keepdims = 1) * {1 / count!r}")
        centred = self.let(f"{x} - {mean}")
        variance = self.let(f"sum({centred} * {centred}, axes = [0, 2, 3], keepdims = 1) * {1 / count!r}")
        scale = self.let(f"dimshuffle({gamma}, order = [0, -1, -1]) / sqrt({variance} + 1e-5)")
        return self.let(f"{centred} * {scale} + dimshuffle({beta}, order = [0, -1, -1])")

    def linear(self, x, inputs, outputs):
        w, b = self.parameter(outputs, inputs), self.parameter(outputs)
        return self.let(f"dot({x}, dimshuffle({w}, order = [1, 0])) + {b}")

    def text(self, logits):
        inputs = self.inputs + [f"{n}: f32[{', '.join(map(str, s))}]" for n, s in self.shapes.items()]
        self.lines.append(f"  return loss = sum(cross_entropy({logits}, labels)) * {1 / self.batch!r}")
        return f"graph {self.name}({', '.join(inputs)}) {{\n" + "\n".join(self.lines) + "\n}\n"


def lenet_text():
    n, pool = Network("lenet", 64, (1, 8, 8)), "size = [2, 2], stride = [2, 2]"
    x = n.let(f"max_pool(relu({n.conv('images', 1, 16, 3, bias=True)}), {pool})")
    x = n.let(f"max_pool(relu({n.conv(x, 16, 32, 3, bias=True)}), {pool})")
    return n, n.text(n.linear(n.let(f"reshape({x}, shape = [64, 128])"), 128, 10))


def lenet_torch(nn):
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 10))


STAGES = ((64, 64, 1, 16), (64, 128, 2, 8), (128, 256, 2, 4), (256, 512, 2, 2))


def resnet_text():
    n = Network("resnet18", 8, (3, 64, 64))
    x = n.let(f"relu({n.norm(n.conv('images', 3, 64, 7, 2), 64, 8 * 32 * 32)})")
    x = n.let(f"max_pool({x}, size = [3, 3], stride = [2, 2], low = [1, 1], high = [1, 1])")
    for channels, filters, stride, places in STAGES:
        for block in range(2):
            c, s, count = (channels, stride, 8 * places**2) if block == 0 else (filters, 1, 8 * places**2)
            y = n.let(f"relu({n.norm(n.conv(x, c, filters, 3, s), filters, count)})")
            y = n.norm(n.conv(y, filters, filters, 3), filters, count)
            if c != filters:
                x = n.norm(n.conv(x, c, filters, 1, s), filters, count)
            x = n.let(f"relu({y} + {x})")
    return n, n.text(n.linear(n.let(f"sum({x}, axes = [2, 3]) * 0.25"), 512, 1000))


def resnet_torch(nn):
    class Block(nn.Module):
        def __init__(self, c, f, s):
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(c, f, 3, s, 1, bias=False), nn.BatchNorm2d(f), nn.ReLU(),
                                       nn.Conv2d(f, f, 3, 1, 1, bias=False), nn.BatchNorm2d(f))
            self.second = nn.Identity() if c == f else nn.Sequential(nn.Conv2d(c, f, 1, s, bias=False), nn.BatchNorm2d(f))

        def forward(self, x):
            return nn.functional.relu(self.first(x) + self.second(x))

    blocks = [b for c, f, s, _ in STAGES for b in (Block(c, f, s), Block(f, f, 1))]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                         *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def step_by_torch(torch, module, images, classes, seconds):
    """Seconds for loss and gradients, row-major and with channels last."""
    times, labels = [], torch.randint(0, classes, images.shape[:1])
    for layout in (torch.contiguous_format, torch.channels_last):
        net, x = module(torch.nn).to(memory_format=layout), images.to(memory_format=layout)
        parameters = list(net.parameters())
        times.append(best(lambda: torch.autograd.grad(torch.nn.functional.cross_entropy(net(x), labels), parameters),
                          seconds))
    return times


def step_by_gemel(gemel, network, text, folder, threads, milliseconds):
    """Seconds for the same."""
    path, with_gradients = os.path.join(folder, "loss.gmt"), os.path.join(folder, "step.gmt")
    with open(path, "w") as f:
        f.write(text)
    subprocess.run([gemel, "grad", "--wrt", ",".join(network.shapes), "-o", with_gradients, path], check=True)
    out = subprocess.run([gemel, "bench", with_gradients, "--threads", str(threads), "--time", str(milliseconds), "--json",
                          "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return next(row["value"] for row in map(json.loads, out.stdout.splitlines()) if row["metric"] == "call")


def networks(torch, arguments):
    print(f"\n{'ms a step':16}{'gemel':>8}{'torch':>8}{'last':>8}{'torch ÷ gemel':>16}")
    for (network, text), module, image, classes in ((lenet_text(), lenet_torch, (64, 1, 8, 8), 10),
                                                    (resnet_text(), resnet_torch, (8, 3, 64, 64), 1000)):
        with tempfile.TemporaryDirectory() as folder:
            ours = step_by_gemel(arguments.gemel, network, text, folder, arguments.threads, arguments.time)
        plain, last = step_by_torch(torch, module, torch.rand(image), classes, arguments.time * 1e-3)
        print(f"{network.name:16}{1e3 * ours:8.2f}{1e3 * plain:8.2f}{1e3 * last:8.2f}{min(plain, last) / ours:16.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gemel", default="./gemel", help="the command (default ./gemel)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, choices=(16, 128), default=16, help="images of the layers")
    parser.add_argument("--networks", action="store_true", help="only the networks")
    parser.add_argument("--time", type=int, default=1000, metavar="MS", help="for each measurement")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("conv.py: there is no torch")
    torch.set_num_threads(arguments.threads)
    if not arguments.networks:
        layers(torch, arguments)
    networks(torch, arguments)


def layers(torch, arguments):
    print(f"{'':16}{'gemel':>8}{'last':>8}{'oneDNN':>8}{'torch':>8}{'last':>8}{'gemel ÷ torch':>16}")
    for layer, sizes in LAYERS.items():
        for which in PASSES:
            name = f"{layer} {which}" if arguments.batch == 16 else f"{layer} of 128 {which}"
            ours = by_gemel(arguments.gemel, name, arguments.threads, arguments.time)
            plain, last = by_torch(torch, sizes, arguments.batch, which, arguments.time * 1e-3)
            rate = max(ours["gemel, row-major"], ours.get("gemel, channels last", 0))
            print(f"{name:16}{ours['gemel, row-major']:8.0f}{ours.get('gemel, channels last', float('nan')):8.0f}{ours.get('oneDNN, its layouts', float('nan')):8.0f}{plain:8.0f}{last:8.0f}"
                  f"{rate / max(plain, last):16.2f}", flush=True)


if __name__ == "__main__":
    main()
