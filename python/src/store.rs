//! A store: opening, closing, and what concerns it as a whole.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use stationdb::chrono::{DateTime, Utc};
use stationdb::{Store, StoreOptions, VerifyLevel};

use crate::errors::{invalid, of_path, raised};
use crate::json::to_python;
use crate::long::{Watch, long, long_as};
use crate::open::{Open, SessionSpec};
use crate::session::SessionCore;

/// The options by their names. One that takes no null has to have a value.
macro_rules! options {
    ($($name:ident: $type:ty),* $(,)?) => {
        const OPTIONS: &[&str] = &[$(stringify!($name)),*];

        fn with(
            options: StoreOptions,
            name: &str,
            value: &Bound<'_, PyAny>,
        ) -> PyResult<Option<StoreOptions>> {
            match name {
                $(stringify!($name) => {
                    let value = value.extract::<$type>().map_err(|_| invalid(value.py(), format!(
                        "the option {name} cannot be {value}; it is of the type {}",
                        stringify!($type),
                    )))?;
                    Ok(Some(options.$name(value)))
                })*
                _ => Ok(None),
            }
        }
    };
}

options! {
    calibration_warning_days: u32,
    utilization_timeout_s: u32,
    small_blob_bytes: usize,
    file_bytes_max: Option<u64>,
    upload_session_days: Option<u32>,
    seal_rows: u64,
    seal_bytes: u64,
    table_columns_max: usize,
    table_rows_max: u64,
    query_memory_bytes: usize,
    memory_budget_bytes: u64,
    record_cache_bytes: usize,
    reserve_bytes: u64,
    require_registered_workspaces: bool,
    results_create_products: bool,
    memory_table_bytes: usize,
    transaction_hold_ms: u64,
    quick_repair: bool,
    record_rewrite_bytes_max: u64,
    maintenance_thread: bool,
    scrub_days: u32,
    scrub_bytes_per_s: u64,
    archive_bytes: Option<u64>,
    log_entries_max: u64,
    subscriber_hold_ms: u64,
    subscriber_hold_bytes: u64,
    search_folds_diacritics: bool,
    vendor_prefix: String,
    default_workspace: String,
}

fn store_options(create: bool, given: &Bound<'_, PyDict>) -> PyResult<StoreOptions> {
    let mut options = Store::options().create(create);
    for (name, value) in given {
        let name: String = name.extract()?;
        options = with(options, &name, &value)?.ok_or_else(|| {
            invalid(
                given.py(),
                format!("there is no option {name:?}; the options are {}", OPTIONS.join(", ")),
            )
        })?;
    }
    Ok(options)
}

/// An open store.
#[pyclass(frozen, module = "stationdb._stationdb")]
pub struct StoreCore {
    pub open: Arc<Open>,
}

