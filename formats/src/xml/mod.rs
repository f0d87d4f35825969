//! XML, read whole into a compact tree, with bounds.
//!
//! Names are without their prefix. Document types are refused, so no entity is expanded but the
//! predefined ones and characters.

mod encoding;
mod flat;
mod read;
mod tree;

pub(crate) use encoding::begins;
pub(crate) use flat::flatten;
pub(crate) use read::read;
pub(crate) use tree::Element;
