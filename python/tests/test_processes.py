"""Threads, processes, signals, and what is given back."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import stationdb
from stationdb import errors

#: Its stubs know fewer values than it takes.
pa: Any = pyarrow

def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def large(db: stationdb.Store) -> stationdb.Table:
    """A table whose rows take long to read."""
    table = db.tables.create("large", index="t")
    generator = np.random.default_rng(1)
    for at in range(8):
        rows = np.arange(at * 500_000, (at + 1) * 500_000)
        table.append({"t": rows, "v": generator.normal(size=len(rows))})
    return table


CSV_ROWS = 1_500_000


def works(db: stationdb.Store, table: stationdb.Table, tmp: Path) -> dict[str, Callable[[], object]]:
    def scan() -> None:
        while True:
            for _ in table.rows(where="v > 1e9", order="v"):
                pass

    def arrow() -> None:
        while True:
            table.rows().to_arrow()

    def load() -> None:
        while True:
            db.tables.import_file(tmp / "large.csv", index_column="t")

    def sql() -> None:
        db.sql("select count(*) from large a, large b where a.v < b.v").to_pylist()

    def follow() -> None:
        for _ in db.changes(follow=True):
            pass

    def transaction() -> None:
        with db.transaction() as tx:
            tx.products.create(part_number="of the transaction")
            large = tx.tables.get(table.id)
            while True:
                for _ in large.rows(where="v > 1e9", order="v"):
                    pass

    def figures() -> None:
        with db.transaction() as tx:
            tx.products.create(part_number="of the transaction")
            while True:
                tx.tables.get(table.id).aggregate({"v": ["mean", "deviation"]}, where="v > -9")

    return {
        "scan": scan,
        "arrow": arrow,
        "import": load,
        "sql": sql,
        "follow": follow,
        "transaction": transaction,
        "figures": figures,
    }


WORKS = ["scan", "arrow", "import", "sql", "follow", "transaction", "figures"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals of Unix")
@pytest.mark.parametrize("work", WORKS)
def test_ctrl_c_ends_a_call(
    db: stationdb.Store,
    large: stationdb.Table,
    tmp_path: Path,
    work: str,
    interrupted: Callable[[Callable[[], object]], None],
) -> None:
    if work == "import":
        lines = [f"{at},{at / 7}\n" for at in range(CSV_ROWS)]
        (tmp_path / "large.csv").write_text("t,v\n" + "".join(lines))
    interrupted(works(db, large, tmp_path)[work])
    assert len(large) == 4_000_000
    # A transaction was taken back, and its turn to write is free.
    assert db.products.query().count() == 0
    db.products.create(part_number="after it")


def run_of(db: stationdb.Store) -> stationdb.Run:
    """A run that is in progress, begun once."""
    for one in db.results.unfinished_runs():
        return db.results.resume(one.id or "")
    return db.results.begin("P-1", "SN-1", "Final")


#: Writes of the main thread that wait for a transaction of another one.
WAITING: dict[str, Callable[[stationdb.Store, stationdb.Table], object]] = {
    "record": lambda db, _: db.products.create(part_number="waits"),
    "append": lambda _, table: table.append({"t": [9], "volts": [0.5]}),
    "first append": lambda db, _: db.tables.create("waits", index="t").append({"t": [1]}),
    "waveform": lambda _, table: table.append_waveform({"volts": np.ones(3)}, dt=1, t0=50),
    "results": lambda db, _: db.results.append_many([{"programName": "x", "status": "DONE"}]),
    "run": lambda db, _: db.results.begin("P-1", "SN-1", "Final"),
    "step": lambda db, _: run_of(db).step("Power").measure("VOUT", 5).finish(),
    "sequence": lambda db, _: run_of(db).sequence("Power"),
    "end of a run": lambda db, _: run_of(db).finish(),
    "upload": lambda db, _: db.files.upload(b"waits", name="x"),
}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals of Unix")
@pytest.mark.parametrize("write", WAITING)
def test_ctrl_c_ends_a_write_that_waits(
    db: stationdb.Store,
    loop: stationdb.Table,
    write: str,
    interrupted: Callable[[Callable[[], object]], None],
) -> None:
    begun, done = threading.Event(), threading.Event()

    def hold() -> None:
        with db.transaction() as tx:
            tx.products.create(part_number="held")
            begun.set()
            done.wait(20)

    if write in ("step", "sequence", "end of a run"):
        run_of(db)
    before = db.results.query().count()
    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(20)
    try:
        interrupted(lambda: WAITING[write](db, loop))
    finally:
        done.set()
        thread.join()
    # Nothing was written, and the same write is carried out afterwards.
    parts = {one.part_number for one in db.products.query()}
    assert "held" in parts and "waits" not in parts and len(loop) == 4
    assert db.results.query().count() == before and db.files.query().count() == 0
    assert db.steps.query().count() == 0 and before == len(db.results.unfinished_runs())
    WAITING[write](db, loop)


def test_a_write_waits_for_a_transaction_of_another_thread(
    db: stationdb.Store, loop: stationdb.Table
) -> None:
    begun = threading.Event()

    def hold() -> None:
        with db.transaction() as tx:
            tx.tables.get(loop.id).append({"t": [7], "volts": [0.5]})
            begun.set()
            time.sleep(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait(20)
    # Rows of Python code, which are read on the thread that waits.
    frame = pa.table({"t": [8], "volts": [0.5]})
    batches = (batch for batch in frame.to_batches())
    loop.append(pa.RecordBatchReader.from_batches(frame.schema, batches))
    thread.join()
    assert loop.rows(start=7).to_numpy()["t"].tolist() == [7, 8]
    # A transaction of the same thread is a mistake, also beside that of another one.
    begun.clear()
    thread = threading.Thread(target=hold)
    with db.transaction() as tx:
        tx.products.create(part_number="mine")
        thread.start()
        with pytest.raises(errors.ConflictError, match="transaction"):
            loop.append({"t": [9], "volts": [0.5]})
    thread.join()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of Unix")
def test_a_transaction_goes_on_after_an_interruption(
    db: stationdb.Store, large: stationdb.Table
) -> None:
    def interrupt(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with db.transaction() as tx:
            tx.products.create(part_number="before it")
            signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
            with pytest.raises(InterruptedError):
                while True:
                    list(tx.tables.get(large.id).rows(where="v > 1e9", order="v"))
            tx.products.create(part_number="after it")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert db.products.query().count() == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of Unix")
def test_a_handler_may_call_the_store(db: stationdb.Store, large: stationdb.Table) -> None:
    found: list[object] = []
    # In order they come in one batch, so that the handler never runs between two.
    rows = large.rows(where="v > 2 && v < 2.001", order="v")

    def call(*_: object) -> None:
        try:
            found.append(db.products.query().count())
            rows.to_pylist()
        except errors.Error as error:
            found.append(error)
        # Not before: a handler that is slower than its timer would interrupt itself for ever.
        signal.setitimer(signal.ITIMER_REAL, 0.02)

    # Loads what the handler imports.
    assert db.products.query().count() == 0
    before = signal.signal(signal.SIGALRM, call)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        assert all(2 < row["v"] < 2.001 for row in rows.to_pylist())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert 0 in found
    refused = [error for error in found if isinstance(error, errors.ConflictError)]
    assert any("being read" in str(error) for error in refused)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of Unix")
def test_a_handler_that_does_not_raise_ends_nothing(large: stationdb.Table) -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        assert large.rows().to_arrow().num_rows == 4_000_000
        assert large.aggregate({"v": "count"})[0]["v_count"] == 4_000_000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert rung


def test_threads_read_at_the_same_time(large: stationdb.Table) -> None:
    """The GIL is free: another thread computes while one reads."""
    turns = 0
    is_done = False

    def read() -> None:
        nonlocal is_done
        for _ in range(3):
            large.decimate("v").to_numpy()
            for _ in large.rows(order="v", limit=10):
                pass
        is_done = True

    thread = threading.Thread(target=read)
    thread.start()
    while not is_done:
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert turns > 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_is_refused(db: stationdb.Store) -> None:
    table = db.tables.create("t", index="t")
    table.append({"t": [1], "v": [1.0]})
    rows = table.rows()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            refused = 0
            for use in (lambda: len(table), lambda: rows.to_pylist(), lambda: db.close()):
                try:
                    use()
                except errors.LockedError as error:
                    refused += "spawn" in str(error)
            code = 0 if refused == 3 and not db.is_open else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    table.append({"t": [2], "v": [1.0]})
    assert len(table) == 2


def test_another_process_looks(db: stationdb.Store) -> None:
    db.tables.create("t", index="t").append({"t": [1, 2], "v": [1.0, 2.0]})
    code = """
        import sys, stationdb
        try:
            stationdb.open(sys.argv[1])
        except stationdb.errors.LockedError as error:
            print("locked")
        with stationdb.look(sys.argv[1]) as seen:
            print(len(seen.tables.get("t")), seen.sql("select sum(v) as s from t").to_pylist())
    """
    done = run(code, db.path)
    assert done.stdout.splitlines() == ["locked", "2 [{'s': 3.0}]"], done.stderr


def test_a_process_that_ends_with_an_open_store_keeps_its_rows(tmp_path: Path) -> None:
    code = """
        import sys, stationdb
        db = stationdb.open(sys.argv[1])
        table = db.tables.create("t", index="t")
        table.append({"t": [1], "v": [1.0]})
        rows = table.rows()
        if sys.argv[2] == "kill":
            import os, signal
            os.kill(os.getpid(), 9)
        if sys.argv[2] == "raise":
            raise SystemExit(3)
    """
    for how in ("end", "raise", "kill"):
        done = run(code, tmp_path / how, how)
        assert "panic" not in done.stderr.lower(), done.stderr
        with stationdb.open(tmp_path / how, create=False) as db:
            assert len(db.tables.get("t")) == 1


def handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def memory() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_ten_thousand_calls_leave_nothing(db: stationdb.Store) -> None:
    table = db.tables.create("t", index="t")
    table.append({"t": np.arange(1000), "v": np.arange(1000.0)})
    product = db.products.create(part_number="P")
    values = {"t": np.arange(10), "v": np.arange(10.0)}

    def calls(count: int) -> None:
        for at in range(count):
            kind = at % 10
            if kind == 0:
                table.append(values)
            elif kind == 1:
                table.rows(limit=5).to_numpy()
            elif kind == 2:
                table.rows()
            elif kind == 3:
                next(iter(table.rows()))
            elif kind == 4:
                db.products.get(product.id or "")
            elif kind == 5:
                with pytest.raises(errors.NotFoundError):
                    db.tables.get("nowhere")
            elif kind == 6:
                with pytest.raises(errors.InvalidArgumentError):
                    table.append({"t": [1], "v": ["x"]})
            elif kind == 7:
                db.session("eve").changes(since=0).close()
            elif kind == 8:
                table.rows(limit=3)._repr_html_()
            else:
                db.products.view(product.id or "")["partNumber"]

    calls(2_000)
    db.maintain()
    gc.collect()
    files, bytes = handles(), memory()
    references = sys.getrefcount(values["v"])
    threads = threading.active_count()
    calls(10_000)
    db.maintain()
    gc.collect()
    assert handles() <= files + 3
    assert memory() - bytes < 48 * 1024 * 1024
    now = sys.getrefcount(values["v"])
    assert now == references
    assert threading.active_count() == threads


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_statements_and_transactions_leave_nothing(db: stationdb.Store) -> None:
    db.tables.create("t", index="t").append({"t": [1], "v": [1.0]})

    numbers = itertools.count()

    def calls(count: int) -> None:
        for _ in range(count):
            db.sql("select * from t").to_pylist()
            db.sql("select * from t")
            with db.transaction() as tx:
                tx.products.create(part_number=f"P-{next(numbers)}")

    calls(50)
    time.sleep(0.5)
    files, bytes = handles(), [memory()]
    # What is kept for later calls grows once, and a leak each time.
    for _ in range(2):
        calls(100)
        time.sleep(0.5)
        bytes.append(memory())
    # The index of search has a few more files than before, as after any writes.
    assert handles() <= files + 40
    assert min(bytes[1] - bytes[0], bytes[2] - bytes[1]) < 32 * 1024 * 1024
    assert len(os.listdir("/proc/self/task")) < 40


def test_import_is_quick() -> None:
    code = """
        import time
        began = time.perf_counter()
        import stationdb
        print(time.perf_counter() - began)
        import sys
        print(sorted(set(sys.modules) & {"numpy", "pandas", "pyarrow", "polars", "tqdm", "stationdb.records"}))
    """
    times = []
    for _ in range(5):
        done = run(code)
        seconds, modules = done.stdout.splitlines()
        times.append(float(seconds))
        assert modules == "[]", done.stderr
    assert min(times) < 0.1 * float(os.environ.get("STATIONDB_SLOW", "1")), times
