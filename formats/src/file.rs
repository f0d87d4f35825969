//! A file as a source of its tables.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use stationdb::tables::{
    CreateTableRequest, ImportTableRequest, RowSource, SourceTable, TableSource,
};
use stationdb::{Control, Error, Result};

use crate::format::{FileFormat, START_BYTES};
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
    /// `Io`; those of [`FileFormat::find`].
    pub(crate) fn open(
        path: &Path,
        format: Option<FileFormat>,
        request: &ImportTableRequest,
    ) -> Result<(Self, FileFormat)> {
        let failed = |error| Error::io(format_args!("reading {}", path.display()), error);
        let mut file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Error::invalid(format!("{} is no file", path.display())));
        }
        let format = match format {
            Some(format) => format,
            None => {
                let mut start = Vec::with_capacity(START_BYTES);
                file.by_ref().take(START_BYTES as u64).read_to_end(&mut start).map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                FileFormat::find(&start, path)?
            }
        };
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
        Ok((Self { request, rows, is_at_table: false }, format))
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
