//! The settings of a store; each names its default.

use std::sync::Arc;

use super::identity::{AccessPolicy, AllowAll};
use super::runner::{FreshIdRunner, JobRunner};
use crate::model::results::ResultRetention;
use crate::value::{Clock, SystemClock, limits};

/// Settings of an open store, shared by all its sessions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The source of the store's time; default: the system clock.
    pub clock: Arc<dyn Clock>,
    /// Who may do what; default: everybody may do everything.
    pub policy: Arc<dyn AccessPolicy>,
    /// Runs the jobs and notebooks of work items; default: runs nothing, and answers each call with
    /// fresh ids.
    pub runner: Arc<dyn JobRunner>,
    /// The workspace of a resource that is created without one; default `default`.
    pub default_workspace: String,
    /// Whether records may be put into registered workspaces alone, also while none is registered;
    /// default off. Once a workspace is registered they may in any case, see
    /// [`WorkspaceService`](crate::workspaces::WorkspaceService).
    pub require_registered_workspaces: bool,
    /// Whether a test result whose part number no product has creates the product; default on.
    pub results_create_products: bool,
    /// Which test results maintenance keeps; default: all. It deletes the others, see
    /// [`ResultRetention`]. It does not ask the access policy, looks at the results once in ten
    /// minutes, and deletes at most 50,000 in one pass.
    pub result_retention: Option<ResultRetention>,
    /// The vendor prefix of asset members, platforms and package extensions; default `NI`.
    pub vendor_prefix: String,
    /// Days before its due date in which a calibration counts as approaching; default 30.
    pub calibration_warning_days: u32,
    /// Seconds after its last heartbeat in which a running utilization counts as in use; default
    /// 600.
    pub utilization_timeout_s: u32,
    /// Bytes up to which the content of a file is stored in the record file; default 16 KiB.
    pub small_blob_bytes: usize,
    /// Largest file in bytes; default: no limit.
    pub file_bytes_max: Option<u64>,
    /// Days that an upload session waits for its next chunk; after that the store drops it and its
    /// chunks. Default 7; `None` waits for ever.
    pub upload_session_days: Option<u32>,
    /// Rows in the buffer of a table at which it is sealed into a segment; default 65,536.
    pub seal_rows: u64,
    /// Bytes in the buffer of a table at which it is sealed into a segment; default 8 MiB.
    pub seal_bytes: u64,
    /// Most columns of one table; default 2,500.
    pub table_columns_max: usize,
    /// Most rows of one table; default 1,000,000,000.
    pub table_rows_max: u64,
    /// Most memory of one query, in bytes; default 256 MiB.
    pub query_memory_bytes: usize,
    /// Most memory of the store, in bytes: its parts, its caches and all calls together; default
    /// 1 TiB. Parts that take more together than this are refused when the store is opened, and a
    /// call that cannot have its share is refused with the figures. While calls need it, caches
    /// give back theirs. `docs/performance.md` says what it counts.
    pub memory_budget_bytes: u64,
    /// Bytes of the record file's cache: at most three quarters for its pages, the rest for records
    /// that are read by their ids again and again; default 64 MiB.
    pub record_cache_bytes: usize,
    /// Free bytes of the disk below which writes are refused with `NoSpace`. Deletes and
    /// maintenance may still use them, to free space. Default 16 MiB.
    pub reserve_bytes: u64,
    /// Bytes of commits that are kept in memory and in the journal until a checkpoint moves them
    /// into the record file; while a checkpoint is under way, up to four times as many. They bound
    /// the time to open the store after a power cut. Default 32 MiB; with 0 each commit goes into
    /// the record file at once.
    pub memory_table_bytes: usize,
    /// Without a memory table, uses two syncs for each commit of the record file, so that the store
    /// opens in constant time after a power cut; default off. With one, checkpoints always do.
    pub quick_repair: bool,
    /// Maintenance rewrites a record file that is more than half free if at most this many bytes of
    /// it are in use. Writers wait meanwhile. Default 64 MiB; 0 turns rewriting off.
    pub record_rewrite_bytes_max: u64,
    /// Milliseconds for which a transaction may hold the write turn, from its begin; default 30 s.
    /// Past that it is rolled back, see [`OwnedTransaction`](crate::OwnedTransaction). `u64::MAX` is
    /// no bound.
    pub transaction_hold_ms: u64,
    /// Whether a background thread seals, merges and sweeps; default on.
    pub maintenance_thread: bool,
    /// Days from the begin of one scrub to that of the next, in which maintenance reads everything
    /// that the store has and compares it with its checksums; default 30, and 0 for never. What it
    /// finds is in the [`status`](crate::Store::status).
    pub scrub_days: u32,
    /// Most bytes that a scrub reads in a second; default 8 MiB, and at least 1.
    pub scrub_bytes_per_s: u64,
    /// Most bytes of the archive of commits, which a backup set takes over, so that a restore can
    /// end between two backups; 0 turns it off. It is kept in the store, so that every process that
    /// opens it archives. Default: what the store has kept, and in a new store 0. A bound of a few
    /// times `memory_table_bytes` is the least that makes sense. See
    /// [`archive_to_set`](crate::Store::archive_to_set).
    pub archive_bytes: Option<u64>,
    /// Entries of the change log that are kept also for readers without a hold; default 1,000,000.
    /// Entries beyond it are kept while a subscriber holds them.
    pub log_entries_max: u64,
    /// Milliseconds for which a subscriber without bounds of its own holds the change log, from the
    /// oldest commit that it has not handled; default 14 days. With 0 it holds nothing beyond
    /// `log_entries_max`. See [`HoldBounds`](crate::HoldBounds).
    pub subscriber_hold_ms: u64,
    /// Bytes of the change log that a subscriber without bounds of its own holds; default 256 MiB.
    pub subscriber_hold_bytes: u64,
    /// Whether full-text search ignores diacritics: `grosse` finds `Größe`, and `résumé` finds
    /// `resume`. Filters such as `name.Contains("grosse")` never do. Default on. After a change the
    /// text index is built again. See [`SearchRequest`](crate::search::SearchRequest).
    pub search_folds_diacritics: bool,
    /// Seed of the store's identity; default random. Set it to make ids repeatable in tests.
    pub seed: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            policy: Arc::new(AllowAll),
            runner: Arc::new(FreshIdRunner),
            default_workspace: "default".to_owned(),
            require_registered_workspaces: false,
            results_create_products: true,
            result_retention: None,
            vendor_prefix: "NI".to_owned(),
            calibration_warning_days: 30,
            utilization_timeout_s: 600,
            small_blob_bytes: limits::SMALL_BLOB_BYTES,
            file_bytes_max: None,
            upload_session_days: Some(7),
            seal_rows: 65_536,
            seal_bytes: 8 * 1024 * 1024,
            table_columns_max: limits::TABLE_COLUMNS,
            table_rows_max: limits::TABLE_ROWS,
            query_memory_bytes: limits::QUERY_MEMORY_BYTES,
            memory_budget_bytes: limits::MEMORY_BUDGET_BYTES,
            record_cache_bytes: limits::RECORD_CACHE_BYTES,
            reserve_bytes: 16 * 1024 * 1024,
            memory_table_bytes: limits::MEMORY_TABLE_BYTES,
            quick_repair: false,
            record_rewrite_bytes_max: limits::RECORD_REWRITE_BYTES_MAX,
            transaction_hold_ms: limits::TRANSACTION_HOLD_MS_DEFAULT,
            maintenance_thread: true,
            scrub_days: 30,
            scrub_bytes_per_s: 8 * 1024 * 1024,
            archive_bytes: None,
            log_entries_max: 1_000_000,
            subscriber_hold_ms: limits::SUBSCRIBER_HOLD_MS_DEFAULT,
            subscriber_hold_bytes: limits::SUBSCRIBER_HOLD_BYTES_DEFAULT,
            search_folds_diacritics: true,
            seed: None,
        }
    }
}
