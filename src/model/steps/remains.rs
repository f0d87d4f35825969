//! Steps that outlive their result.

use crate::model::resource::Resource;
use crate::value::IdForm;
use crate::value::id::id_type;

id_type!(
    /// The id of a result that was deleted without its steps.
    RemainingStepsId,
    IdForm::Guid
);

/// What is left of a result whose steps were kept: its id, its last workspace, which the policy is
/// asked with, and how many steps it had got.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(kind = 17, name = "TestStep", service(RESULTS), id(Guid))]
#[fields(id, workspace)]
#[index(1, workspace)]
pub(crate) struct RemainingSteps {
    /// Id of the result.
    pub id: Option<RemainingStepsId>,
    /// Workspace of the result when it was deleted.
    pub workspace: Option<String>,
    /// How many steps the result had got.
    pub steps_created: u64,
}
