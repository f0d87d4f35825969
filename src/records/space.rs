//! The key spaces of the record file, and the redb tables that contain them. The order of the
//! spaces is stored on disk: new ones must be added at the end.
//!
//! Each redb table that a commit changes costs it a leaf and the branches above it. So the small
//! spaces that most commits change share one table: a commit writes one page for all of them.

use std::borrow::Cow;

use redb::TableDefinition;

/// One key space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Space {
    /// Records in their envelopes: kind code, record key.
    Records,
    /// Secondary indexes: kind code, index number, entry, record key -> included values, workspace.
    Index,
    /// The change log: sequence number -> what one commit changed.
    Log,
    /// Facts about the store as a whole, by name.
    Meta,
    /// Durable counters, by name.
    Counters,
    /// What derived state depends on: positions of subscribers, checkpoint of the text index; by
    /// name.
    Positions,
    /// State of a table that changes with every append: table key.
    TableState,
    /// Appended batches that are not sealed yet: table key, append ordinal of the first row.
    TableBuffer,
    /// Manifest entries of sealed segments: table key, segment number.
    Segments,
    /// Contents of small files: blob number.
    SmallBlobs,
    /// The blobs that a record or a chunk references: blob number -> length of the content.
    Blobs,
    /// Chunks of upload sessions: session key, chunk number.
    UploadChunks,
    /// Files on disk that no record references any more: path.
    PendingDelete,
    /// Intents of calls to the host that have no result yet: number of the intent.
    Intents,
    /// The parts of records that change often, in envelopes: kind code, record key.
    RecordState,
    /// Append ordinals of deleted rows: table key, number of a part of the ordinals.
    DeletedRows,
    /// The columns of tables at each of their revisions: table key.
    ColumnHistory,
    /// What was imported from other stores: see `session::imports`.
    Imports,
    /// Rows of the tables that the store keeps itself, until they are sealed: table key, key of the
    /// record that they belong to, number of the first row.
    RowChunks,
    /// What finds the steps of test results by their ids: key of the result, a number.
    StepLinks,
}

impl Space {
    /// Every space.
    pub(crate) const ALL: [Self; 20] = [
        Self::Records,
        Self::Index,
        Self::Log,
        Self::Meta,
        Self::Counters,
        Self::Positions,
        Self::TableState,
        Self::TableBuffer,
        Self::Segments,
        Self::SmallBlobs,
        Self::Blobs,
        Self::UploadChunks,
        Self::PendingDelete,
        Self::Intents,
        Self::RecordState,
        Self::DeletedRows,
        Self::ColumnHistory,
        Self::Imports,
        Self::RowChunks,
        Self::StepLinks,
    ];

    /// The name of the space, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Counters => "counters",
            Self::TableState => "table_state",
            Self::RecordState => "record_state",
            Self::DeletedRows => "deleted_rows",
            Self::ColumnHistory => "column_history",
            Self::Imports => "imports",
            space => space.place().table.name(),
        }
    }

    /// The number of the space on disk. It is never reused for another space.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    /// The space with this number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.number() == number)
    }

    /// Where the keys of the space are stored.
    pub(super) fn place(self) -> TablePrefix {
        let (table, prefix) = match self {
            Self::Records => (Table::Records, None),
            Self::Index => (Table::Index, None),
            Self::Log => (Table::Log, None),
            Self::Positions => (Table::Positions, None),
            Self::TableBuffer => (Table::Buffers, None),
            Self::Segments => (Table::Segments, None),
            Self::SmallBlobs => (Table::SmallBlobs, None),
            Self::Blobs => (Table::Blobs, None),
            Self::UploadChunks => (Table::UploadChunks, None),
            Self::PendingDelete => (Table::PendingDelete, None),
            Self::Intents => (Table::Intents, None),
            Self::RowChunks => (Table::RowChunks, None),
            Self::StepLinks => (Table::StepLinks, None),
            Self::Meta => (Table::State, Some(0)),
            Self::Counters => (Table::State, Some(2)),
            Self::TableState => (Table::State, Some(3)),
            Self::RecordState => (Table::State, Some(4)),
            Self::DeletedRows => (Table::State, Some(5)),
            Self::ColumnHistory => (Table::State, Some(6)),
            Self::Imports => (Table::State, Some(7)),
        };
        TablePrefix { table, prefix }
    }
}

