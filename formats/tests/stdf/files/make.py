"""Writes the files beside it with Semi-ATE-STDF 0.1.28, reads them with pystdf 1.4.0, and prints what
the latter reads: `python make.py`.

`all.little.stdf` and `all.big.stdf` have a record of each type that Semi-ATE-STDF can write. `all.json`
has the types of fields as both packages declare them, and the values: those that pystdf reads of the
records of V4, and those that were written of the records of V4-2007, which it does not know.
Semi-ATE-STDF cannot write texts with two bytes of length (CNR, CDR), and counts one field of STR twice,
so these are tested with bytes of the tests alone.
"""

import bz2
import gzip
import io
import json
import os
import struct
import sys

from Semi_ATE import STDF
from pystdf import V4
from pystdf.IO import Parser

HERE = os.path.dirname(os.path.abspath(__file__))
NEW = ["VUR", "PSR", "NMR", "SSR"]
ORDER = (
    ["FAR", "ATR", "VUR", "MIR", "RDR", "SDR", "PMR", "PGR", "PLR", "PSR", "NMR", "SSR", "WCR", "WIR"]
    + ["BPS", "PIR", "PTR", "MPR", "FTR", "EPS", "PRR", "TSR", "DTR", "GDR", "WRR", "HBR", "SBR", "PCR"]
    + ["MRR"]
)


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def value(name, type_name, at):
    """A value of a field that is like no other one."""
    letter, size = type_name.split("*")
    if name in ("HEAD_NUM", "SITE_NUM"):
        return 2
    if letter in "UI":
        most = 1 << (8 * int(size) - 1)
        return (at * 0x01020305 + 7) % most * (-1 if letter == "I" and at % 2 else 1)
    if letter == "R":
        return single(at * 1.1 - 3)
    if letter == "C":
        return chr(65 + at % 26) if size == "1" else f"{name} {at}"
    if letter == "B" and size == "1":
        return [str(at >> bit & 1) for bit in range(7, -1, -1)]
    if letter in "BD":
        return ["1", "0", "1", "1", "0", "0", "1", "0"] * (1 + at % 2)
    if letter == "N":
        return (at * 3 + 1) % 16
    raise ValueError(type_name)


def filled(name, endian):
    record = getattr(STDF, name)
    record = (record if isinstance(record, type) else getattr(record, name))(endian=endian)
    given = {}
    fields = [field for field in record.fields if not field.startswith("REC_")]
    counts = {record.fields[field]["Ref"] for field in fields} - {None}
    for at, field in enumerate(fields, 1):
        type_name = record.fields[field]["Type"]
        if name == "FAR":
            made = {"CPU_TYPE": 2 if endian == "<" else 1, "STDF_VER": 4}[field]
        elif field in counts:
            given[field] = 3
            record.set_value(field, 3)
            continue
        elif type_name.startswith("x"):
            made = [value(field, type_name[1:], at + 5 * n) for n in range(3)]
        elif type_name == "V*n":
            continue
        else:
            made = value(field, type_name, at)
        record.set_value(field, made)
        given[field] = made
    return record, given


def generic(endian):
    """GDR by hand: Semi-ATE-STDF takes its values in a form of its own. pystdf fails at a pad."""
    parts = []
    for code, form, number in [(1, "B", 200), (2, "H", 40000), (3, "I", 3000000000), (4, "b", -3)]:
        parts.append(struct.pack(endian + "B" + form, code, number))
    for code, form, number in [(5, "h", -300), (6, "i", -70000), (7, "f", 1.5), (8, "d", 0.1)]:
        parts.append(struct.pack(endian + "B" + form, code, number))
    parts.append(b"\x0a\x02ok")
    parts.append(b"\x0b\x02\x05\x80")
    parts.append(struct.pack(endian + "BH", 12, 11) + b"\x05\x04")
    parts.append(b"\x0d\x07")
    body = struct.pack(endian + "H", len(parts)) + b"".join(parts)
    return struct.pack(endian + "HBB", len(body), 50, 10) + body


def read(data):
    """What pystdf reads: a list of names and fields."""
    found = []

    class Sink:
        def before_send(self, source, record):
            kind, fields = record
            found.append([type(kind).__name__.upper(), dict(zip(kind.fieldNames, fields))])

        def before_begin(self, source):
            pass

        def before_complete(self, source):
            pass

        def before_cancel(self, source, exception):
            raise exception

    parser = Parser(inp=io.BytesIO(data), reopen_fn=lambda: io.BytesIO(data))
    parser.addSink(Sink())
    parser.parse()
    return found


def plain(kind, fields, formats):
    """The values of pystdf as JSON: nibbles one by one, bits as bytes."""
    out = {}
    for field, found in fields.items():
        form = formats[field]
        if form.endswith("N1") and found is not None:
            count = fields[kind.fieldNames[int(form[1:-2])]]
            found = [found[n // 2] >> (4 * (n % 2)) & 15 for n in range(count)]
        out[field] = found
    return out


def types():
    all_types = {}
    for kind in V4.records:
        form = lambda text: ("kx" if text[0] == "k" else "") + text[-2] + "*" + text[-1]
        all_types[type(kind).__name__.upper()] = [[name, form(text)] for name, text in kind.fieldMap]
    for name in ["VUR", "PSR", "NMR", "CNR", "SSR", "CDR"]:
        record = getattr(STDF, name)
        record = (record if isinstance(record, type) else getattr(record, name))()
        fields = [field for field in record.fields if not field.startswith("REC_")]
        form = lambda text: "k" + text if text[0] == "x" else text
        all_types[name] = [[field, form(record.fields[field]["Type"])] for field in fields]
    return all_types


def main():
    values = {}
    kinds = {type(kind).__name__.upper(): kind for kind in V4.records}
    for endian, label in [("<", "little"), (">", "big")]:
        data = b""
        written = {}
        for name in ORDER:
            if name == "GDR":
                data += generic(endian)
                continue
            record, given = filled(name, endian)
            data += record.__repr__()
            written[name] = given
        known = [
            [name, plain(kinds[name], fields, kinds[name].fieldFormats)]
            for name, fields in read(data)
        ]
        with open(os.path.join(HERE, f"all.{label}.stdf"), "wb") as out:
            out.write(data)
        new = []
        for name in NEW:
            fields = {
                field: int("".join(made), 2) if isinstance(made, list) and made[:1] in (["0"], ["1"]) else made
                for field, made in written[name].items()
            }
            new.append([name, fields])
        values[label] = known + new
    with open(os.path.join(HERE, "all.json"), "w") as out:
        json.dump({"types": types(), "values": values}, out, sort_keys=True)
        out.write("\n")
    with open(os.path.join(HERE, "all.little.stdf"), "rb") as plain_file:
        data = plain_file.read()
    with open(os.path.join(HERE, "all.little.stdf.gz"), "wb") as out:
        half = len(data) // 2
        out.write(gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0))
    with open(os.path.join(HERE, "all.little.stdf.bz2"), "wb") as out:
        out.write(bz2.compress(data[:half]) + bz2.compress(data[half:]))


if __name__ == "__main__":
    sys.exit(main())
