//! Pages of tables.

use pyo3::prelude::*;
use stationdb::tables::ScanRequest;
use stationdb_report::{Limits, PlotOptions, plot_html};

use crate::json::request;
use crate::long::{Watch, long};
use crate::session::SessionCore;

/// The page of columns of a table: the first column that is asked for is x.
#[pyfunction]
#[pyo3(signature = (session, table, asked, low, high, column_bytes))]
pub fn plot_page(
    py: Python<'_>,
    session: &SessionCore,
    table: String,
    asked: &Bound<'_, PyAny>,
    low: Option<f64>,
    high: Option<f64>,
    column_bytes: Option<usize>,
) -> PyResult<String> {
    let asked: ScanRequest = request(asked, "plot")?;
    let mut options = PlotOptions::new()
        .columns(asked.columns.into_iter().flatten().skip(1))
        .filters(asked.filters.into_iter().flatten());
    if low.is_some() || high.is_some() {
        options = options.limits(Limits::new("limit", low, high));
    }
    if let Some(bytes) = column_bytes {
        options = options.column_bytes(bytes);
    }
    let (_call, handle) = session.caller.begin(py)?;
    long(py, Watch::new(session.caller.timeout()), |control| {
        plot_html(&handle.with_control(control), &table.into(), &options)
    })
}
