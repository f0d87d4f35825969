//! Where the tables of a store go in a lake.

use object_store::path::Path;
use stationdb::tables::TableMetadata;
use stationdb::{Error, Result};

use crate::names::{BATCHES, CHANGES, DELETED_ROWS};

/// Bytes of the name of a lake table.
const NAME_BYTES: usize = 64;

/// The lake table that a measurement table goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeTable {
    pub(crate) name: String,
    pub(crate) is_by_columns: bool,
}

impl LakeTable {
    /// A lake table of this name: at most 64 letters, digits, `-` and `_`, a letter or digit first.
    /// A measurement table with a column of another type than the lake table's goes to a lake table
    /// beside it, whose name has `_` and a hash of eight digits after it.
    ///
    /// Publishing refuses `batches`, names that end with `_deleted` or `_changes`, which other lake
    /// tables have, and names that end like those of lake tables beside others.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_by_columns: false }
    }

    /// One lake table for all measurement tables with the same columns; its name is `prefix`, `_`
    /// and a hash. The prefix is as the name of [`LakeTable::named`].
    #[must_use]
    pub fn by_columns(prefix: impl Into<String>) -> Self {
        Self { name: prefix.into(), is_by_columns: true }
    }

    /// Whether readers could take the lake table for another one.
    ///
    /// # Errors
    /// `InvalidArgument` for such a name, and for one that is no part of a path.
    pub(crate) fn check(&self) -> Result<()> {
        let name = self.name.as_str();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if !begins || name.len() > NAME_BYTES || !name.bytes().all(is_allowed) {
            return Err(Error::invalid(format!(
                "the layout names the lake table {name:?}: use at most {NAME_BYTES} letters, \
                 digits, '-' and '_', a letter or digit first"
            )));
        }
        // Some object stores are directories of a disk that folds case.
        let folded = name.to_lowercase();
        let is_own = folded == BATCHES
            || folded.ends_with(DELETED_ROWS)
            || folded.ends_with(CHANGES)
            || without_hash(&folded).is_some();
        if is_own {
            Err(Error::invalid(format!(
                "the layout names the lake table {name:?}, which is, or ends like, the name of \
                 another lake table: not {BATCHES}, and nothing that ends with {DELETED_ROWS}, \
                 {CHANGES} or a hash of eight digits"
            )))
        } else {
            Ok(())
        }
    }

    /// Whether a lake table is this one, or beside it.
    pub(crate) fn has(&self, home: &str) -> bool {
        let first = if self.is_by_columns { without_hash(home) } else { Some(home) };
        let Some(first) = first else { return false };
        first == self.name || without_hash(first) == Some(self.name.as_str())
    }
}

/// The name before `_` and a short hash.
fn without_hash(name: &str) -> Option<&str> {
    let (first, hash) = name.rsplit_once('_')?;
    let is_hash = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(first)
}

/// Decides what of a store goes where in a lake.
///
/// A lake of several roots is several lakes: each has its own tables and positions.
///
/// ```
/// use object_store::path::Path;
/// use stationdb_lake::Layout;
///
/// /// What is measured for customers goes to a lake of its own; what is secret stays here.
/// struct Customers;
///
/// impl Layout for Customers {
///     fn roots(&self) -> Vec<Path> {
///         vec![Path::from("plant"), Path::from("customers")]
///     }
///
///     fn root(&self, workspace: &str) -> Option<Path> {
///         match workspace {
///             "secret" => None,
///             "customers" => Some(Path::from("customers")),
///             _ => Some(Path::from("plant")),
///         }
///     }
/// }
/// ```
pub trait Layout: Send + Sync + 'static {
    /// All roots.
    fn roots(&self) -> Vec<Path>;

    /// The root for the resources of a workspace, one of [`Layout::roots`]. Nothing of a workspace
    /// without one leaves the station.
    fn root(&self, workspace: &str) -> Option<Path>;

    /// The lake table for the rows of a table; `None` keeps its rows at the station. By default
    /// tables with the same columns share one.
    fn rows(&self, _table: &TableMetadata) -> Option<LakeTable> {
        Some(LakeTable::by_columns("rows"))
    }

    /// Whether rows that the retention of a table deletes at the station stay in the lake. By
    /// default they stay; otherwise they go like rows that a caller deletes.
    ///
    /// An answer that changes counts for what the retention deletes after the last batch. With
    /// `false`, rows that stayed before go with the next full pass; with `true`, rows that went
    /// before do not come back.
    fn retains(&self, _table: &TableMetadata) -> bool {
        true
    }

    /// Whether the lake gets the steps of results. By default it does; otherwise it gets their
    /// measurements alone, which takes less time and room.
    ///
    /// An answer that changes counts for results that change after the last batch, and for all with
    /// the next full pass.
    fn has_steps(&self) -> bool {
        true
    }
}

/// Everything goes to one root, and the rows of tables with the same columns to one lake table.
#[derive(Clone, Debug)]
pub struct OneRoot(Path);

impl OneRoot {
    /// The layout with this root.
    #[must_use]
    pub fn new(root: impl Into<Path>) -> Self {
        Self(root.into())
    }
}

impl Layout for OneRoot {
    fn roots(&self) -> Vec<Path> {
        vec![self.0.clone()]
    }

    fn root(&self, _workspace: &str) -> Option<Path> {
        Some(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_lake_tables_are_refused() {
        let taken =
            ["batches", "Batches", "x_deleted", "product_changes", "X_CHANGES", "x_0123abcd"];
        let no_part = ["", "_x", ".x", "a/b", "a b", "a\"b", "..", "ä"];
        for name in taken.iter().chain(&no_part) {
            for lake in [LakeTable::named(*name), LakeTable::by_columns(*name)] {
                assert!(lake.check().is_err(), "{name}");
            }
        }
        assert!(LakeTable::named("x".repeat(NAME_BYTES + 1)).check().is_err());
        for name in ["rows", "curves-2", "batches2", "7", "x_deleted_2"] {
            LakeTable::named(name).check().unwrap();
        }
    }

    #[test]
    fn lake_tables_beside_are_told_from_others_that_begin_alike() {
        let named = LakeTable::named("curves");
        assert!(named.has("curves") && named.has("curves_0123abcd"));
        assert!(!named.has("curves2") && !named.has("curves_old") && !named.has("curve"));
        let by_columns = LakeTable::by_columns("rows");
        assert!(by_columns.has("rows_0123abcd") && by_columns.has("rows_0123abcd_89abcdef"));
        assert!(!by_columns.has("rows") && !by_columns.has("rows_x_0123abcd"));
    }
}
