//! Every bound of the crate, in one place. An error that refuses a request names the bound.

// Modules that a disabled feature leaves out do not use their bounds.
#![cfg_attr(not(all(feature = "search", feature = "packages")), allow(dead_code))]

/// Bytes of one filter expression.
pub const FILTER_BYTES: usize = 256 * 1024;
/// Nesting of parentheses, calls and unary operators in a filter.
pub const FILTER_DEPTH: usize = 100;
/// Nodes of one filter's tree.
pub const FILTER_NODES: usize = 50_000;
/// Substitutions of one filter.
pub const FILTER_SUBSTITUTIONS: usize = 10_000;
/// Elements of one array or in-list of a filter.
pub const FILTER_LIST: usize = 10_000;
/// Bytes of a text that a filter builds from others; a longer one counts as null.
pub const FILTER_TEXT_BYTES: usize = RECORD_BYTES;
/// Total bytes of the texts that substitutions insert into one filter. Each occurrence counts.
pub const FILTER_SUBSTITUTED_BYTES: usize = RECORD_BYTES;
/// Steps of testing one record against one filter. A step is a condition, an element of a list, 64
/// bytes of a text that is searched, or 8 bytes of a text that is converted. The bound is about a
/// second of optimised evaluation.
pub const FILTER_WORK: u64 = 100_000_000;

/// Entries of one list that controls a query: columns, filters, orders, projections, y columns,
/// workspaces, kinds. For the rows of a table with more than a quarter of this many columns, the
/// bound is four entries for each column.
pub const QUERY_LIST: usize = 10_000;

/// Test results or steps on one page.
pub const RESULTS_TAKE: usize = 100_000;

/// Bytes of a text query.
pub const TEXT_QUERY_BYTES: usize = 16 * 1024;
/// Nesting of a text query.
pub const TEXT_QUERY_DEPTH: usize = 16;
/// Terms of a text query.
pub const TEXT_QUERY_TERMS: usize = 64;
/// Words that a prefix at the end of a phrase of a text query may expand to. A prefix outside of a
/// phrase has no such bound.
pub const TEXT_QUERY_EXPANSION: usize = 1024;

/// Bytes of a query string on the wire.
pub const QUERY_STRING_BYTES: usize = 1024 * 1024;
/// Bytes of a continuation token.
pub const TOKEN_BYTES: usize = 4096;
/// Bytes of a sort key that a continuation token contains as it is. For a longer key it contains a
/// shorter separator before the next key, or the id of the record and a hash of the key.
pub const TOKEN_POSITION_BYTES: usize = 2048;

/// Nesting of one JSON value in a stored record. With the levels that an answer adds around it, it
/// stays within the depth that JSON parsers commonly accept.
pub const JSON_DEPTH: usize = 116;
/// Bytes of one stored record.
pub const RECORD_BYTES: usize = 4 * 1024 * 1024;
/// How long the owner of a store waits for a process that looks into it.
pub(crate) const LOOKER_WAIT: std::time::Duration = std::time::Duration::from_secs(10);
/// Bytes of the record file from which on maintenance rewrites it, if more than nine sixteenths of
/// them are free. The free space of a smaller file is soon used again.
pub const RECORD_REWRITE_BYTES_MIN: u64 = 4 * 1024 * 1024;
/// Bytes in use up to which maintenance rewrites the record file, unless the options say otherwise.
/// Writers wait during a rewrite: about a second for this many bytes.
pub const RECORD_REWRITE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of the id and of the name of a registered workspace.
pub const WORKSPACE_BYTES: usize = 1024;
/// Bytes of one appended batch after encoding.
pub const BATCH_BYTES: usize = 64 * 1024 * 1024;
/// Memory of one query, unless the options say otherwise.
pub const QUERY_MEMORY_BYTES: usize = 256 * 1024 * 1024;
/// Memory for decoded dictionaries of all open segments together.
pub const DICTIONARY_CACHE_BYTES: usize = 32 * 1024 * 1024;
/// Threads that work on one query.
pub const QUERY_THREADS: usize = 2;

/// Bytes of temporary files of one sort.
pub const SPILL_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes of one Arrow IPC or Parquet message on import.
pub const IMPORT_MESSAGE_BYTES: usize = 256 * 1024 * 1024;
/// Bytes of schema or footer metadata on import.
pub const IMPORT_METADATA_BYTES: usize = 16 * 1024 * 1024;
/// Rows of one Arrow batch on import.
pub const IMPORT_BATCH_ROWS: usize = 16 * 1024 * 1024;
/// Tables of one import. It is one commit.
pub const IMPORT_TABLES: usize = 10_000;
/// Uncompressed bytes of what a reader of a stream or of a file of columns has open at the same
/// time on import.
pub const IMPORT_OPEN_BYTES: u64 = 1024 * 1024 * 1024;
/// Levels of groups in the schema of a Parquet file; the root is one of them.
pub const PARQUET_DEPTH: usize = 32;
/// Columns on import.
pub const IMPORT_COLUMNS: usize = 10_000;

