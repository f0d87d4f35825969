//! The columns that the header of a text names, and the fields of a line that have them.

use std::collections::HashSet;

use stationdb::{Error, Place, Result};

use super::layout::{Named, number_repeated};
use crate::options::ImportOptions;

/// The columns of a text.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The names as the header has them, and without blanks around them.
    pub(super) raw_names: Vec<String>,
    pub(super) names: Vec<String>,
    /// The field of a line that has each column, and what the header says of it.
    pub(super) fields: Vec<usize>,
    pub(super) about: Vec<Named>,
    /// Fields without a name, in which there must be no value.
    pub(super) unnamed: Vec<usize>,
    /// What was assumed.
    pub(super) assumed: Vec<String>,
}

impl Header {
    /// The columns of a header in this line, of which the fields before `from` are none. With
    /// `has_blocks`, fields without names stand between blocks of columns.
    ///
    /// # Errors
    /// `InvalidArgument` for a header without names and a repeated name.
    pub(super) fn new(
        columns: Vec<Named>,
        from: usize,
        line: u64,
        has_blocks: bool,
        options: &ImportOptions,
    ) -> Result<Self> {
        if columns.iter().all(|column| column.name.trim().is_empty()) {
            let error = Error::invalid(
                "no column has a name; the first line must name the columns, and lines before it \
                 are skipped with skipLines",
            );
            return Err(error.at(Place::Line { line, column: None }));
        }
        let mut out = Self::default();
        for (field, column) in columns.into_iter().enumerate().skip(from) {
            let name = match column.name.trim() {
                "" if has_blocks || options.side_by_side == Some(true) => {
                    out.unnamed.push(field);
                    continue;
                }
                // Programs leave the name of row numbers empty, and end lines with separators.
                "" => format!("column_{}", field + 1),
                name => name.to_owned(),
            };
            out.raw_names.push(column.name.clone());
            out.fields.push(field);
            out.about.push(Named { name, ..column });
        }
        if options.side_by_side == Some(true) && !has_blocks {
            for name in number_repeated(&mut out.about) {
                out.assumed.push(format!(
                    "line {line} has the name {name:?} more than once; the later ones are numbered, \
                     as sideBySide says"
                ));
            }
            out.raw_names = out.about.iter().map(|column| column.name.clone()).collect();
        }
        out.names = out.about.iter().map(|column| column.name.clone()).collect();
        let mut seen = HashSet::new();
        match out.names.iter().find(|name| !seen.insert(*name)) {
            None => Ok(out),
            Some(name) => {
                let error = Error::invalid(format!(
                    "two columns have the name {name:?}; if blocks of columns stand beside each \
                     other, set sideBySide"
                ));
                Err(error.at(Place::Line { line, column: Some(name.clone()) }))
            }
        }
    }

    /// The field of a column; the number of fields for none.
    pub(super) fn field(&self, column: usize) -> usize {
        self.fields.get(column).copied().unwrap_or(usize::MAX / 2)
    }
}
