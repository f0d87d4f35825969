//! Files, their contents, and upload sessions.

pub(crate) mod content;
pub(crate) mod file;
pub(crate) mod requests;
pub(crate) mod upload_session;

pub(crate) use content::*;
pub use file::*;
pub use requests::*;
pub use upload_session::*;
