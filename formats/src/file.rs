//! A file as a source of its tables.

use std::path::Path;

use stationdb::tables::{
    CreateTableRequest, ImportTableRequest, RowSource, SourceTable, TableSource,
};
use stationdb::{Control, Result};

use crate::data_format::DataFormat;
use crate::format::FileFormat;
use crate::opened::open;
use crate::{csv, parquet};

/// The tables of a file.
pub(crate) struct FileTables {
    request: ImportTableRequest,
    rows: Box<dyn RowSource>,
    is_at_table: bool,
}

impl FileTables {
    /// Opens a file. Its format is found where `format` is absent. A new table without a name is
    /// named by the file.
    ///
    /// # Errors
    /// `Io`; those of [`DataFormat::of_file`]; `Unsupported` for a file with test results.
    pub(crate) fn open(
        path: &Path,
        format: Option<FileFormat>,
        request: &ImportTableRequest,
    ) -> Result<Self> {
        let format = match format {
            Some(format) => format,
            None => DataFormat::of_file(path)?.table()?,
        };
        let file = open(path)?;
        let mut request = request.clone();
        if request.id.is_none() {
            let table = request.table.get_or_insert_with(CreateTableRequest::default);
            if table.name.as_ref().is_none_or(String::is_empty) {
                table.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            }
        }
        let rows = match format {
            FileFormat::Csv => csv::source(&request, file),
            FileFormat::Parquet => parquet::source(&request, Box::new(file)),
        };
        Ok(Self { request, rows, is_at_table: false })
    }
}

impl TableSource for FileTables {
    fn advance(&mut self, _: &Control) -> Result<bool> {
        Ok(!std::mem::replace(&mut self.is_at_table, true))
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        Ok(SourceTable::new(self.request.clone(), self.rows.as_mut()))
    }
}
