//! The schema of a table, and the Arrow schema of its rows in memory and in files.

use std::collections::HashMap;
use std::sync::Arc;

use crate::arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use crate::arrow::error::ArrowError;
use crate::error::{Error, Result};
use crate::model::tables::data::{Column, ColumnType, DataType};
use crate::value::limits;
use crate::value::nearest::did_you_mean;

/// The time zone of every timestamp column.
pub const UTC: &str = "UTC";

/// The validated columns of a table: unique names, exactly one index.
#[derive(Clone, Debug)]
pub struct TableSchema {
    columns: Vec<Column>,
    by_name: HashMap<String, usize>,
    index: usize,
    arrow: SchemaRef,
    /// The revision of the table's columns; 0 until they change.
    revision: u64,
    /// The revision in which each column got its name; nothing where all have had it from the
    /// first one on.
    named: Vec<u64>,
}

impl TableSchema {
    /// Checks the columns of a new or stored table.
    ///
    /// # Errors
    /// `InvalidArgument` for no columns, an empty or repeated name, no index or several, or an
    /// index column of a type that cannot be the index; `LimitExceeded` for more than
    /// `max_columns`.
    pub fn new(columns: Vec<Column>, max_columns: usize) -> Result<Self> {
        if columns.is_empty() {
            return Err(
                Error::invalid("a table needs columns, one of them its INDEX").at_member("columns")
            );
        }
        if columns.len() > max_columns {
            return Err(Error::limit(format!(
                "the table has {} columns, more than the {max_columns} that one table may have",
                columns.len()
            ))
            .at_member("columns"));
        }
        let mut by_name = HashMap::with_capacity(columns.len());
        let mut index = None;
        for (position, column) in columns.iter().enumerate() {
            let place = |member: &str| format!("columns[{position}].{member}");
            if column.name.is_empty() {
                return Err(Error::invalid("a column needs a name").at_member(place("name")));
            }
            if by_name.insert(column.name.clone(), position).is_some() {
                return Err(Error::invalid(format!("two columns have the name {:?}", column.name))
                    .with_args([column.name.clone()])
                    .at_member(place("name")));
            }
            check_indexed(column).map_err(|error| error.at_member(place("indexed")))?;
            if column.column_type == ColumnType::Index {
                if !column.data_type.can_be_index() {
                    return Err(Error::invalid(format!(
                        "column {:?} of type {} cannot be the INDEX; use INT32, INT64 or a time",
                        column.name, column.data_type
                    ))
                    .at_member(place("dataType")));
                }
                if index.replace(position).is_some() {
                    return Err(Error::invalid(
                        "a table has exactly one INDEX column; this is a second one",
                    )
                    .at_member(place("columnType")));
                }
            }
        }
        let index = index.ok_or_else(|| {
            Error::invalid(
                "a table needs exactly one INDEX column of type INT32, INT64 or a TIMESTAMP",
            )
            .at_member("columns")
        })?;
        let fields: Vec<Field> = columns.iter().map(arrow_field).collect();
        Ok(Self {
            columns,
            by_name,
            index,
            arrow: Arc::new(Schema::new(fields)),
            revision: 0,
            named: Vec::new(),
        })
    }

    /// Checks the columns of a table with the default bound on their number.
    ///
    /// # Errors
    /// As [`TableSchema::new`].
    pub fn with_default_limit(columns: Vec<Column>) -> Result<Self> {
        Self::new(columns, limits::TABLE_COLUMNS)
    }

    /// The same columns, as those of a revision.
    pub(super) fn at_revision(self, revision: u64, named: Vec<u64>) -> Self {
        Self { revision, named, ..self }
    }

    /// The revision of the table's columns; 0 until they change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The revision in which the column with this name got it; 0 for a column that has had it from
    /// the first revision on. Name and revision identify the column.
    pub(crate) fn named(&self, name: &str) -> u64 {
        self.by_name.get(name).and_then(|at| self.named.get(*at)).copied().unwrap_or_default()
    }

