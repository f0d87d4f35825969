"""Writes measurement files of LabVIEW with the package lvmio 1.0.0 from PyPI, and what they are by
lvmio and by lvm_read 1.26.

    python make.py                    the files beside it, with NAME.json for each
    python make.py DIRECTORY SEED N   N drawn files in a directory; prints the JSON of each in a line
"""

import datetime
import fractions
import json
import math
import os
import random
import struct
import sys

import lvm_read
import lvmio
from lvmio import Channel, LvmFile, Segment

DATE, TIME = "2024/01/31", "14:05:10"


def bits(value):
    """A double as text; all that are no number are one."""
    return "nan" if math.isnan(value) else struct.pack(">d", value).hex()


def nanos(date, time, x):
    """The time of a row in nanoseconds since 1970, or None without a date."""
    if not date or not time:
        return None
    whole, _, part = time.replace(",", ".").partition(".")
    at = datetime.datetime.strptime(date + " " + whole, "%Y/%m/%d %H:%M:%S")
    seconds = int((at - datetime.datetime(1970, 1, 1)).total_seconds())
    base = seconds * 10**9 + int((part + "0" * 9)[:9])
    return base + round(fractions.Fraction(x) * 10**9)


def cells(segment, read, shift):
    """X values, one list for each channel: what the file has, or what X0 and Delta_X make of it."""
    channels = segment.channels
    data = read["data"]
    out = []
    for at, channel in enumerate(channels):
        rows = len(channel.data)
        if shift is None:
            out.append([channel.x0 + row * channel.delta_x for row in range(rows)])
        else:
            column = at * 2 if shift == "Multi" else 0
            out.append([float(data[row][column]) for row in range(rows)])
    return out


def checked(file, segment, read):
    """Both readers have the same values."""
    first = {"No": 0, "One": 1, "Multi": 1}[file.x_columns]
    step = 2 if file.x_columns == "Multi" else 1
    for at, channel in enumerate(segment.channels):
        for row, value in enumerate(channel.data):
            other = float(read["data"][row][first + at * step])
            assert bits(value) == bits(other), (channel.name, row, value, other)


def tables(path):
    """The tables of a file: segments with equal columns continue one another."""
    file = lvmio.read_lvm(path)
    read = lvm_read.read(path, read_from_pickle=False, dump_file=False)
    # In a decimal comma file lvm_read takes the comma alone; the writer has no other.
    shift = None if file.x_columns == "No" else file.x_columns
    groups = {}
    for number, segment in enumerate(file.segments, 1):
        checked(file, segment, read[number - 1])
        has_times = all(c.date and c.time for c in segment.channels)
        axes = {(c.x0, c.delta_x, c.date, c.time) for c in segment.channels}
        multi = file.x_columns == "Multi" and len(segment.channels) > 1
        split = multi or (shift is None and len(axes) > 1)
        key = (tuple((c.name, c.unit, c.x_dimension) for c in segment.channels), has_times, split)
        groups.setdefault(key, []).append((number, segment, cells(segment, read[number - 1], shift)))
    out = []
    for place, ((_, has_times, split), parts) in enumerate(groups.items(), 1):
        channels = parts[0][1].channels
        for only in range(len(channels)) if split else [None]:
            suffix = [str(place)] if len(groups) > 1 else []
            suffix += [channels[only].name] if split else []
            chosen = range(len(channels)) if only is None else [only]
            table = {"X_Value": [], **{channels[at].name: [] for at in chosen}, "Comment": []}
            times = []
            for number, segment, xs in parts:
                axis = chosen[0]
                rows = max(len(segment.channels[at].data) for at in chosen)
                longest = max(chosen, key=lambda at: len(segment.channels[at].data))
                of_axis = segment.channels[axis]
                for row in range(rows):
                    x = xs[longest][row]
                    if len(parts) > 1:
                        table.setdefault("segment", []).append(number)
                    table["X_Value"].append(bits(x))
                    times.append(nanos(of_axis.date, of_axis.time, x) if has_times else None)
                    comment = segment.comment if row == 0 else ""
                    table["Comment"].append(comment or None)
                    for at in chosen:
                        data = segment.channels[at].data
                        # lvmio has no null: an empty cell behind a channel's samples is none.
                        value = bits(data[row]) if row < len(data) else None
                        table[segment.channels[at].name].append(value)
            units = {channels[at].name: channels[at].unit for at in chosen}
            out.append({
                "suffix": ".".join(suffix),
                "columns": table,
                "times": times if has_times else None,
                "units": {name: unit for name, unit in units.items() if unit},
            })
    return {
        "operator": file.operator,
        "description": file.description,
        "notes": next((s.notes for s in file.segments if s.notes), ""),
        "tables": out,
    }


def channel(name, data, **options):
    options.setdefault("date", DATE)
    options.setdefault("time", TIME)
    return Channel(name, data, **options)


def plain(**options):
    volts = channel("volts", [1.0, -2.5, 3.25e-7, float("nan"), float("inf")], unit="V", delta_x=0.25)
    amps = channel("amps", [0.0, 1e300, -1e-300, 4.0, float("-inf")], unit="A", delta_x=0.25)
    return Segment([volts, amps], **options)


