//! A file as a source of its tables.

use std::fs::File;

use stationdb::tables::{
    CreateTableRequest, ImportTableRequest, RowSource, SourceTable, TableSource,
};
use stationdb::{Control, Error, Result};

use crate::format::FileFormat;
use crate::opened::SourceFile;
use crate::tdms::TdmsOptions;
use crate::touchstone::TouchstoneOptions;
use crate::{csv, lvm, parquet, stdf, tdms, touchstone};

/// The tables of a file.
pub(crate) struct FileTables(Box<dyn TableSource>);

impl FileTables {
    /// The tables of an open file. Its format is found where `format` is absent. A new table without a name is
    /// named by the file.
    ///
    /// # Errors
    /// `Io`; those of [`SourceFile::format`]; `Unsupported` for a file with test results, and for a
    /// pipe whose format is not read from its begin to its end.
    pub(crate) fn new(
        file: SourceFile,
        format: Option<FileFormat>,
        request: &ImportTableRequest,
    ) -> Result<Self> {
        let format = match format {
            Some(format) => format,
            None => file.format()?.table()?,
        };
        let (path, raw, ports) = (file.path().to_owned(), file.raw, file.ports);
        let mut request = request.clone();
        if request.id.is_none() {
            let table = request.table.get_or_insert_with(CreateTableRequest::default);
            if table.name.as_ref().is_none_or(String::is_empty) {
                table.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            }
        }
        let seekable = |file: SourceFile| file.into_file(format.as_str()).map(Box::new);
        Ok(Self(match format {
            FileFormat::Csv => OneTable::boxed(csv::source(&request, file.into_read()), request),
            FileFormat::Lvm => lvm::tables(&request, seekable(file)?),
            FileFormat::Parquet => {
                OneTable::boxed(parquet::source(&request, seekable(file)?), request)
            }
            FileFormat::StdfRecords => {
                Box::new(StdfTables { input: Some(seekable(file)?), request, tables: None })
            }
            FileFormat::Tdms => {
                Box::new(tdms::tables(&request, seekable(file)?, TdmsOptions::new().raw(raw)))
            }
            FileFormat::Touchstone => {
                let mut options = TouchstoneOptions::new().raw(raw);
                options.ports = ports.or_else(|| touchstone::ports_of(&path));
                touchstone::tables(&request, seekable(file)?, &options)
            }
        }))
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

/// The records of an STDF file, which are looked through when the first table is asked for.
struct StdfTables {
    input: Option<Box<File>>,
    request: ImportTableRequest,
    tables: Option<stdf::Tables>,
}

impl TableSource for StdfTables {
    fn advance(&mut self, control: &Control) -> Result<bool> {
        if let Some(input) = self.input.take() {
            self.tables = Some(stdf::tables(input, self.request.clone(), control)?);
        }
        self.tables.as_mut().map_or(Ok(false), |tables| tables.advance(control))
    }

    fn table(&mut self) -> Result<SourceTable<'_>> {
        match &mut self.tables {
            Some(tables) => tables.table(),
            None => Err(Error::invalid("no table of the file is open")),
        }
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
