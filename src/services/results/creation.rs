//! The creation of a result, and of the product that it is about.

use crate::error::Result;
use crate::model::{CreateProductRequest, CreateResultRequest, Product, Resource, TestResult};
use crate::services::{batch, products};
use crate::session::{Draft, What};
use crate::value::key;

/// Drafts a result.
pub(super) fn create(draft: &mut Draft<'_>, request: CreateResultRequest) -> Result<TestResult> {
    let mut result = TestResult::create(request, draft.now(), draft.context().default_workspace())?;
    // Checked before an id is drawn, so that a rejected batch drafts nothing and costs no commit.
    draft.require(None, &result, What::Created)?;
    result.id = Some(draft.new_key::<TestResult>()?.into());
    draft.put_new(&result, What::Created)?;
    create_product(draft, &result)?;
    Ok(result.answered())
}

/// Creates the product of a drafted result if no product has its part number. A product that the
/// caller may not create, or for which there is no room, is left out.
pub(super) fn create_product(draft: &mut Draft<'_>, result: &TestResult) -> Result<()> {
    let part_number = result.part_number.as_deref().unwrap_or_default();
    if part_number.trim().is_empty() || !draft.context().settings().results_create_products {
        return Ok(());
    }
    let entry = key::of_str(part_number);
    if draft.find::<Product>(Product::BY_PART_NUMBER, &entry)?.is_some() {
        return Ok(());
    }
    let product = CreateProductRequest::new(part_number).workspace(result.workspace());
    match products::create(draft, product) {
        Err(error) if !batch::is_item_error(&error) => Err(error),
        _ => Ok(()),
    }
}