#[pymethods]
impl StoreCore {
    /// Opens a store, or a private copy of one.
    #[staticmethod]
    #[pyo3(signature = (path, create, look, options))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        create: bool,
        look: bool,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = store_options(create, options)?;
        let store = long_as(py, Watch::default(), of_path, |_| {
            if look { options.look(&path) } else { options.open(&path) }
        })?;
        Ok(Self { open: Open::new(store, path.display().to_string()) })
    }

    /// The session of the store, which makes the others.
    fn session(&self, py: Python<'_>, user: String) -> PyResult<SessionCore> {
        drop(self.open.call(py)?);
        let spec = SessionSpec { user, workspace: None, all_or_nothing: false, timeout: None };
        Ok(SessionCore::new(&self.open, spec))
    }

    /// Closes the store. Does nothing if it is closed.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(store) = self.open.take(py, "a store cannot be closed")? else { return Ok(()) };
        long(py, Watch::default(), |_| store.close())
    }

    #[getter]
    fn is_open(&self) -> bool {
        self.open.is_open()
    }

    #[getter]
    fn path(&self) -> &str {
        &self.open.path
    }

    /// What the store is.
    fn info(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let call = self.open.call(py)?;
        let info = PyDict::new(py);
        info.set_item("id", call.store.id())?;
        info.set_item("path", &self.open.path)?;
        Ok(info.into_any().unbind())
    }

    /// How the store is.
    fn status(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let call = self.open.call(py)?;
        let status = long(py, Watch::default(), |_| call.store.status())?;
        to_python(py, &status)
    }

    #[pyo3(signature = (path, progress))]
    fn backup(
        &self,
        py: Python<'_>,
        path: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let call = self.open.call(py)?;
        let watch = Watch { progress, timeout: None };
        let report = long(py, watch, |control| call.store.backup(path, control))?;
        to_python(py, &report)
    }

    #[pyo3(signature = (level, progress))]
    fn verify(
        &self,
        py: Python<'_>,
        level: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let watch = Watch { progress, timeout: None };
        let level = match level {
            "headers" => VerifyLevel::Headers,
            "checksums" => VerifyLevel::Checksums,
            "pages" => {
                let report = self.alone(py, "a store cannot read all pages", |py, store| {
                    long(py, watch, |control| store.verify_pages(control))
                })?;
                return to_python(py, &report);
            }
            _ => {
                let told = format!(
                    "the level of verify is {level:?}; it is \"headers\", \"checksums\" or \"pages\""
                );
                return Err(invalid(py, told));
            }
        };
        let call = self.open.call(py)?;
        let report = long(py, watch, |control| call.store.verify(level, control))?;
        to_python(py, &report)
    }

    #[pyo3(signature = (progress))]
    fn maintain(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
        let call = self.open.call(py)?;
        self.refuse_in_transaction(py, "maintenance")?;
        let watch = Watch { progress, timeout: None };
        let report = long(py, watch, |control| call.store.maintain(control))?;
        to_python(py, &report)
    }

    /// Makes the present time of the clock that of the store. Returns the time that it had, if that
    /// was later.
    fn take_present_time(&self, py: Python<'_>) -> PyResult<Option<DateTime<Utc>>> {
        let call = self.open.call(py)?;
        self.refuse_in_transaction(py, "a change of the store's time")?;
        long(py, Watch::default(), |_| call.store.take_present_time())
    }

    fn compact(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let report = self.alone(py, "a store cannot be compacted", |py, store| {
            long(py, Watch::default(), |_| store.compact())
        })?;
        to_python(py, &report)
    }
}

impl StoreCore {
    /// Refuses what would wait for a transaction of its own thread.
    fn refuse_in_transaction(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        if self.open.has_transaction_here() {
            let told =
                format!("this thread has an open transaction, which {what} would wait for; end it");
            return Err(raised(py, &stationdb::Error::conflict(told)));
        }
        Ok(())
    }

    /// Does what needs the store alone. Streams of rows end; sessions go on afterwards.
    fn alone<T>(
        &self,
        py: Python<'_>,
        what: &str,
        work: impl FnOnce(Python<'_>, &mut Store) -> PyResult<T>,
    ) -> PyResult<T> {
        let Some(mut store) = self.open.take(py, what)? else {
            // Says that it is closed.
            return Err(match self.open.call(py) {
                Err(closed) => closed,
                Ok(_) => raised(py, &stationdb::Error::conflict("the store was just opened")),
            });
        };
        let done = work(py, &mut store);
        self.open.put(store);
        done
    }
}

#[pyfunction]
#[pyo3(signature = (backup, path, progress))]
pub fn restore(
    py: Python<'_>,
    backup: PathBuf,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let watch = Watch { progress, timeout: None };
    let report = long_as(py, watch, of_path, |control| Store::restore(backup, path, control))?;
    to_python(py, &report)
}

#[pyfunction]
#[pyo3(signature = (damaged, path, progress))]
pub fn salvage(
    py: Python<'_>,
    damaged: PathBuf,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let watch = Watch { progress, timeout: None };
    let report = long_as(py, watch, of_path, |control| Store::salvage(damaged, path, control))?;
    to_python(py, &report)
}
