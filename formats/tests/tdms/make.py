"""Writes TDMS files and what npTDMS 1.13 reads in them, a file a line, as JSON:

    make.py tests > tests.jsonl       the files of the package's own tests
    make.py real                      the files that the package installs
    make.py random SEED COUNT         files of random segments, types, orders, scales and cuts
    make.py read PATH...              these files

The suite compares them with what it imports. `tests.jsonl` is committed, so that it needs no Python.
"""

import base64
import contextlib
import importlib
import io
import json
import logging
import os
import random
import struct
import sys

import numpy as np
import pytest
from nptdms import ChannelObject, GroupObject, RootObject, TdmsFile, TdmsWriter, types
from nptdms.test import util
from nptdms.timestamp import TdmsTimestamp, TimestampArray

logging.disable(logging.CRITICAL)


def bits(value):
    """A float as the hexadecimal digits of its bits."""
    return "nan" if value != value else struct.pack(">d", float(value)).hex()


def nanos(seconds, fractions):
    """The nearest nanosecond since 1970."""
    return (seconds - 2082844800) * 10**9 + ((fractions * 10**9 + 2**63) >> 64)


def column(data):
    """The kind of an array, and its values."""
    if isinstance(data, TimestampArray):
        pairs = zip(data.seconds.tolist(), data.second_fractions.tolist())
        return "time", [nanos(s, f) for s, f in pairs]
    data = np.asarray(data)
    if data.dtype.kind == "b":
        return "bool", data.tolist()
    if data.dtype.kind in "iu":
        return "int", data.tolist()
    if data.dtype.kind == "f":
        return "float", [bits(v) for v in data.tolist()]
    if data.dtype.kind == "c":
        return "complex", [[bits(v.real), bits(v.imag)] for v in data.tolist()]
    if data.dtype.kind == "M":
        return "other", []
    return "text", [v if isinstance(v, str) else None for v in data.tolist()]


def prop(value):
    if isinstance(value, TdmsTimestamp):
        return {"t": nanos(value.seconds, value.second_fractions)}
    if isinstance(value, (bool, np.bool_)):
        return {"b": bool(value)}
    if isinstance(value, (int, np.integer)):
        return {"i": str(value)}
    if isinstance(value, (float, np.floating)):
        return {"f": bits(value)}
    return {"s": str(value)}


def channel(group, found):
    raw = found.read_data(scaled=False) if len(found) else None
    scales = ("NI_Scale", "NI_Number_Of_Scales")
    if isinstance(raw, dict) and not any(k.startswith(scales) for k in found.properties):
        scaled_data = next(iter(raw.values())) if len(raw) == 1 else None
    else:
        scaled_data = found[:] if len(found) else None
    out = {"group": group.name, "channel": found.name, "length": len(found)}
    out["properties"] = {k: prop(v) for k, v in found.properties.items()}
    if len(found):
        # The package has no values of DAQmx channels without scales; the import has the raw ones.
        if scaled_data is not None:
            out["kind"], out["values"] = column(scaled_data)
        if isinstance(raw, dict):
            out["raw"] = {str(k): column(v) for k, v in raw.items()}
        else:
            out["raw"] = {"": column(raw)}
        raws = raw.values() if isinstance(raw, dict) else [raw]
        single = any(np.asarray(v).dtype == np.float32 for v in raws)
        scaled = any(k.startswith("NI_Scale") for k in found.properties)
        out["tolerance"] = 1e-5 if scaled and single else 1e-9 if scaled else 0.0
    return out


