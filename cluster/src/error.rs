//! What can fail before a statement runs.

use std::io;
use std::net::SocketAddr;

use ballista_core::error::BallistaError;
use datafusion::error::DataFusionError;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a process of a cluster or a context over it cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is in use, or is not one of this machine.
    #[error("listening at {address}: {source}; choose another address, or port 0 for any free one")]
    Address {
        /// What was to be listened at.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The text names no lake that can be read.
    #[error("{place}: {problem}")]
    Location {
        /// The directory or URL.
        place: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The logs or the metadata of a lake cannot be read.
    #[error("the lake at {place}: {problem}")]
    Lake {
        /// The URL of the place.
        place: String,
        /// The error of reading.
        problem: String,
    },
    /// The text names no scheduler, or none answers there.
    #[error("the scheduler {url}: {problem}")]
    Scheduler {
        /// Where it was looked for.
        url: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The directory for intermediate data cannot be used.
    #[error("the directory {directory} for intermediate data: {source}")]
    WorkDirectory {
        /// Its path.
        directory: String,
        /// The system's error.
        source: io::Error,
    },
    /// The engine of queries refuses its settings.
    #[error("settings of the engine of queries: {0}")]
    Engine(#[from] DataFusionError),
    /// A service of the process has ended.
    #[error("a service has ended: {0}; start the process again")]
    Service(#[from] BallistaError),
}