    /// The columns in order of creation.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Number of columns.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Position of the index column.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Positions of the columns that have value indexes.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().enumerate().filter(|(_, c)| c.is_indexed()).map(|(at, _)| at)
    }

    /// The Arrow schema of whole rows.
    #[must_use]
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The column at a position that came from this schema.
    ///
    /// # Errors
    /// `Corrupt` when there is none.
    pub fn column(&self, position: usize) -> Result<&Column> {
        self.columns
            .get(position)
            .ok_or_else(|| Error::corrupt(format!("the table has no column {position}")))
    }

    /// Position of a column.
    ///
    /// # Errors
    /// `InvalidArgument` when there is no column with this name.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.by_name.get(name).copied().ok_or_else(|| {
            Error::invalid(format!("the table has no column {name:?}{}", self.hint(name)))
                .with_args([name])
        })
    }

    /// The column that `name` probably means, or the names that there are.
    fn hint(&self, name: &str) -> String {
        /// Names that a message lists.
        const LISTED: usize = 20;
        let names = || self.columns.iter().map(|column| column.name.as_str());
        let near = did_you_mean(name, names());
        if !near.is_empty() {
            return near;
        }
        let listed: Vec<&str> = names().take(LISTED).collect();
        let more = if self.columns.len() > LISTED { " and more" } else { "" };
        format!("; its columns are {}{more}", listed.join(", "))
    }

    /// Positions of the named columns; without names, of all columns in order of creation.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown or repeated name; `member` is the path of the list in the
    /// request.
    pub fn projection(&self, names: Option<&[String]>, member: &str) -> Result<Vec<usize>> {
        let names = match names {
            None | Some([]) => return Ok((0..self.columns.len()).collect()),
            Some(names) => names,
        };
        let mut seen = vec![false; self.columns.len()];
        names
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let position = self
                    .position(name)
                    .map_err(|error| error.at_member(format!("{member}[{place}]")))?;
                match seen.get_mut(position) {
                    Some(seen) if !*seen => *seen = true,
                    _ => {
                        return Err(Error::invalid(format!("column {name:?} is listed twice"))
                            .with_args([name.clone()])
                            .at_member(format!("{member}[{place}]")));
                    }
                }
                Ok(position)
            })
            .collect()
    }

    /// The Arrow schema of the columns at these positions.
    #[must_use]
    pub fn project(&self, positions: &[usize]) -> SchemaRef {
        if positions.iter().copied().eq(0..self.columns.len()) {
            return self.arrow.clone();
        }
        let fields: Vec<_> =
            positions.iter().filter_map(|&at| self.arrow.fields().get(at).cloned()).collect();
        Arc::new(Schema::new(fields))
    }
}

/// Checks that a column that is to have a value index can have one.
///
/// # Errors
/// `InvalidArgument` for the index of the table, and for floats and booleans.
pub(crate) fn check_indexed(column: &Column) -> Result<()> {
    let refused = |why: &str| {
        Err(Error::invalid(format!("column {:?} cannot be indexed: {why}", column.name))
            .with_args([column.name.clone()]))
    };
    match column.data_type {
        _ if !column.is_indexed() => Ok(()),
        _ if column.column_type == ColumnType::Index => {
            refused("it is the INDEX, in whose order the rows are; leave out indexed")
        }
        DataType::Bool | DataType::Float32 | DataType::Float64 => {
            refused("only columns of STRING, INT32, INT64 and times can be")
        }
        _ => Ok(()),
    }
}

/// The error of batches of one table that do not fit together.
pub(in crate::columnar) fn misfit(error: ArrowError) -> Error {
    Error::corrupt("rows of one table have different columns").with_source(error)
}

fn arrow_field(column: &Column) -> Field {
    Field::new(
        &column.name,
        arrow_type(column.data_type),
        column.column_type == ColumnType::Nullable,
    )
}

/// The Arrow type that values of `data_type` have in memory.
#[must_use]
pub fn arrow_type(data_type: DataType) -> ArrowType {
    match data_type {
        DataType::Bool => ArrowType::Boolean,
        DataType::Float32 => ArrowType::Float32,
        DataType::Float64 => ArrowType::Float64,
        DataType::Int32 => ArrowType::Int32,
        DataType::Int64 => ArrowType::Int64,
        DataType::String => ArrowType::Utf8,
        DataType::Timestamp => ArrowType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
        DataType::TimestampMicros => ArrowType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        DataType::TimestampNanos => ArrowType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
    }
}