def line(name, content):
    """What npTDMS reads in a file."""
    out = {"name": name, "bytes": base64.b64encode(content).decode(), "channels": []}
    try:
        with np.errstate(all="ignore"):
            file = TdmsFile.read(io.BytesIO(content), raw_timestamps=True)
            out["properties"] = {k: prop(v) for k, v in file.properties.items()}
            for group in file.groups():
                for found in group.channels():
                    out["channels"].append(channel(group, found))
            out["groups"] = {
                g.name: {k: prop(v) for k, v in g.properties.items()} for g in file.groups()
            }
    except Exception as error:
        out = {"name": name, "bytes": out["bytes"], "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(out, separators=(",", ":")))


def of_tests():
    """The files that the package's own tests generate, each once."""
    seen = {}
    contents = util.GeneratedFile._get_contents
    running = [""]

    def recorded(self):
        content = contents(self)
        if 0 < len(content) < 20_000:
            seen.setdefault(content, running[0])
        return content

    class Names:
        def pytest_runtest_setup(self, item):
            running[0] = item.name

    util.GeneratedFile._get_contents = recorded
    modules = ["test_tdms_file", "test_daqmx", "test_timestamps"]
    paths = [importlib.import_module("nptdms.test." + m).__file__ for m in modules]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(["-q", "-p", "no:cacheprovider", *paths], plugins=[Names()])
    for content, name in seen.items():
        # Sparse files of gigabytes, whose payload is not there, are tested by the suite itself.
        if "overflow" not in name:
            line(name, content)
    for name, properties, data in scaled():
        line(name, written([("Group", "Channel", data, properties)]))


def written(channels, root=None, group=None):
    out = io.BytesIO()
    with TdmsWriter(out, version=4713) as writer:
        objects = [RootObject(root or {})]
        objects += [GroupObject(name, group or {}) for name in sorted({c[0] for c in channels})]
        objects += [ChannelObject(*c) for c in channels]
        writer.write_segment(objects)
    return out.getvalue()


def scale(index, kind, members, source=0xFFFFFFFF):
    out = {f"NI_Scale[{index}]_Scale_Type": kind}
    prefix = f"NI_Scale[{index}]_{kind}_"
    if source is not None:
        out[prefix + "Input_Source"] = types.Uint32(source)
    for name, value in members.items():
        out[prefix + name] = types.Uint32(value) if isinstance(value, int) else value
    return out


def scales(*all):
    out = {"NI_Number_Of_Scales": types.Uint32(len(all)), "NI_Scaling_Status": "unscaled"}
    for one in all:
        out.update(one)
    return out


def list_members(name, values, named="{}"):
    out = {named.format(name) + "_Size": len(values)}
    out.update({f"{name}[{i}]": float(v) for i, v in enumerate(values)})
    return out


RTD = {
    "Current_Excitation": 0.15e-3, "R0_Nominal_Resistance": 100.0, "A": 0.0039083, "B": -5.775e-07,
    "C": -4.183e-12, "Lead_Wire_Resistance": 1.5, "Resistance_Configuration": 3,
}
THERMISTOR = {
    "Resistance_Configuration": 3, "Excitation_Type": 10322, "Excitation_Value": 2.5,
    "R1_Reference_Resistance": 10000.0, "Lead_Wire_Resistance": 2.0, "A": 0.0012873851,
    "B": 0.00023575235, "C": 9.497806e-8, "Temperature_Offset": 273.15,
}
STRAIN = {
    "Poisson_Ratio": 0.3, "Gage_Resistance": 350.0, "Lead_Wire_Resistance": 0.5,
    "Initial_Bridge_Voltage": 1e-4, "Gage_Factor": 2.1,
    "Bridge_Shunt_Calibration_Gain_Adjustment": 1.01, "Voltage_Excitation": 10.0,
}
BRIDGES = [10183, 10184, 10185, 10188, 10189, 10271, 10272]
COUPLES = [10047, 10055, 10072, 10073, 10077, 10082, 10085, 10086]


def scaled():
    """Every kind of scale, each at its edges."""
    whole = np.arange(-5, 6, dtype=np.int16)
    real = np.linspace(-2.0, 2.0, 41)
    linear = {"Slope": 0.5, "Y_Intercept": -3.25}
    yield "linear", scales(scale(0, "Linear", linear)), whole
    yield "linear_of_singles", scales(scale(0, "Linear", linear)), real.astype(np.float32)
    for count in (0, 1, 4, 7):
        members = list_members("Coefficients", [1.5, -2.25, 0.125, 3.0, 1e-3, -7.0, 0.5][:count])
        yield f"polynomial_{count}", scales(scale(0, "Polynomial", members)), real
    for wires in (2, 3, 4):
        members = dict(RTD, Resistance_Configuration=wires)
        yield f"rtd_{wires}", scales(scale(0, "RTD", members)), np.linspace(0.003, 0.05, 60)
    for excitation in (10322, 10134):
        for wires in (2, 3, 4):
            value = 2.5 if excitation == 10322 else 1e-4
            members = dict(THERMISTOR, Excitation_Type=excitation, Excitation_Value=value,
                Resistance_Configuration=wires)
            name = f"thermistor_{excitation}_{wires}"
            yield name, scales(scale(0, "Thermistor", members)), np.linspace(0.1, 2.4, 50)
    for bridge in BRIDGES:
        members = dict(STRAIN, Configuration=bridge)
        yield f"strain_{bridge}", scales(scale(0, "Strain", members)), np.linspace(-0.02, 0.02, 50)
    for couple in COUPLES:
        for direction in (0, 1):
            members = {"Thermocouple_Type": couple, "Scaling_Direction": direction}
            data = np.linspace(-9000.0, 80000.0, 90) if direction == 0 else np.linspace(-250.0, 1800.0, 90)
            yield f"thermocouple_{couple}_{direction}", scales(scale(0, "Thermocouple", members)), data
    for name, points in (("rising", [1.0, 2.0, 4.0]), ("falling", [4.0, 2.0, 1.0])):
        members = list_members("Pre_Scaled_Values", points)
        members.update(list_members("Scaled_Values", [10.0, 20.0, -5.0]))
        yield f"table_{name}", scales(scale(0, "Table", members)), np.linspace(0.0, 5.0, 21)
    for kind in ("Add", "Subtract"):
        both = {"Left_Operand_Input_Source": 0, "Right_Operand_Input_Source": 1}
        yield kind.lower(), scales(
            scale(0, "Linear", linear), scale(1, "Polynomial", list_members("Coefficients", [1.0, 2.0])),
            scale(2, kind, both, None)), real
    yield "chain", scales(
        scale(0, "Linear", linear), scale(1, "Linear", {"Slope": 2.0, "Y_Intercept": 1.0}, 0),
        scale(2, "Polynomial", list_members("Coefficients", [0.5, 0.0, 2.0]), 1)), real
    yield "advanced", scales(scale(0, "AdvancedAPI", {})), whole
    yield "unknown", scales(scale(0, "Magic", {})), whole
    done = dict(scales(scale(0, "Linear", linear)), NI_Scaling_Status="scaled")
    yield "scaled_before", done, real


SIZES = {1: 1, 2: 2, 3: 4, 4: 8, 5: 1, 6: 2, 7: 4, 8: 8, 9: 4, 10: 8, 0x21: 1, 0x44: 16, 0x08000C: 8,
    0x10000D: 16, 0x20: 0}


def random_property(rng, order):
    """A property: the code of its type, and its bytes."""
    kind = rng.choice([1, 2, 3, 4, 5, 6, 7, 9, 10, 0x20, 0x21, 0x44])
    if kind == 0x20:
        text = rng.choice(["", "x", "µV", "a b'c"]).encode()
        return kind, struct.pack(order + "I", len(text)) + text
    if kind == 0x44:
        seconds, fractions = rng.randrange(3_000_000_000, 4_000_000_000), rng.getrandbits(64)
        pair = struct.pack("<Qq", fractions, seconds)
        return kind, pair if order == "<" else pair[::-1]
    code = {1: "b", 2: "h", 3: "i", 4: "q", 5: "B", 6: "H", 7: "I", 9: "f", 10: "d", 0x21: "B"}[kind]
    value = rng.uniform(-1e6, 1e6) if code in "fd" else rng.randrange(0, 2 if kind == 0x21 else 100)
    return kind, struct.pack(order + code, value)


def random_values(rng, kind, count, order):
    """Bytes of random values; doubles and singles that are numbers."""
    if kind == 0x21:
        return bytes(rng.choices([0, 1], k=count))
    if kind == 0x44:
        pairs = [(rng.getrandbits(64), rng.randrange(2_000_000_000, 5_000_000_000)) for _ in range(count)]
        whole = [struct.pack("<Qq", *p) for p in pairs]
        return b"".join(w if order == "<" else w[::-1] for w in whole)
    if kind == 0x20:
        texts = [rng.choice(["", "a", "ß", "text" * rng.randrange(9)]).encode() for _ in range(count)]
        ends, at = [], 0
        for text in texts:
            at += len(text)
            ends.append(struct.pack(order + "I", at))
        return b"".join(ends) + b"".join(texts)
    floats = {9: "f", 10: "d", 0x08000C: "ff", 0x10000D: "dd"}
    if kind in floats:
        parts = floats[kind] * count
        return struct.pack(order + parts, *[rng.uniform(-1e3, 1e3) for _ in parts])
    if kind == 8:
        return struct.pack(order + "Q" * count, *[rng.getrandbits(63) for _ in range(count)])
    return rng.randbytes(SIZES[kind] * count)


def text(value, order):
    return struct.pack(order + "I", len(value.encode())) + value.encode()


def random_file(rng):
    """Segments with and without metadata, whose objects come, go and change their sizes."""
    names = [f"/'g{rng.randrange(2)}'/'c{at}'" for at in range(rng.randrange(1, 6))]
    kinds = {name: rng.choice([k for k in SIZES if k != 0x20] + [10, 10, 0x20]) for name in names}
    if rng.random() < 0.3:
        kinds = dict.fromkeys(names, 10)
    out, listed, indexes = b"", [], {}
    last = rng.randrange(1, 7)
    order = rng.choice("<<>")
    for segment in range(last):
        fresh = not listed or rng.random() < 0.4
        has_metadata = fresh or rng.random() < 0.7
        interleaved = False
        entries = []
        if has_metadata:
            if fresh:
                listed = []
            chosen = [n for n in names if rng.random() < 0.8] or names[:1]
            interleaved = fresh and rng.random() < 0.4 and all(kinds[n] != 0x20 for n in chosen)
            shared = rng.randrange(1, 40)
            for name in chosen:
                kind, count = kinds[name], shared if interleaved else rng.randrange(0, 40)
                body = None
                how = rng.random()
                if not interleaved and how < 0.15:
                    index = struct.pack(order + "I", 0xFFFFFFFF)
                    present = False
                elif name in indexes and how < 0.4 and not interleaved:
                    index, present = struct.pack(order + "I", 0), True
                    count, body = indexes[name]
                else:
                    present = True
                    body = random_values(rng, kind, count, order)
                    index = struct.pack(order + "IIIQ", 28 if kind == 0x20 else 20, kind, 1, count)
                    if kind == 0x20:
                        index += struct.pack(order + "Q", len(body))
                    indexes[name] = (count, body)
                at = [i for i, (n, _) in enumerate(listed) if n == name]
                if at:
                    listed[at[0]] = (name, present)
                else:
                    listed.append((name, present))
                properties = b""
                amount = rng.randrange(0, 3)
                for number in range(amount):
                    code, value = random_property(rng, order)
                    properties += text(f"p{rng.randrange(3)}", order) + struct.pack(order + "I", code) + value
                entries.append(text(name, order) + index + struct.pack(order + "I", amount) + properties)
        data = b""
        present = [n for n, p in listed if p]
        chunks = rng.choice([1, 1, 1, 2, 5])
        for _ in range(chunks if present else 0):
            bodies = {}
            for name in present:
                count, before = indexes[name]
                # The texts of all chunks have as many bytes as the index tells.
                bodies[name] = before if kinds[name] == 0x20 else random_values(rng, kinds[name], count, order)
            if interleaved:
                for row in range(indexes[present[0]][0]):
                    for name in present:
                        size = SIZES[kinds[name]]
                        data += bodies[name][row * size : (row + 1) * size]
            else:
                data += b"".join(bodies[name] for name in present)
        metadata = struct.pack(order + "I", len(entries)) + b"".join(entries) if has_metadata else b""
        contents = (2 if has_metadata else 0) | (4 if fresh else 0) | (8 if data else 0)
        contents |= (32 if interleaved else 0) | (64 if order == ">" else 0)
        unfinished = segment == last - 1 and rng.random() < 0.3
        if unfinished and data:
            data = data[: rng.randrange(len(data))]
        size = 2**64 - 1 if unfinished else len(metadata) + len(data)
        out += b"TDSm" + struct.pack("<I", contents)
        out += struct.pack(order + "IQQ", rng.choice([4712, 4713]), size, len(metadata)) + metadata + data
    return out


def random_scales(rng):
    """A chain of scales, each of which takes the raw values or those of one before."""
    kinds = [s for s in scaled() if s[0] not in ("unknown", "scaled_before", "chain", "add", "subtract")]
    chain, count = [], rng.randrange(1, 4)
    for at in range(count):
        _, properties, _ = rng.choice(kinds)
        kind = properties["NI_Scale[0]_Scale_Type"]
        one = {k.replace("NI_Scale[0]", f"NI_Scale[{at}]"): v for k, v in properties.items() if "[0]_" in k}
        source = rng.choice([0xFFFFFFFF] + list(range(at)))
        one[f"NI_Scale[{at}]_{kind}_Input_Source"] = types.Uint32(source)
        chain.append(one)
    return scales(*chain)


def of_random(seed, count):
    rng = random.Random(seed)
    for number in range(count):
        if number % 4 == 3:
            data = np.array([rng.uniform(-50.0, 50.0) for _ in range(rng.randrange(1, 200))])
            line(f"scales {seed} {number}", written([("g", "c", data, random_scales(rng))]))
        else:
            line(f"segments {seed} {number}", random_file(rng))


def of_files(paths):
    for path in paths:
        with open(path, "rb") as file:
            line(os.path.basename(path), file.read())


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "tests":
        of_tests()
    elif mode == "real":
        data = os.path.join(os.path.dirname(util.__file__), "data")
        of_files(sorted(os.path.join(data, name) for name in os.listdir(data) if name.endswith(".tdms")))
    elif mode == "random":
        of_random(int(rest[0]), int(rest[1]))
    else:
        of_files(rest)
