//! The kinds of records that imports take, and the normalised form by which they are compared.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Result};
use crate::model::{
    Product, RecordKind, Resource, Specification, TestPlanTemplate, WorkItemTemplate,
};
use crate::services::lab::LabRecord;

/// What the hash of a deleted record is.
pub(super) const DELETED: &str = "deleted";
/// Members that say who wrote a record, and when.
const STAMPS: [&str; 5] = ["createdAt", "createdBy", "updatedAt", "updatedBy", "version"];

/// A kind of record that imports take.
pub(super) trait Reference: Resource + Serialize + DeserializeOwned {
    /// The kind on the wire.
    const WIRE: RecordKind;

    /// Checks a record of another store, and gives it the form that it would be read back in.
    ///
    /// # Errors
    /// `InvalidArgument` for a record that the service of the kind would refuse.
    fn admit(&mut self) -> Result<()>;

    /// The workspace of the record.
    fn place(&mut self) -> &mut Option<String>;

    /// The product that the record belongs to.
    fn product(&self) -> Option<&str> {
        None
    }
}

impl Reference for Product {
    const WIRE: RecordKind = RecordKind::Product;

    fn admit(&mut self) -> Result<()> {
        Self::admit(self)
    }

    fn place(&mut self) -> &mut Option<String> {
        &mut self.workspace
    }
}

impl Reference for Specification {
    const WIRE: RecordKind = RecordKind::Specification;

    fn admit(&mut self) -> Result<()> {
        Self::admit(self)
    }

    fn place(&mut self) -> &mut Option<String> {
        &mut self.workspace
    }

    fn product(&self) -> Option<&str> {
        self.product_id.as_deref()
    }
}

fn admit_template<R: LabRecord>(template: &mut R) -> Result<()> {
    template.settle();
    if let Some(dashboard) = template.dashboard_mut() {
        dashboard.url = None;
    }
    template.check()
}

impl Reference for WorkItemTemplate {
    const WIRE: RecordKind = RecordKind::WorkItemTemplate;

    fn admit(&mut self) -> Result<()> {
        admit_template(self)
    }

    fn place(&mut self) -> &mut Option<String> {
        &mut self.workspace
    }
}

impl Reference for TestPlanTemplate {
    const WIRE: RecordKind = RecordKind::TestPlanTemplate;

    fn admit(&mut self) -> Result<()> {
        admit_template(self)
    }

    fn place(&mut self) -> &mut Option<String> {
        &mut self.workspace
    }
}

/// The JSON of a record.
pub(super) fn json(record: &impl Serialize) -> Result<Value> {
    serde_json::to_value(record)
        .map_err(|error| Error::corrupt("a record cannot be written as JSON").with_source(error))
}

/// Leaves out members that are null or empty, at every depth: a service fills them in, and they
/// mean the same.
fn prune(value: &mut Value) {
    let is_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(prune);
            members.retain(|_, value| !is_nothing(value));
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

/// The hash of what a record says, whoever wrote it and when. It is stored: `docs/format.md` says
/// how it is made, and it may not change.
pub(super) fn content(record: &impl Serialize) -> Result<String> {
    let mut value = json(record)?;
    if let Value::Object(members) = &mut value {
        STAMPS.iter().for_each(|stamp| drop(members.remove(*stamp)));
    }
    prune(&mut value);
    Ok(format!("{:032x}", xxh3_128(in_order(&value).to_string().as_bytes())))
}

/// The value with the members of objects by name, in whatever order serde_json keeps them.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let sorted: std::collections::BTreeMap<_, _> =
                members.iter().map(|(name, value)| (name.clone(), in_order(value))).collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(in_order).collect(),
        other => other.clone(),
    }
}
