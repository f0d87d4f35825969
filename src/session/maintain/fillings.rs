//! The list of indexes that are not complete in a snapshot.

use crate::error::Result;
use crate::model::by_code;
use crate::records::{ReadSource, Space, envelope};
use crate::session::view::View;
use crate::value::id::Kind;
use crate::value::wire::record;

/// The row of [`Space::Meta`] that lists the incomplete indexes.
pub(crate) const FILLING_KEY: &[u8] = b"filling";

record! {
    /// An index that is being filled.
    pub struct Filling {
        /// Code of the kind.
        pub kind: u8,
        /// Number of the index.
        pub index: u8,
        /// Key of the last record whose entries the index has; empty before the first.
        pub after: Vec<u8>,
    }

    /// The indexes that are being filled.
    pub struct Fillings {
        /// In the order in which they are filled.
        pub indexes: Vec<Filling>,
    }
}

impl Fillings {
    /// Reads the list of a snapshot.
    ///
    /// # Errors
    /// `Corrupt` when the row is damaged.
    pub(crate) fn of(source: ReadSource<'_>) -> Result<Self> {
        let row = source.get(Space::Meta, FILLING_KEY)?;
        row.map_or_else(|| Ok(Self::default()), |row| envelope::from_row(FILLING_KEY, &row))
    }

    /// Whether an index contains the entries of the record under `key`: it is complete, or filled
    /// that far.
    pub(crate) fn has(&self, kind: u8, index: u8, key: &[u8]) -> bool {
        let mut listed =
            self.indexes.iter().filter(|filling| (filling.kind, filling.index) == (kind, index));
        listed.next().is_none_or(|filling| key <= filling.after.as_slice())
    }

    fn numbers(&self, kind: u8) -> Vec<u8> {
        let of_kind = self.indexes.iter().filter(|filling| filling.kind == kind);
        of_kind.map(|filling| filling.index).collect()
    }

    /// The names of the indexes: `index 6 of file`.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |filling: &Filling| {
            let kind = by_code(filling.kind).map_or("unknown kind", |known| known.kind.name);
            format!("index {} of {kind}", filling.index)
        };
        self.indexes.iter().map(name).collect()
    }
}

impl View<'_> {
    /// The numbers of the indexes of a kind that are not complete in this snapshot.
    ///
    /// # Errors
    /// `Corrupt` when the list is damaged.
    pub(crate) fn filling_indexes(&self, kind: Kind) -> Result<Vec<u8>> {
        let fillings = self.fillings()?;
        Ok(fillings.map(|fillings| fillings.numbers(kind.code)).unwrap_or_default())
    }

    /// The indexes that are not complete in this snapshot; `None` if no index of the store is being
    /// filled.
    ///
    /// # Errors
    /// As [`View::filling_indexes`].
    pub(crate) fn fillings(&self) -> Result<Option<Fillings>> {
        self.context().engine.growth.is_set().then(|| Fillings::of(self.source())).transpose()
    }
}