def written():
    """The committed files: name, file, options of the writer."""
    comma = dict(decimal_separator=",")
    yield "one", LvmFile([plain(comment="warm-up\tdone\n")], operator="ada"), {}
    yield "no", LvmFile([plain()], x_columns="No"), {}
    yield "multi", LvmFile([Segment([
        channel("slow", [1.0, 2.0, 3.0], delta_x=0.5, unit="K"),
        channel("fast", [float(at) for at in range(8)], delta_x=0.125, unit="V", x0=10.0),
    ], comment="two rates")], x_columns="Multi"), {}
    yield "no_rates", LvmFile([Segment([
        channel("slow", [1.0, 2.0, 3.0], delta_x=0.5),
        channel("fast", [float(at) for at in range(8)], delta_x=0.125),
    ])], x_columns="No"), {}
    yield "comma_values", LvmFile([plain(comment="a, b")], separator="Comma"), {}
    yield "comma_decimals", LvmFile([plain()], **comma), {}
    later = channel("volts", [7.0, 8.0], unit="V", delta_x=0.25, time="14:06:00.5")
    other = channel("amps", [9.0, 10.0], unit="A", delta_x=0.25, time="14:06:00.5")
    yield "segments", LvmFile([
        plain(comment="first"),
        Segment([channel("pressure", [1.0], unit="bar")], notes="another rig", comment="second"),
        Segment([later, other], comment="third"),
        Segment([later, Channel("amps", [1.0], unit="mA", delta_x=0.25, date=DATE, time=TIME)]),
    ], description="C:\\data\nline two"), {}
    yield "no_time", LvmFile([Segment([
        Channel("gain", [0.5, 0.25], unit="dB", x_dimension="Frequency", x0=100.0, delta_x=10.0),
    ])]), {}
    yield "fine", LvmFile([Segment([
        channel("volts", [1.5, 2.5], delta_x=1e-7, time="14:05:10.1234567890123456789"),
    ])], x_columns="No"), {"precision": 17}
    text = Segment([channel("Größe µ", [1.0], unit="°C")], comment="café €")
    yield "windows", LvmFile([text], operator="Jürgen"), {"encoding": "cp1252"}
    yield "utf_8", LvmFile([text], operator="Jürgen"), {}


def drawn(random):
    """A drawn file and its options."""
    mark = random.choice(".,")
    separator = "Tab" if mark == "," else random.choice(["Tab", "Comma"])
    x_columns = random.choice(["No", "One", "Multi"])
    precision = random.choice([0, 3, 6, 12, 17])
    shapes = [
        [(f"ch {at}" if random.random() < 0.8 else f"größe{at}", random.choice(["", "V", "m/s^2"]))
         for at in range(random.randint(1, 5))]
        for _ in range(random.randint(1, 3))
    ]

    def value():
        # A mantissa below 9.9: rounded to few digits it stays below the largest double.
        kind = random.random()
        if kind < 0.1:
            return random.choice([float("nan"), float("inf"), float("-inf"), 0.0, -0.0])
        if kind < 0.3:
            return random.uniform(-9.9, 9.9) * 10.0 ** random.randint(-300, 300)
        return random.uniform(-100.0, 100.0)

    segments = []
    for _ in range(random.randint(1, 6)):
        shape = random.choice(shapes)
        rows = random.randint(1, 30)
        # Steps and starts that six digits keep.
        delta = random.choice([1.0, 0.5, 0.25, 0.001])
        x0 = random.choice([0.0, 1.5, 100.0])
        date = f"20{random.randint(10, 30)}/{random.randint(1, 12):02}/{random.randint(1, 28):02}"
        time = f"{random.randint(0, 23):02}:{random.randint(0, 59):02}:{random.randint(0, 59):02}"
        if random.random() < 0.5:
            time += mark + str(random.randint(1, 10**12))
        options = dict(date=date, time=time, x0=x0, delta_x=delta)
        if random.random() < 0.2:
            options["x_dimension"] = "Time"
            options["date"] = options["time"] = ""
        channels = []
        for name, unit in shape:
            own = dict(options)
            count = rows
            if x_columns == "Multi" and len(shape) > 1:
                own["delta_x"] = random.choice([1.0, 0.125])
                count = random.randint(1, rows)
            channels.append(Channel(name, [value() for _ in range(count)], unit=unit, **own))
        comment = random.choice(["", "", "note", "a\\b\tc", "ünïcode"])
        segments.append(Segment(channels, comment=comment))
    file = LvmFile(
        segments, separator=separator, decimal_separator=mark, x_columns=x_columns,
        operator=random.choice(["ada", "Grace H."]),
    )
    return file, {"precision": precision, "encoding": random.choice(["utf-8", "cp1252"])}


def main():
    if len(sys.argv) == 1:
        here = os.path.dirname(os.path.abspath(__file__))
        for name, file, options in written():
            path = os.path.join(here, name + ".lvm")
            lvmio.write_lvm(path, file, **options)
            with open(os.path.join(here, name + ".json"), "w", encoding="utf-8") as out:
                json.dump(tables(path), out, indent=1, ensure_ascii=False)
                out.write("\n")
        return
    directory, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for at in range(count):
        draw = random.Random(f"{seed}-{at}")
        name = f"drawn_{seed}_{at}.lvm"
        path = os.path.join(directory, name)
        file, options = drawn(draw)
        lvmio.write_lvm(path, file, **options)
        print(json.dumps([name, tables(path)]))


main()
