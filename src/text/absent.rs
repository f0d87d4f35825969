//! The text index of a build without the feature `search`: opening it returns `Unsupported`.

use std::convert::Infallible;
use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::document::{Ask, Change, Comparison, DocKey, Shape};
use super::request::{Hits, Request, Scope};
use crate::disk::SharedDisk;
use crate::error::{Error, Result};

fn absent() -> Error {
    Error::unsupported("this build has no text search; build the crate with the feature `search`")
}

/// How an index was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenOutcome {
    /// From the checkpoint.
    Resumed,
    /// Empty; the text is the reason.
    Anew(String),
}

/// Never constructed.
pub struct Index(Infallible);

/// Never constructed.
#[derive(Clone)]
pub struct View(Infallible);

impl Index {
    /// Returns `Unsupported`.
    pub fn open(
        _: &SharedDisk,
        _: &str,
        _: Arc<Shape>,
        _: &str,
        _: Option<&Checkpoint>,
        _: bool,
    ) -> Result<(Self, OpenOutcome)> {
        Err(absent())
    }
}

/// Methods of a type without values.
macro_rules! never_called {
    ($type:ident: $($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        impl $type {
            $(
                /// Never called.
                pub fn $name(&self, $(_: $argument),*) $(-> $answer)? {
                    match self.0 {}
                }
            )*
        }
    };
}

never_called! {
    Index:
    view() -> View;
    begin_walk(&View) -> u64;
    walk(u64) -> Option<View>;
    shape() -> &Arc<Shape>;
    sequence() -> u64;
    unsaved_changes() -> u64;
    apply(&[Change], u64) -> Result<()>;
    load(&[Change], u64) -> Result<()>;
    commit() -> Result<()>;
    checkpoint(bool) -> Result<Option<Checkpoint>>;
    settle() -> Result<()>;
    recorded(&Checkpoint);
    start_anew() -> Result<()>;
    beginnings() -> u64;
}

never_called! {
    View:
    sequence() -> u64;
    with(&[Change]) -> Self;
    matching(&Request) -> Result<Vec<DocKey>>;
    containing(u8, &str, &str) -> Result<Option<Vec<DocKey>>>;
    count_cells(&[Ask], Option<&[Scope]>) -> Result<u64>;
    compare(&mut dyn Comparison) -> Result<()>;
    copies(DocKey) -> Result<u64>;
    unsettled() -> Vec<DocKey>;
    search(&Request) -> Result<Hits>;
}
