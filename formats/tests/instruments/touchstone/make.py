"""Writes Touchstone files, some with the package scikit-rf 2.2.0 from PyPI, and what scikit-rf reads.

    python make.py                    the files beside it, with NAME.json for each
    python make.py DIRECTORY SEED N   N drawn files in a directory; prints the JSON of each in a line,
                                      and of the files that the package brings
"""

import glob
import json
import os
import random
import struct
import sys
import warnings

import numpy
import skrf
from skrf.io.touchstone import Touchstone

warnings.simplefilter("ignore")

UNITS = {"Hz": 0, "kHz": 3, "MHz": 6, "GHz": 9}


def bits(value):
    return struct.pack(">d", value).hex()


def read(path):
    """Frequencies, the complex cells by their names, and noise."""
    file = Touchstone(path)
    ports, letter = file.rank, file.parameter
    flat = numpy.atleast_2d(file.s_flat) if len(file.f) else numpy.empty((0, ports * ports))
    names = cells(path, ports)
    between = "_" if ports > 9 else ""
    columns = {}
    for at, both in enumerate(names):
        for row, column in both:
            name = f"{letter}{row}{between}{column}"
            columns[name + "_re"] = [bits(v) for v in flat[:, at].real]
            columns[name + "_im"] = [bits(v) for v in flat[:, at].imag]
    noise = None
    if file.noise is not None:
        gamma = file.noise[:, 2] * numpy.exp(1j * numpy.pi / 180 * file.noise[:, 3])
        noise = {
            "frequency": [bits(v) for v in file.noise[:, 0]],
            "nf_min": [bits(v) for v in file.noise[:, 1]],
            "gamma_opt_re": [bits(v) for v in gamma.real],
            "gamma_opt_im": [bits(v) for v in gamma.imag],
            "rn": [bits(v) for v in file.noise[:, 4]],
        }
    reference = numpy.atleast_1d(file.resistance).real.tolist()
    return {
        "path": path,
        "frequency": [bits(v) for v in file.f],
        "columns": columns,
        "noise": noise,
        "reference": reference,
        "format": file.format.upper(),
    }


def cells(path, ports):
    """The cells of each complex number of a point, by the words of the file itself."""
    text = open(path, encoding="latin-1").read().lower()
    order = [(row, column) for row in range(1, ports + 1) for column in range(1, ports + 1)]
    if "[matrix format] lower" in text:
        return [{(r, c), (c, r)} for r, c in order if c <= r]
    if "[matrix format] upper" in text:
        return [{(r, c), (c, r)} for r, c in order if c >= r]
    if ports == 2 and "[two-port data order] 12_21" not in text:
        order = [(1, 1), (2, 1), (1, 2), (2, 2)]
    return [{cell} for cell in order]


def number(value, draw):
    return draw.choice([f"{value:.6g}", f"{value:.12E}", f"{value: .9f}"])


def point(values, ports, draw, is_second):
    """The lines of the numbers of a point, wrapped as the format says, or otherwise."""
    pairs = [" ".join(values[at:at + 2]) for at in range(0, len(values), 2)]
    if ports <= 2 and not is_second:
        return [" ".join(pairs)]
    per_line = draw.choice([4, 4, ports, 3]) if not is_second or draw.random() < 0.7 else len(pairs)
    if ports == 3 and not is_second:
        per_line = 3
    per_line = max(1, min(4, per_line)) if not is_second else max(1, per_line)
    return ["  ".join(pairs[at:at + per_line]) for at in range(0, len(pairs), per_line)]


def written(draw, ports, is_second, form, letter, unit, count, matrix="Full", order="21_12",
            mixed=None, noise=0, whole=True):
    """The text of a file."""
    out = ["! drawn", ""] if draw.random() < 0.5 else []
    options = [unit, letter, form, "R 75"]
    # scikit-rf knows this order alone.
    option = "# " + " ".join(word if draw.random() < 0.5 else word.upper() for word in options)
    if is_second:
        out += ["[Version] 2.0", option, f"[Number of Ports] {ports}"]
        if ports == 2:
            out.append(f"[Two-Port Data Order] {order}")
        out.append(f"[Number of Frequencies] {count}")
        if noise:
            out.append(f"[Number of Noise Frequencies] {noise}")
        if draw.random() < 0.5:
            out += ["[Reference]", " ".join(str(50 + at) for at in range(ports))]
        if matrix != "Full" or draw.random() < 0.5:
            out.append(f"[Matrix Format] {matrix}")
        if mixed:
            out.append("[Mixed-Mode Order] " + mixed)
        out.append("[Network Data]")
    else:
        out.append(option)
    pairs = ports * ports if matrix == "Full" else ports * (ports + 1) // 2
    scale = 10.0 ** UNITS[unit]
    hertz = sorted(draw.sample(range(10**6, 10**10), count + noise))
    # The frequencies of noise are below the last one of the network.
    points, below = hertz[noise:], hertz[:noise]
    for frequency in points:
        shown = frequency / scale if whole else (frequency + draw.random()) / scale
        values = []
        for _ in range(pairs):
            first = draw.uniform(-40.0, 10.0) if form == "DB" else draw.uniform(0.0, 2.0)
            second = draw.uniform(-1.0, 1.0) if form == "RI" else draw.uniform(-180.0, 180.0)
            values += [number(first, draw), number(second, draw)]
        lines = point(values, ports, draw, is_second)
        comment = " ! a point" if draw.random() < 0.2 else ""
        out.append(f"{shown!r} {lines[0]}{comment}")
        out += ["   " + line for line in lines[1:]]
    if noise:
        out.append("[Noise Data]" if is_second else "! noise")
        for frequency in below:
            gamma = [draw.uniform(0, 5), draw.uniform(0, 1), draw.uniform(-180, 180), draw.uniform(0, 2)]
            out.append(f"{frequency / scale!r} " + " ".join(f"{value:.4f}" for value in gamma))
    if is_second:
        out.append("[End]")
    return draw.choice(["\n", "\r\n"]).join(out) + "\n"