/// Groups of one aggregate query.
pub const AGGREGATE_GROUPS: usize = 100_000;
/// Different keys of the groups of one aggregate query.
pub const AGGREGATE_KEYS: usize = 32;
/// Ranges of one histogram.
pub const AGGREGATE_BINS: usize = 10_000;

/// Columns of one table, unless the options say otherwise.
pub const TABLE_COLUMNS: usize = 2_500;
/// Rows of one table, unless the options say otherwise.
pub const TABLE_ROWS: u64 = 1_000_000_000;
/// Rows of one page of a row query.
pub const ROWS_TAKE: u32 = 10_000;
/// Bytes in memory of the rows of one page of a row query, unless its first row alone has more.
pub const ROWS_PAGE_BYTES: usize = 256 * 1024 * 1024;
/// Ranges of append ordinals of deleted rows that one table may have. Ranges that touch are one.
/// More that callers deleted are joined over the rows between them that went by its retention.
pub const DELETED_RANGES: usize = 1_000_000;
/// Seconds for which a policy may keep the rows of a table by their age: a thousand years.
pub const RETENTION_SECONDS: u64 = 31_622_400_000;
/// Columns that one table may ever have had, and their earlier names.
pub const COLUMN_HISTORY: usize = 20_000;
/// Changes of the columns of one table.
pub const COLUMN_REVISIONS: u64 = 1_000_000;
/// Ranges that one event of the change log names; an event of more names the first and the last
/// ordinal.
pub const EVENT_RANGES: usize = 4_096;
/// Tables of one page of a table query.
pub const TABLES_TAKE: u32 = 1_000;

/// Members of an `ar` or `tar` archive.
pub const PACKAGE_MEMBERS: usize = 10_000;
/// Compressed bytes of a control archive.
pub const PACKAGE_CONTROL_BYTES: usize = 1024 * 1024;
/// Decompressed bytes of a control archive.
pub const PACKAGE_CONTROL_INFLATED_BYTES: usize = 16 * 1024 * 1024;
/// Decompressed bytes for each compressed byte of a control archive.
pub const PACKAGE_RATIO: usize = 200;
/// Bytes of the control file itself.
pub const PACKAGE_CONTROL_TEXT_BYTES: usize = 1024 * 1024;
/// Bytes of a member name.
pub const PACKAGE_NAME_BYTES: usize = 4 * 1024;
/// Bytes of the file name of a package in its feed: the maximum of common file systems.
pub const PACKAGE_FILE_NAME_BYTES: usize = 255;
/// Bytes of one field of a control file.
pub const PACKAGE_FIELD_BYTES: usize = 64 * 1024;
/// Decompressed bytes of a control archive that are allowed whatever the ratio. A tar of one small
/// file is mostly zeros, and the longest field may repeat one line.
pub const PACKAGE_RATIO_FREE_BYTES: usize = 256 * 1024;
/// Memory of the decoder of a control archive, in KiB: the dictionary of `xz -9` and the decoder's
/// own state.
pub const PACKAGE_DECODER_KIB: u32 = 68 * 1024;
/// Fields of a control file.
pub const PACKAGE_FIELDS: usize = 1_000;

/// File content of at most this many bytes is stored in the record file.
pub const SMALL_BLOB_BYTES: usize = 16 * 1024;
/// Maximum of the option that sets [`SMALL_BLOB_BYTES`].
pub const SMALL_BLOB_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of one chunk of an upload session.
pub const UPLOAD_CHUNK_BYTES: u64 = 10 * 1024 * 1024;
/// Chunks of one upload session.
pub const UPLOAD_CHUNKS: u32 = 100_000;
/// Bytes of one file or package that is uploaded inside a transaction. The transaction has the
/// write turn during the upload.
pub const TRANSACTION_CONTENT_BYTES: u64 = 64 * 1024 * 1024;
/// Files of one page.
pub const FILES_TAKE: usize = 10_000;
/// Files of one page if the caller does not say.
pub const FILES_TAKE_DEFAULT: usize = 1_000;
/// Bytes of a file search expression.
pub const FILE_SEARCH_BYTES: usize = 64 * 1024;
/// Nesting of a file search expression.
pub const FILE_SEARCH_DEPTH: usize = 32;

/// Bytes of the id of a step.
pub const STEP_ID_BYTES: usize = 1_024;
/// Parameters of one step.
pub const STEP_PARAMETERS: usize = 100_000;

