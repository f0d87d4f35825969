//! A file as a source of its tables.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use stationdb::tables::{
    CreateTableRequest, ImportTableRequest, RowSource, SourceTable, TableSource,
};
use stationdb::{Control, Error, Result};

use crate::format::{FileFormat, START_BYTES};
use crate::tdms::TdmsOptions;
use crate::{csv, parquet, tdms};

/// The tables of a file.
pub(crate) struct FileTables(Box<dyn TableSource>);

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
        let file = Box::new(file);
        let tables: Box<dyn TableSource> = match format {
            FileFormat::Csv => OneTable::boxed(csv::source(&request, file), request),
            FileFormat::Parquet => OneTable::boxed(parquet::source(&request, file), request),
            FileFormat::Tdms => Box::new(tdms::tables(&request, file, TdmsOptions::new())),
        };
        Ok((Self(tables), format))
    }
}

impl TableSource for FileTables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        self.0.advance(control)
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        self.0.table()
    }
}

/// The only table of a file.
struct OneTable {
    request: ImportTableRequest,
    rows: Box<dyn RowSource>,
    is_at_table: bool,
}

impl OneTable {
    fn boxed(rows: Box<dyn RowSource>, request: ImportTableRequest) -> Box<dyn TableSource> {
        Box::new(Self { request, rows, is_at_table: false })
    }
}

impl TableSource for OneTable {
    fn advance(&mut self, _: &Control) -> Result<bool> {
        Ok(!std::mem::replace(&mut self.is_at_table, true))
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        Ok(SourceTable::new(self.request.clone(), self.rows.as_mut()))
    }
}
