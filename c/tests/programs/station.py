"""A station by ctypes: products, results, a million samples, a plot, SQL, a backup and errors."""

import ctypes
import json
import math
import sys
from array import array
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_uint64

library = ctypes.CDLL(sys.argv[1])
directory = sys.argv[2]
U64, I64, TEXT = c_uint64, c_int64, c_char_p


class Failure(Exception):
    def __init__(self, code, told):
        super().__init__(f"code {code}: {told['message']}")
        self.code, self.told = code, told


def text_of(handle):
    length = I64()
    library.sdb_text_length(U64(handle), byref(length), None, None)
    buffer = ctypes.create_string_buffer(length.value + 1)
    library.sdb_text_copy(U64(handle), buffer, I64(length.value + 1), byref(length), None)
    library.sdb_free(U64(handle), None)
    return buffer.raw[: length.value].decode()


def call(name, *arguments):
    """Calls a function. Texts are passed with their lengths."""
    passed = []
    for argument in arguments:
        if isinstance(argument, str):
            encoded = argument.encode()
            passed += [TEXT(encoded), I64(len(encoded))]
        else:
            passed.append(argument)
    error = U64()
    code = getattr(library, name)(*passed, byref(error))
    if code:
        told = U64()
        library.sdb_error_json(error, byref(told), None)
        library.sdb_free(error, None)
        raise Failure(code, json.loads(text_of(told.value)))


def answer(name, *arguments, control=True):
    """Calls a function whose answer is a handle, behind a control that is none."""
    handle = U64()
    call(name, *arguments, *([U64(0)] if control else []), byref(handle))
    return handle.value


def operation(caller, name, request=None):
    return json.loads(text_of(answer("sdb_call", U64(caller), name, json.dumps(request or {}))))


def refused(code, work):
    try:
        work()
    except Failure as failure:
        assert failure.code == code, failure
        return failure.told
    raise AssertionError(f"the code {code} was expected")


store = answer("sdb_open", directory + "/store", "", control=False)
session = answer("sdb_session", U64(store), "ada", "", control=False)
operation(session, "create_products", {"products": [{"partNumber": "P-1"}]})
results = [
    {"partNumber": "P-1", "programName": "Final", "status": {"statusType": "PASSED"}} for _ in range(5)
]
assert len(operation(session, "create_results", {"results": results})["results"]) == 5

table = operation(
    session,
    "create_table",
    {
        "name": "ramp",
        "columns": [
            {"name": "t", "dataType": "TIMESTAMP_NS", "columnType": "INDEX"},
            {"name": "v", "dataType": "FLOAT64"},
            {"name": "n", "dataType": "INT32", "columnType": "NULLABLE"},
        ],
    },
)["id"]
count = 1_000_000
index = array("q", range(count))
values = array("d", (math.sin(row / 1000) for row in range(count)))
values.extend([math.nan if row % 2 else float(row) for row in range(count)])
pointer = ctypes.c_void_p(index.buffer_info()[0]), ctypes.c_void_p(values.buffer_info()[0])
call("sdb_append_f64", U64(session), table, '["t", "v", "n"]', *pointer, I64(count))
assert operation(session, "get_table_metadata", {"id": table})["rowCount"] == count

place = (c_double * 8192)()
rows = I64()
request = {"columns": ["t", "v"], "decimation": {"yColumns": ["v"], "intervals": 1000, "method": "MAX_MIN"}}
call("sdb_decimate_f64", U64(session), table, json.dumps(request), U64(0), place, I64(2), I64(4096), byref(rows))
assert 1000 < rows.value <= 4096
assert max(place[4096 : 4096 + rows.value]) > 0.999

cursor = answer("sdb_sql", U64(session), "select count(n) as n, count(*) as all from ramp where t >= to_timestamp_nanos(0)", "")
call("sdb_rows_next", U64(cursor), byref(rows))
whole = I64()
call("sdb_rows_i64", U64(cursor), c_int32(0), byref(whole), I64(1), byref(rows))
assert whole.value == count // 2
call("sdb_free", U64(cursor))

text_of(answer("sdb_backup", U64(store), directory + "/backup"))

told = refused(1, lambda: operation(session, "create_products", {"produts": []}))
assert "products" in told["message"], told
refused(2, lambda: operation(session, "get_product", {"id": "00000000000000ff"}))
refused(10, lambda: answer("sdb_open", directory + "/store", "", control=False))
half = (c_double * 3)(0.5, 1.0, 0.5)
told = refused(1, lambda: call("sdb_append_f64", U64(session), table, '["t", "v", "n"]', None, half, I64(1)))
assert told["place"] == {"row": 0, "column": "t"}, told
refused(100, lambda: operation(store, "query_products"))
call("sdb_close", U64(store))
refused(102, lambda: operation(session, "query_products"))
call("sdb_free", U64(session))
print("done")