/// Maps a key of a table to its space and to the key in that space.
pub(super) fn space_of(table: Table, key: &[u8]) -> Option<(Space, &[u8])> {
    let places = Space::ALL
        .into_iter()
        .map(|space| (space, space.place()))
        .chain([(Space::Log, RECENT_LOG)]);
    for (space, place) in places.filter(|(_, place)| place.table == table) {
        match place.prefix {
            None => return Some((space, key)),
            Some(prefix) if key.first() == Some(&prefix) => {
                return key.get(1..).map(|key| (space, key));
            }
            Some(_) => {}
        }
    }
    None
}

/// One redb table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Table {
    Records,
    Index,
    Log,
    /// Several small spaces, see [`Space::place`].
    State,
    Positions,
    Buffers,
    Segments,
    SmallBlobs,
    Blobs,
    UploadChunks,
    PendingDelete,
    Intents,
    RowChunks,
    StepLinks,
}

impl Table {
    /// The number of tables.
    pub(super) const COUNT: usize = 14;
    /// Every table.
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Records,
        Self::Index,
        Self::Log,
        Self::State,
        Self::Positions,
        Self::Buffers,
        Self::Segments,
        Self::SmallBlobs,
        Self::Blobs,
        Self::UploadChunks,
        Self::PendingDelete,
        Self::Intents,
        Self::RowChunks,
        Self::StepLinks,
    ];

    pub(super) fn definition(self) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
        TableDefinition::new(self.name())
    }

    /// The name of the table in the file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Index => "index",
            Self::Log => "log",
            Self::State => "state",
            Self::Positions => "positions",
            Self::Buffers => "table_buffer",
            Self::Segments => "segments",
            Self::SmallBlobs => "small_blobs",
            Self::Blobs => "blobs",
            Self::UploadChunks => "upload_chunks",
            Self::PendingDelete => "pending_delete",
            Self::Intents => "intents",
            Self::RowChunks => "row_chunks",
            Self::StepLinks => "step_links",
        }
    }

    pub(super) fn position(self) -> usize {
        self as usize
    }
}

/// Where keys are stored: a table, and a byte that precedes each key there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TablePrefix {
    pub(super) table: Table,
    prefix: Option<u8>,
}

/// Place of the newest rows of the change log; see `recent_log`.
pub(super) const RECENT_LOG: TablePrefix = TablePrefix { table: Table::State, prefix: Some(1) };

/// Whether a row of a table is the one that names the journal.
pub(super) fn is_journal_link(table: Table, key: &[u8]) -> bool {
    table == JOURNAL_LINK.table && key == JOURNAL_LINK.key(&[]).as_ref()
}

/// Place of the row that names the journal; it is in no space, so that no copy of the rows has it.
/// Its prefix is far from those of the spaces, which are numbered upwards.
pub(super) const JOURNAL_LINK: TablePrefix =
    TablePrefix { table: Table::State, prefix: Some(0xfe) };

impl TablePrefix {
    /// A key as it is stored in the table.
    pub(super) fn key(self, key: &[u8]) -> Cow<'_, [u8]> {
        match self.prefix {
            None => Cow::Borrowed(key),
            Some(prefix) => Cow::Owned([&[prefix], key].concat()),
        }
    }

    /// The end of a range, as a key of the table.
    pub(super) fn end(self, to: Option<&[u8]>) -> Option<Cow<'_, [u8]>> {
        match (self.prefix, to) {
            (Some(prefix), None) => Some(Cow::Owned(vec![prefix + 1])),
            (_, to) => to.map(|to| self.key(to)),
        }
    }

    /// Number of bytes that precede each key in the table.
    pub(super) fn prefix_len(self) -> usize {
        usize::from(self.prefix.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of one place never look like rows of another.
    #[test]
    fn every_place_has_its_own_keys() {
        let mut places: Vec<TablePrefix> = Space::ALL.into_iter().map(Space::place).collect();
        places.extend([RECENT_LOG, JOURNAL_LINK]);
        for (number, place) in places.iter().enumerate() {
            let clash = places.iter().skip(number + 1).find(|other| {
                place.table == other.table
                    && (place.prefix.is_none() || other.prefix.is_none() || place == *other)
            });
            assert_eq!(clash, None, "beside {place:?}");
        }
        assert_eq!(space_of(JOURNAL_LINK.table, &JOURNAL_LINK.key(&[])), None);
    }
}
