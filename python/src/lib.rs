//! The native part of the Python package `stationdb`: handles on a store, rows as Arrow, and calls
//! by name. The package around it, in `python/stationdb`, is what users see.
//!
//! What holds for every call:
//! - The GIL is released while the library works.
//! - A call that may take long checks for Ctrl-C, and ends with the exception of the handler.
//! - A closed store, and a store of another process, are refused before the library is called.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod batch;
mod callbacks;
mod cells;
mod changes;
mod columns;
mod content;
mod errors;
mod imports;
mod json;
mod lock;
mod long;
mod members;
mod open;
mod openhtf;
mod record_view;
mod report;
mod rows;
mod runs;
mod session;
mod sets;
#[cfg(feature = "sql")]
mod sql;
mod store;
mod tables;
mod texts;

use pyo3::prelude::*;

/// The native part of `stationdb`. Its names are private: use those of the package.
#[pymodule]
mod _stationdb {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::changes::{
        ChangesCore, advance_subscriber, position, register_subscriber, remove_subscriber,
    };
    #[pymodule_export]
    use super::content::{ReaderCore, WriterCore, upload_file, upload_package};
    #[pymodule_export]
    use super::imports::{import_directory, import_results, import_tables};
    #[pymodule_export]
    use super::openhtf::import_openhtf;
    #[pymodule_export]
    use super::record_view::RecordView;
    #[pymodule_export]
    use super::report::plot_page;
    #[pymodule_export]
    use super::rows::RowsCore;
    #[pymodule_export]
    use super::runs::{RunCore, append_results, begin_run, resume_run};
    #[pymodule_export]
    use super::session::{SessionCore, scan_measurements, scan_records, scan_steps};
    #[pymodule_export]
    use super::sets::{
        archive_to_set, backup_to_set, list_backups, prune_set, repair, restore_from_set,
        verify_set,
    };
    #[cfg(feature = "sql")]
    #[pymodule_export]
    use super::sql::sql;
    #[pymodule_export]
    use super::store::{StoreCore, restore, salvage};
    #[pymodule_export]
    use super::tables::{Input, TableCore, import_table};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::long::note_main_thread(module.py())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("HAS_SQL", cfg!(feature = "sql"))
    }
}
