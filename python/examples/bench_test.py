"""A bench as tests of pytest: a power supply and a scope, which are simulated here.

    pytest examples/bench_test.py --stationdb station --stationdb-part 156502A-11L --stationdb-serial SN-1

The limits are those of the specifications of the product, which the first run stores. The waveform
is a table of the store, and its picture a file of the result.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from stationdb import Services
from stationdb.pytest_plugin import Attach, Measure

PART = "156502A-11L"


class Supply:
    """A power supply with a small error."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        self._volts = 0.0

    def set(self, volts: float) -> None:
        self._volts = volts

    def measure(self) -> float:
        return self._volts * (1 + self._random.gauss(0, 1e-4))


class Scope:
    """A scope that sees the ripple of the supply."""

    def capture(self, samples: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        t = np.arange(samples)
        noise = np.random.default_rng(7).normal(scale=1e-3, size=samples)
        return 5 + 0.01 * np.sin(2 * math.pi * t / 1000) + noise


@pytest.fixture(scope="module")
def supply() -> Supply:
    return Supply()


@pytest.fixture(scope="module")
def scope() -> Scope:
    return Scope()


@pytest.fixture
def limits(station: Services | None) -> tuple[float, float]:
    """The limits of the output voltage: of the specification, or those of the first run."""
    low, high = 4.95, 5.05
    if station is None:
        return low, high
    product = station.products.query("partNumber == @0", PART).first()
    if product is None:
        product = station.products.create(part_number=PART, name="Supply 5 V", family="Supply")
    found = station.specs.query("specId == @0", "VOUT", product_ids=[product.id]).first()
    if found is None:
        found = station.specs.create(
            product_id=product.id,
            spec_id="VOUT",
            type="PARAMETRIC",
            unit="V",
            limit={"min": low, "max": high},
        )
    assert found.limit is not None
    return float(found.limit.min or low), float(found.limit.max or high)


def test_output(supply: Supply, limits: tuple[float, float], measure: Measure) -> None:
    """The output voltage is within its specification."""
    supply.set(5.0)
    low, high = limits
    assert measure("VOUT", supply.measure(), unit="V", low=low, high=high).passed


def test_ripple(
    scope: Scope,
    measure: Measure,
    attach: Attach,
    station: Services | None,
    result: str | None,
) -> None:
    """The ripple is small. All samples are stored, and a picture of them."""
    volts = scope.capture(100_000)
    measure("ripple", float(np.ptp(volts)), unit="V", high=0.05)
    if station is not None:
        table = station.tables.create("ripple", index="t", test_result_id=result)
        table.append_waveform({"volts": volts}, dt=1e-6, unit="V")
        attach(table.plot("volts").svg.encode(), name="ripple.svg")
