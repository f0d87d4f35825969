//! The key spaces of the record file, one redb table each. Their order is on disk: new ones come last.

use redb::TableDefinition;

/// One key space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Space {
    /// Records in their envelopes: kind code, record key.
    Records,
    /// Secondary indexes: kind code, index number, entry, record key -> workspace.
    Index,
    /// The change log: sequence number -> what one commit changed.
    Log,
    /// Facts of the store as a whole, by name.
    Meta,
    /// Durable counters, by name.
    Counters,
    /// What derived state depends on: positions of subscribers, checkpoint of the text index, by name.
    Positions,
    /// State of a table that changes with every append: table key.
    TableState,
    /// Appended batches that are not sealed yet: table key, batch number.
    TableBuffer,
    /// Manifest entries of sealed segments: table key, segment number.
    Segments,
    /// Contents of small files: blob number.
    SmallBlobs,
    /// The blobs that a record or a chunk names: blob number -> length of the content.
    Blobs,
    /// Chunks of upload sessions: session key, chunk number.
    UploadChunks,
    /// Files on disk that no record names any more: sequence number, path.
    PendingDelete,
    /// Intents of calls to the host that have no result yet: sequence number.
    Intents,
    /// The parts of records that change often, in envelopes: kind code, record key.
    RecordState,
}

impl Space {
    /// Every space.
    pub(crate) const ALL: [Self; 15] = [
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
    ];

    pub(super) fn definition(self) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
        TableDefinition::new(self.name())
    }

    /// The name of the redb table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Index => "index",
            Self::Log => "log",
            Self::Meta => "meta",
            Self::Counters => "counters",
            Self::Positions => "positions",
            Self::TableState => "table_state",
            Self::TableBuffer => "table_buffer",
            Self::Segments => "segments",
            Self::SmallBlobs => "small_blobs",
            Self::Blobs => "blobs",
            Self::UploadChunks => "upload_chunks",
            Self::PendingDelete => "pending_delete",
            Self::Intents => "intents",
            Self::RecordState => "record_state",
        }
    }

    pub(super) fn position(self) -> usize {
        self as usize
    }

    /// The number of the space on disk; it is never given to another.
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// The space with this number.
    pub(super) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|space| space.number() == number)
    }
}
