//! Results and steps, before their tables and files are there.

use std::collections::BTreeMap;

use stationdb::results::{CreateResultRequest, CreateStepRequest, NamedValue, StepData};
use stationdb::tables::{Column, DataFrame};

/// A result to create with its steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NewResult {
    pub(crate) request: CreateResultRequest,
    pub(crate) steps: Vec<NewStep>,
}

/// A step, without what is known when its tables and files are there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NewStep {
    pub(crate) request: CreateStepRequest,
    /// What went wrong, or what the step reported.
    pub(crate) text: Option<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) outputs: Vec<NamedValue>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) children: Vec<NewStep>,
}

/// A parameter of a step, and the table of its values if it has dimensions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) entry: BTreeMap<String, String>,
    pub(crate) table: Option<NewTable>,
}

/// A file that a step attached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attachment {
    pub(crate) name: String,
    pub(crate) mime_type: Option<String>,
    pub(crate) sha1: Option<String>,
    /// The content, if the record has it.
    pub(crate) content: Option<Vec<u8>>,
}

/// A table to create.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: DataFrame,
}

impl NewStep {
    /// The number of steps, this one and those below it.
    pub(crate) fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }

    /// The number of measurements of this step and of those below it.
    pub(crate) fn measurement_count(&self) -> usize {
        self.parameters.len() + self.children.iter().map(Self::measurement_count).sum::<usize>()
    }

    /// The attachments of this step and of those below it, in their order.
    pub(crate) fn all_attachments(&self) -> Vec<&Attachment> {
        let below = self.children.iter().flat_map(Self::all_attachments);
        self.attachments.iter().chain(below).collect()
    }

    /// The data of the step, without the tables of its parameters.
    pub(crate) fn data(text: Option<String>, parameters: Vec<Parameter>) -> Option<StepData> {
        if text.is_none() && parameters.is_empty() {
            return None;
        }
        let entries = parameters.into_iter().map(|parameter| parameter.entry);
        let data = StepData::new().parameters(entries.collect::<Vec<_>>());
        Some(data.maybe_text(text))
    }
}

impl From<BTreeMap<String, String>> for Parameter {
    fn from(entry: BTreeMap<String, String>) -> Self {
        Self { entry, table: None }
    }
}
