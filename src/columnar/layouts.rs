//! The columns of a table at each of their revisions, and how rows of an older revision are read.
//!
//! What must hold: stored rows are matched with the columns of a table by the revision in which
//! they were written, never by name. A name that was dropped and added again is another column.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::schema::{TableSchema, arrow_type};
use crate::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use crate::error::{Error, Result};
use crate::model::tables::data::Column;
use crate::value::wire::record;

record! {
    /// A name that a column had.
    pub struct EarlierName {
        /// The revision of the columns in which the name ended.
        pub until: u64,
        /// The name.
        pub name: String,
    }

    /// From when to when a table had a column.
    pub struct ColumnLife {
        /// The revision of the columns that began with it.
        pub added: u64,
        /// The revision that began without it; none for a column that the table has.
        pub dropped: Option<u64>,
        /// Earlier names, in order.
        pub names: Vec<EarlierName>,
        /// The column when it was dropped, without its properties.
        pub column: Option<Column>,
    }
}

/// How rows of one revision of the columns are stored.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The columns of the stored rows.
    pub(crate) stored: Arc<TableSchema>,
    /// For each column of the table its position among the stored ones, if rows have it; none when
    /// the rows have the columns of the table.
    pub(crate) sources: Option<Arc<[Option<usize>]>>,
}

impl Layout {
    /// Stored rows with the columns of the table.
    ///
    /// # Errors
    /// `Corrupt` for rows that do not have the columns of the layout.
    pub(crate) fn adapt(&self, table: &TableSchema, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(sources) = &self.sources else { return Ok(batch) };
        let columns: Vec<usize> = (0..table.len()).collect();
        adapted(
            table,
            &columns,
            sources,
            |at| Ok(batch.columns().get(at).cloned()),
            batch.num_rows(),
        )
    }

    /// The position of a column of the table among the stored ones; none if rows do not have it.
    pub(crate) fn stored_at(&self, column: usize) -> Option<usize> {
        match &self.sources {
            None => Some(column),
            Some(sources) => sources.get(column).copied().flatten(),
        }
    }

    /// How many of the stored columns the table has no more.
    pub(crate) fn dropped_count(&self) -> usize {
        let sources = self.sources.iter().flat_map(|sources| sources.iter());
        match self.sources {
            None => 0,
            Some(_) => self.stored.len().saturating_sub(sources.flatten().count()),
        }
    }
}

/// A batch with these columns of a table; those that rows do not have are null.
pub(super) fn adapted(
    table: &TableSchema,
    columns: &[usize],
    sources: &[Option<usize>],
    mut stored: impl FnMut(usize) -> Result<Option<ArrayRef>>,
    row_count: usize,
) -> Result<RecordBatch> {
    let misfit = || {
        Error::corrupt(
            "stored rows do not have the columns of their table; restore it from a backup",
        )
    };
    let mut arrays = Vec::with_capacity(columns.len());
    for column in columns {
        arrays.push(match sources.get(*column).copied().flatten() {
            Some(at) => stored(at)?.ok_or_else(misfit)?,
            None => new_null_array(&arrow_type(table.column(*column)?.data_type), row_count),
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    RecordBatch::try_new_with_options(table.project(columns), arrays, &options)
        .map_err(|error| misfit().with_source(error))
}

/// The columns of a table at each of their revisions.
#[derive(Debug)]
pub(crate) struct Layouts {
    table: Arc<TableSchema>,
    /// Every column that the table ever had, in order of creation.
    lives: Vec<ColumnLife>,
    known: RefCell<BTreeMap<u64, Arc<Layout>>>,
}

impl Layouts {
    /// Of a table whose columns never changed.
    pub(crate) fn unchanged(table: Arc<TableSchema>) -> Self {
        let life = |_: &Column| ColumnLife::default();
        let lives = table.columns().iter().map(life).collect();
        Self { table, lives, known: RefCell::default() }
    }

    /// Of a table with these columns now.
    ///
    /// # Errors
    /// `Corrupt` when the columns of the table are not those that `lives` ends with.
    pub(crate) fn new(columns: Vec<Column>, revision: u64, lives: Vec<ColumnLife>) -> Result<Self> {
        let current: Vec<u64> =
            lives.iter().filter(|life| life.dropped.is_none()).map(ColumnLife::named).collect();
        if current.len() != columns.len() {
            return Err(Error::corrupt(
                "the columns of a table are not those of its history; restore it from a backup",
            ));
        }
        let table = TableSchema::new(columns, usize::MAX)
            .map_err(|error| Error::corrupt(error.message().to_owned()))?
            .at_revision(revision, current);
        Ok(Self { table: Arc::new(table), lives, known: RefCell::default() })
    }

    /// The columns that the table has.
    pub(crate) fn table(&self) -> &Arc<TableSchema> {
        &self.table
    }

    /// Every column that the table ever had, in order of creation.
    pub(crate) fn lives(&self) -> &[ColumnLife] {
        &self.lives
    }

    /// How rows are stored that were written at a revision of the columns.
    ///
    /// # Errors
    /// `Corrupt` for a revision that the table did not have.
    pub(crate) fn at(&self, revision: u64) -> Result<Arc<Layout>> {
        if let Some(known) = self.known.borrow().get(&revision) {
            return Ok(known.clone());
        }
        let made = Arc::new(self.make(revision)?);
        self.known.borrow_mut().insert(revision, made.clone());
        Ok(made)
    }

    fn make(&self, revision: u64) -> Result<Layout> {
        if revision == self.table.revision() {
            return Ok(Layout { stored: self.table.clone(), sources: None });
        }
        let damaged = || {
            Error::corrupt(format!(
                "rows of the columns' revision {revision} cannot be read: the table has the \
                 revision {}, and its history does not have that one; restore it from a backup",
                self.table.revision()
            ))
        };
        let (mut stored, mut sources) = (Vec::new(), Vec::new());
        let mut now = self.table.columns().iter();
        for life in &self.lives {
            let column = match &life.dropped {
                None => now.next(),
                Some(_) => life.column.as_ref(),
            };
            let mut column = column.ok_or_else(damaged)?.clone();
            let is_stored = life.added <= revision && life.dropped.is_none_or(|end| revision < end);
            if life.dropped.is_none() {
                sources.push(is_stored.then_some(stored.len()));
            }
            if is_stored {
                if let Some(earlier) = life.names.iter().find(|name| revision < name.until) {
                    column.name.clone_from(&earlier.name);
                }
                stored.push(column);
            }
        }
        if revision > self.table.revision() {
            return Err(damaged());
        }
        let stored = TableSchema::new(stored, usize::MAX)
            .map_err(|error| damaged().with_source(error))?
            .at_revision(revision, Vec::new());
        Ok(Layout { stored: Arc::new(stored), sources: Some(sources.into()) })
    }
}

impl ColumnLife {
    /// The revision in which the column got its last name. Together with the name it identifies the
    /// column in all revisions from there on.
    pub(crate) fn named(&self) -> u64 {
        self.names.last().map_or(self.added, |name| name.until)
    }
}

impl ColumnLife {
    /// Ends the name that the column has.
    pub(crate) fn rename(&mut self, revision: u64, name: &str) {
        self.names.push(EarlierName { until: revision, name: name.to_owned() });
    }

    /// Ends the column, which was `column`.
    pub(crate) fn end(&mut self, revision: u64, mut column: Column) {
        column.properties.clear();
        self.dropped = Some(revision);
        self.column = Some(column);
    }
}
