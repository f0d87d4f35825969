//! Kinds of records as their services answer with them.

use crate::error::{Error, Result};
use crate::model::Resource;
use crate::session::Access;
use crate::value::Env;

/// The name and code of the error that a service returns for a partial failure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Umbrella {
    pub(crate) name: &'static str,
    pub(crate) code: i64,
}

impl Umbrella {
    /// Work items, test plans and others.
    pub(crate) const SKYLINE: Self =
        Self { name: "Skyline.OneOrMoreErrorsOccurred", code: -251_041 };
    /// Files and assets.
    pub(crate) const FILES_AND_ASSETS: Self =
        Self { name: "Skyline.OneOrMoreErrorsOccurred", code: -251_040 };
    /// Products, test results and steps.
    pub(crate) const TEST_MONITOR: Self =
        Self { name: "TestMonitorErrorCodes.OneOrMoreErrorsOccurred", code: -252_921 };
}

/// A kind of record with the published names of its service.
pub(crate) trait ServiceRecord: Resource {
    /// The error of a batch of which an item failed.
    const UMBRELLA: Umbrella = Umbrella::SKYLINE;
    /// The name and code of the error about an id that no visible record has.
    const ABSENT: (&'static str, Option<i64>);

    /// The record as the service answers with it.
    #[must_use]
    fn in_answer(self, _env: &Env) -> Self {
        self
    }
}

/// The error about an id of no record that the caller may see.
pub(crate) fn absent<R: ServiceRecord>(id: &str) -> Error {
    let (name, code) = R::ABSENT;
    R::KIND.absent(id).with_name(name, code)
}

/// The record that was looked up by its id.
///
/// # Errors
/// `NotFound` if there is none.
pub(crate) fn found<R: ServiceRecord>(id: &str, record: Option<R>) -> Result<R> {
    record.ok_or_else(|| absent::<R>(id))
}

/// The record with this id, as its service answers with it.
///
/// # Errors
/// `NotFound` if no record that the caller may see has this id.
pub(crate) fn get<R: ServiceRecord>(access: &impl Access, id: &str) -> Result<R> {
    access.read(|view| Ok(found(id, view.get::<R>(id)?)?.in_answer(&view.env())))
}
