//! A source that is opened when its rows are asked for, so that a request is checked before its
//! file is read.

use std::collections::BTreeMap;

use stationdb::arrow::array::RecordBatch;
use stationdb::tables::{Column, ColumnNote, RowSource, SourceForm, TableSchema};
use stationdb::{Control, Error, Result};

/// A source, and how it is opened.
pub(crate) struct Opening<'o, S> {
    open: Option<Box<dyn FnOnce() -> Result<S> + 'o>>,
    source: Option<S>,
    first_row: Option<u64>,
}

impl<'o, S: RowSource> Opening<'o, S> {
    pub(crate) fn new(open: impl FnOnce() -> Result<S> + 'o) -> Self {
        Self { open: Some(Box::new(open)), source: None, first_row: None }
    }

    fn source(&mut self) -> Result<&mut S> {
        if let Some(open) = self.open.take() {
            let source = self.source.insert(open()?);
            if let Some(row) = self.first_row {
                source.number_from(row);
            }
        }
        self.source.as_mut().ok_or_else(|| Error::invalid("the file could not be opened before"))
    }
}

impl<S: RowSource> RowSource for Opening<'_, S> {
    fn columns(&mut self) -> Result<Vec<Column>> {
        self.source()?.columns()
    }

    fn next_batch(
        &mut self,
        schema: &TableSchema,
        control: &Control,
    ) -> Result<Option<RecordBatch>> {
        self.source()?.next_batch(schema, control)
    }

    fn number_from(&mut self, row: u64) {
        self.first_row = Some(row);
        if let Some(source) = &mut self.source {
            source.number_from(row);
        }
    }

    fn row_count(&self) -> Option<u64> {
        self.source.as_ref()?.row_count()
    }

    fn name(&self) -> Option<String> {
        self.source.as_ref()?.name()
    }

    fn properties(&self) -> BTreeMap<String, String> {
        self.source.as_ref().map(S::properties).unwrap_or_default()
    }

    fn note(&self, column: &str) -> ColumnNote {
        self.source.as_ref().map(|source| source.note(column)).unwrap_or_default()
    }

    fn form(&self) -> SourceForm {
        self.source.as_ref().map(S::form).unwrap_or_default()
    }

    fn warnings(&self) -> Vec<String> {
        self.source.as_ref().map(S::warnings).unwrap_or_default()
    }

    fn begin_again(&mut self) -> bool {
        self.source.as_mut().is_some_and(S::begin_again)
    }
}
