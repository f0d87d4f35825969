//! Backup sets: directories with many backups of one store.

use std::path::PathBuf;

use pyo3::prelude::*;
use stationdb::chrono::{DateTime, Utc};
use stationdb::{Control, RestorePoint, Result, SetBackupOptions, SetRetention, Store};

use crate::errors::{invalid, of_path};
use crate::json::to_python;
use crate::long::{Watch, long_as};
use crate::store::StoreCore;

/// A call about a path, whose report becomes a dict.
fn reported<T: Send + serde::Serialize>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&Control) -> Result<T> + Send,
) -> PyResult<Py<PyAny>> {
    let report = long_as(py, Watch { progress, timeout: None }, of_path, work)?;
    to_python(py, &report)
}

/// Adds a backup of the store to a set.
#[pyfunction]
#[pyo3(signature = (store, path, bytes_per_second, must_exist, progress))]
pub fn backup_to_set(
    py: Python<'_>,
    store: &StoreCore,
    path: PathBuf,
    bytes_per_second: Option<u64>,
    must_exist: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let call = store.open.call(py)?;
    let mut options = SetBackupOptions::new();
    options.bytes_per_second = bytes_per_second;
    options.must_exist = must_exist;
    reported(py, progress, |control| call.store.backup_to_set(path, &options, control))
}

/// Sends the archive of commits of the store to a set.
#[pyfunction]
#[pyo3(signature = (store, path, bytes_per_second, progress))]
pub fn archive_to_set(
    py: Python<'_>,
    store: &StoreCore,
    path: PathBuf,
    bytes_per_second: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let call = store.open.call(py)?;
    let mut options = SetBackupOptions::new();
    options.bytes_per_second = bytes_per_second;
    reported(py, progress, |control| call.store.archive_to_set(path, &options, control))
}

/// Takes the damaged files of the store from a set.
#[pyfunction]
#[pyo3(signature = (store, path, progress))]
pub fn repair(
    py: Python<'_>,
    store: &StoreCore,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let call = store.open.call(py)?;
    reported(py, progress, |control| call.store.repair(path, control))
}

#[pyfunction]
pub fn list_backups(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    reported(py, None, |_| Store::list_backups(path))
}

#[pyfunction]
#[pyo3(signature = (path, progress))]
pub fn verify_set(
    py: Python<'_>,
    path: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    reported(py, progress, |control| Store::verify_set(path, control))
}

/// Removes the backups that are not kept: of so many days, weeks and months.
#[pyfunction]
#[pyo3(signature = (path, keep, progress))]
pub fn prune_set(
    py: Python<'_>,
    path: PathBuf,
    keep: (u32, u32, u32),
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let (daily, weekly, monthly) = keep;
    let retention = SetRetention::new(daily, weekly, monthly);
    reported(py, progress, |control| Store::prune_set(path, retention, control))
}

/// Makes a store of a backup: the last one, or that of a number, of a commit, or of a time.
#[pyfunction]
#[pyo3(signature = (set, path, backup, sequence, at, progress))]
pub fn restore_from_set(
    py: Python<'_>,
    set: PathBuf,
    path: PathBuf,
    backup: Option<u64>,
    sequence: Option<u64>,
    at: Option<DateTime<Utc>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let point = match (backup, sequence, at) {
        (None, None, None) => RestorePoint::Latest,
        (Some(backup), None, None) => RestorePoint::Backup(backup),
        (None, Some(sequence), None) => RestorePoint::Sequence(sequence),
        (None, None, Some(at)) => RestorePoint::Time(at),
        _ => {
            return Err(invalid(
                py,
                "several points are given; give one of backup=, sequence= and at=, or none for the \
                 last backup",
            ));
        }
    };
    reported(py, progress, |control| Store::restore_from_set(set, point, path, control))
}