def drawn(draw):
    """The extension and the text of a drawn file."""
    is_second = draw.random() < 0.5
    ports = draw.choice([1, 2, 2, 3, 4, 5, 8, 11])
    options = dict(
        form=draw.choice(["DB", "MA", "RI"]),
        letter=draw.choice("SSSYZ"),
        unit=draw.choice(list(UNITS)),
        count=draw.randint(1, 20),
        whole=draw.random() < 0.6,
    )
    if ports == 2 and draw.random() < 0.4:
        options["noise"] = draw.randint(1, 5)
    if is_second:
        options["order"] = draw.choice(["21_12", "12_21"])
        if ports > 2:
            options["matrix"] = draw.choice(["Full", "Lower", "Upper"])
    text = written(draw, ports, is_second, **options)
    extension = "ts" if is_second and draw.random() < 0.5 else f"s{ports}p"
    return extension, text


def committed():
    """Name and text of each committed file that is not written by the package."""
    draw = random.Random(7)
    yield "one_db.s1p", written(draw, 1, False, "DB", "S", "MHz", 3)
    yield "noise.s2p", written(draw, 2, False, "MA", "S", "GHz", 3, noise=2)
    yield "three.s3p", written(draw, 3, False, "MA", "S", "GHz", 2)
    yield "four.s4p", written(draw, 4, False, "RI", "Z", "kHz", 2)
    yield "eleven.s11p", written(draw, 11, False, "RI", "S", "Hz", 1)
    yield "parts.s1p", written(draw, 1, False, "RI", "S", "Hz", 3, whole=False)
    yield "order.ts", written(draw, 2, True, "DB", "S", "GHz", 2, order="12_21", noise=2)
    yield "lower.ts", written(draw, 3, True, "RI", "Y", "GHz", 2, matrix="Lower")
    yield "upper.ts", written(draw, 4, True, "MA", "S", "GHz", 2, matrix="Upper")
    yield "mixed.ts", written(draw, 4, True, "RI", "S", "GHz", 2, mixed="D2,3 D1,4 C2,3 C1,4")


def main():
    if len(sys.argv) == 1:
        here = os.path.dirname(os.path.abspath(__file__))
        for name, text in committed():
            with open(os.path.join(here, name), "w", newline="", encoding="ascii") as out:
                out.write(text)
        numbers = numpy.random.default_rng(3)
        frequency = skrf.Frequency(1, 2, 3, unit="GHz")
        s = numbers.uniform(-1, 1, (3, 2, 2)) + 1j * numbers.uniform(-1, 1, (3, 2, 2))
        network = skrf.Network(frequency=frequency, s=s, z0=50, name="written")
        for form in ("ri", "db", "ma"):
            network.write_touchstone(f"written_{form}", dir=here, form=form, skrf_comment=False)
        for path in sorted(glob.glob(os.path.join(here, "*"))):
            name = os.path.basename(path)
            if name.endswith((".json", ".py")):
                continue
            found = read(path)
            found["path"] = name
            with open(path + ".json", "w", encoding="utf-8") as out:
                json.dump(found, out, indent=1)
                out.write("\n")
        return
    directory, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for at in range(count):
        draw = random.Random(f"{seed}-{at}")
        extension, text = drawn(draw)
        path = os.path.join(directory, f"drawn_{seed}_{at}.{extension}")
        with open(path, "w", newline="", encoding="ascii") as out:
            out.write(text)
        print(json.dumps([os.path.basename(path), read(path)]))
    package = os.path.join(os.path.dirname(skrf.__file__), "data")
    for path in sorted(glob.glob(os.path.join(package, "*.s*p"))):
        print(json.dumps(["", read(path)]))


main()
