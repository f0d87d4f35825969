//! The exports of tables into files of others, as calls of a session.

use std::io::Write;

use stationdb::tables::{TableId, TableService};
use stationdb::{Control, Result};

use crate::tdms::{self, ExportTdmsRequest};

/// Exports of tables, for every handle that has the service of tables, beside
/// [`TableService::export_table_data`].
pub trait ExportFiles: TableService {
    /// Writes rows as a TDMS file, as `LabVIEW` reads it. Returns their number.
    ///
    /// The table is a group, a column a channel. Where the index is an axis of equal steps, it
    /// becomes the waveform properties of the channels and is no channel. Otherwise it is one.
    /// The unit of a column is `unit_string`. Nulls of floats are NaN. The rows are read twice
    /// where the index may be an axis; `out` is only appended to, and the memory is that of one
    /// segment.
    ///
    /// # Errors
    /// As [`TableService::scan`]; `InvalidArgument` for a null of another type, with its row and
    /// column, unless the request has a value for it; `Conflict` if the table is changed while it
    /// is read; `Io` of `out`.
    ///
    /// ```
    /// # fn main() -> stationdb::Result<()> {
    /// # let directory = tempfile::tempdir()?;
    /// use stationdb::tables::ImportTableRequest;
    /// use stationdb::{Control, Identity, Store};
    /// use stationdb_formats::tdms::ExportTdmsRequest;
    /// use stationdb_formats::{ExportFiles, ImportFiles};
    ///
    /// let store = Store::open(directory.path().join("store"))?;
    /// let session = store.session(Identity::user("ada"));
    /// let control = Control::default();
    /// let text = &b"t,volts\n1,0.5\n2,\n"[..];
    /// let table = session.import_csv(ImportTableRequest::new(), &mut &*text, &control)?;
    /// let id = table.id.unwrap_or_default();
    /// let mut file = Vec::new();
    /// let request = ExportTdmsRequest::new().group("ramp");
    /// assert_eq!(session.export_tdms(&id, request, &mut file, &control)?, 2);
    /// assert!(file.starts_with(b"TDSm"));
    /// # Ok(())
    /// # }
    /// ```
    fn export_tdms(
        &self,
        id: &TableId,
        request: ExportTdmsRequest,
        out: &mut (dyn Write + Send),
        control: &Control,
    ) -> Result<u64> {
        tdms::export(self, id, &request, out, control)
    }
}

impl<S: TableService + ?Sized> ExportFiles for S {}
