//! Derives a record: its forms, its builder, its fields and its requests.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Meta, Result};

use crate::form::{RecordForm, stored, wire};
use crate::member::members;

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let has = |name: &str| {
        input
            .attrs
            .iter()
            .any(|known| matches!(&known.meta, Meta::Path(path) if path.is_ident(name)))
    };
    let form = match (has("wire"), has("patch")) {
        (_, true) => RecordForm::Patch,
        (true, false) => RecordForm::Wire,
        (false, false) => RecordForm::Stored,
    };
    let members = members(input)?;
    let wire = wire(input, &members, form)?;
    let builder = crate::builder::builder(input, &members, form == RecordForm::Stored)?;
    let answer = crate::answers::answer(input, &members)?;
    let query = crate::answers::query(input, &members)?;
    let wire = quote!(#wire #builder #answer #query);
    if form != RecordForm::Stored {
        return Ok(wire);
    }
    let stored = stored(input, &members);
    let rows = crate::resource::rows(input)?;
    let requests = crate::requests::parts_of_requests(input, &members)?;
    Ok(quote!(#wire #stored #rows #requests))
}