/// Items of one batch call of the asset service, and files of one call that links them.
pub const BATCH_ITEMS: usize = 1_000;
/// Findings in the report of a verification; further ones are only counted.
pub const FINDINGS: usize = 1_000;
/// Bytes of the change log entry of one call or one transaction: about 200,000 changes.
pub const LOG_ENTRY_BYTES: usize = 16 * 1024 * 1024;
/// Subscribers of the change feed. Each trim of the log reads all of them.
pub const SUBSCRIBERS: usize = 1_000;
/// Subscribers of the change feed that one user owns.
pub const SUBSCRIBERS_PER_OWNER: usize = 100;
/// Bytes of the user id that owns a subscriber.
pub const SUBSCRIBER_OWNER_BYTES: usize = 1_024;
/// Bytes of the name of a subscriber.
pub const SUBSCRIBER_NAME_BYTES: usize = 256;
/// Milliseconds for which a subscriber may hold the change log: ten years.
pub const SUBSCRIBER_HOLD_MS: u64 = 315_576_000_000;
/// Bytes of the change log that a subscriber may hold.
pub const SUBSCRIBER_HOLD_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// Milliseconds for which a transaction holds the write turn, unless the options say otherwise.
pub const TRANSACTION_HOLD_MS_DEFAULT: u64 = 30_000;
/// Milliseconds for which a subscriber holds the change log, unless it or the options say
/// otherwise: 14 days.
pub const SUBSCRIBER_HOLD_MS_DEFAULT: u64 = 1_209_600_000;
/// Bytes of the change log that a subscriber holds, unless it or the options say otherwise.
pub const SUBSCRIBER_HOLD_BYTES_DEFAULT: u64 = 256 * 1024 * 1024;
/// Bytes of names and ids that one page of a full pass of the change feed reads ahead.
pub const PASS_PAGE_BYTES: usize = 1024 * 1024;
/// Sources of imports of records.
pub const IMPORT_SOURCES: usize = 100;
/// Bytes of the name of a source of imports.
pub const IMPORT_SOURCE_BYTES: usize = 256;
/// Bytes of the position of a source of imports.
pub const IMPORT_POSITION_BYTES: usize = 4_096;
/// Records, and choices, of one import of records. It is one commit.
pub const IMPORT_RECORDS: usize = 100_000;
/// Conflicts of one source of imports that wait.
pub const IMPORT_CONFLICTS: usize = 10_000;
/// Operations that share one commit.
pub const GROUP_OPERATIONS: usize = 1_024;
/// Memory of a store, unless the options say otherwise.
pub const MEMORY_BUDGET_BYTES: u64 = 1 << 40;
/// Memory for writes of the record file since its last sync, for reads after a failure.
pub const RECORD_UNSYNCED_BYTES: usize = 32 * 1024 * 1024;
/// Page cache for a record file that is written anew, in addition to that of the open one.
pub const REWRITE_CACHE_BYTES: usize = 16 * 1024 * 1024;
/// Commits in memory that the record file does not have yet.
pub const MEMORY_TABLE_BYTES: usize = 32 * 1024 * 1024;
/// Cache of the record file.
pub const RECORD_CACHE_BYTES: usize = 64 * 1024 * 1024;
/// Memory of the text index's writer.
pub const SEARCH_WRITER_BYTES: usize = 32 * 1024 * 1024;
/// Memory for files of the text index that are cached whole.
pub const SEARCH_RESIDENT_BYTES: usize = 48 * 1024 * 1024;
/// Memory for verified blocks of the other files of the text index.
pub const SEARCH_BLOCKS_BYTES: usize = 16 * 1024 * 1024;
/// Documents that searches evaluate in memory before they are committed to the text index.
pub const SEARCH_OVERLAY_CHANGES: usize = 2_000;
/// Hits of one page of a search.
pub const SEARCH_TAKE: usize = 1_000;
/// Hits of one page of a search if the caller does not say.
pub const SEARCH_TAKE_DEFAULT: usize = 25;
/// Changes read from the change log at once to bring the text index up to date.
pub const SEARCH_FEED_CHANGES: usize = 5_000;
/// Changes after which the text index is made durable.
pub const SEARCH_CHECKPOINT_CHANGES: u64 = 100_000;

/// Sensors, properties, keywords and files of one asset, each.
pub const ASSET_COLLECTION: usize = 1_000;
/// Assets of one page of an asset query.
pub const ASSETS_TAKE: i64 = 1_000;
/// Assets of one start of a utilization.
pub const UTILIZATION_ASSETS: usize = 100;
/// Assets of a utilization history query that are looked up one by one. For more assets, the whole
/// history is read and filtered.
pub const UTILIZATION_LOOKUPS: usize = 16;
/// Largest magnitude of limits and numeric conditions of a specification.
pub const SPECIFICATION_MAGNITUDE: f64 = 7.9e28;
/// Events that one execution history keeps.
pub const EXECUTION_HISTORY: usize = 1_000;
/// Records of one page of work items, test plans and their templates.
pub const LAB_TAKE: usize = 1_000;

#[cfg(test)]
#[path = "../../tests/common/holds_at.rs"]
mod holds_at;
#[cfg(test)]
pub(crate) use holds_at::holds_at;
