//! Where the tables of a store go in a lake.

use object_store::path::Path;
use stationdb::tables::TableMetadata;

/// The lake table that a measurement table goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeTable {
    pub(crate) name: String,
    pub(crate) is_by_columns: bool,
}

impl LakeTable {
    /// A lake table of this name. A measurement table with a column of another type than the lake
    /// table's goes to a lake table beside it, whose name has a suffix.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_by_columns: false }
    }

    /// One lake table for all measurement tables with the same columns; its name begins with
    /// `prefix`.
    #[must_use]
    pub fn by_columns(prefix: impl Into<String>) -> Self {
        Self { name: prefix.into(), is_by_columns: true }
    }
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
