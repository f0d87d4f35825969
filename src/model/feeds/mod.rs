//! Package feeds and the packages in them.

pub(crate) mod feed;
pub(crate) mod package;

pub use feed::*;
pub use package::*;
