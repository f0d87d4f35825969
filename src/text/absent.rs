//! The text index of a build without the feature `search`: every operation returns `Unsupported`.

use std::sync::Arc;

use super::checkpoint::Checkpoint;
use super::document::{Ask, Change, Comparison, Shape};
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
pub struct Index {
    shape: Arc<Shape>,
}

/// Never constructed.
#[derive(Clone)]
pub struct View(());

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

    /// The published view.
    pub fn view(&self) -> View {
        View(())
    }

    /// Always zero.
    pub fn begin_walk(&self, _: &View) -> u64 {
        0
    }

    /// Always `None`.
    pub fn walk(&self, _: u64) -> Option<View> {
        None
    }

    /// The shape of the documents.
    pub fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    /// Always zero.
    pub fn sequence(&self) -> u64 {
        0
    }

    /// Always zero.
    pub fn unsaved_changes(&self) -> u64 {
        0
    }

    /// Returns `Unsupported`.
    pub fn apply(&self, _: &[Change], _: u64) -> Result<()> {
        Err(absent())
    }

    /// Returns `Unsupported`.
    pub fn load(&self, _: &[Change], _: u64) -> Result<()> {
        Err(absent())
    }

    /// Returns `Unsupported`.
    pub fn commit(&self) -> Result<()> {
        Err(absent())
    }

    /// Returns `Unsupported`.
    pub fn checkpoint(&self, _: bool) -> Result<Option<Checkpoint>> {
        Err(absent())
    }

    /// Returns `Unsupported`.
    pub fn settle(&self) -> Result<()> {
        Err(absent())
    }

    /// Does nothing.
    pub fn recorded(&self, _: &Checkpoint) {}

    /// Returns `Unsupported`.
    pub fn start_anew(&self) -> Result<()> {
        Err(absent())
    }

    /// Always zero.
    pub fn beginnings(&self) -> u64 {
        0
    }
}

impl View {
    /// Always zero.
    pub fn sequence(&self) -> u64 {
        0
    }

    /// The same view.
    #[must_use]
    pub fn with(self, _: &[Change]) -> Self {
        self
    }

    /// Returns `Unsupported`.
    pub fn matching(&self, _: &Request) -> Result<Vec<super::DocKey>> {
        Err(absent())
    }

    /// Always `None`.
    pub fn containing(&self, _: u8, _: &str, _: &str) -> Result<Option<Vec<super::DocKey>>> {
        Ok(None)
    }

    /// Returns `Unsupported`.
    pub fn count_cells(&self, _: &[Ask], _: Option<&[Scope]>) -> Result<u64> {
        Err(absent())
    }

    /// Returns `Unsupported`.
    pub fn compare(&self, _: &mut dyn Comparison) -> Result<()> {
        Err(absent())
    }

    /// Returns `Unsupported`.
    pub fn copies(&self, _: super::DocKey) -> Result<u64> {
        Err(absent())
    }

    /// Always empty.
    pub fn unsettled(&self) -> Vec<super::DocKey> {
        Vec::new()
    }

    /// Returns `Unsupported`.
    pub fn search(&self, _: &Request) -> Result<Hits> {
        Err(absent())
    }
}
