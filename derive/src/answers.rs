//! Generates what answers, and queries of records, have in common, from the names of their members.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Ident, Result, Type};

use crate::member::{Member, generic};
use crate::node::nodes;

/// The status of an answer without an attribute of its own: each record answers the call that gets
/// it.
pub fn plain(name: &Ident) -> TokenStream {
    quote!(impl crate::model::answer::Answer for #name {})
}

/// Generates the status of an answer with `#[answer(…)]`. `created`: it is 201. `batch`: the
/// answer is made of the outcome of a batch. `page`: it is made of a page of records.
pub fn answer(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    if !input.attrs.iter().any(|attribute| attribute.path().is_ident("answer")) {
        return Ok(TokenStream::new());
    }
    let options = nodes(&input.attrs, "answer")?;
    let has = |option: &str| options.iter().any(|node| node.is(option));
    let name = &input.ident;
    let status = match (has("created"), has("batch")) {
        (false, _) => plain(name),
        (true, is_batch) => {
            let status = if is_batch {
                quote!(match crate::model::answer::BatchAnswer::error(self) {
                    ::core::option::Option::None => 201,
                    ::core::option::Option::Some(_) => {
                        crate::error::ErrorKind::PartialFailure.status()
                    }
                })
            } else {
                quote!(201)
            };
            quote! {
                impl crate::model::answer::Answer for #name {
                    fn status(&self) -> u16 {
                        #status
                    }
                }
            }
        }
    };
    let batch = if has("batch") { batch(input, members)? } else { TokenStream::new() };
    let page = if has("page") { page(input, members)? } else { TokenStream::new() };
    Ok(quote!(#status #batch #page))
}

/// The entries of `Vec<T>` or `Option<Vec<T>>`.
fn entries(ty: &Type) -> Option<&Type> {
    match generic(ty)? {
        (option, inner) if option == "Option" => entries(inner),
        (list, inner) if list == "Vec" => Some(inner),
        _ => None,
    }
}

fn is_option(ty: &Type) -> bool {
    generic(ty).is_some_and(|(option, _)| option == "Option")
}

/// An answer with the three members of the outcome of a batch, in this order: what succeeded, what
/// failed, and the error.
fn batch(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    let name = &input.ident;
    let fault =
        || Error::new(name.span(), "the answer of a batch has two lists, and then its `error`");
    let [succeeded, failed, error] = members else { return Err(fault()) };
    let lists = (entries(&succeeded.ty), entries(&failed.ty));
    let ((Some(item), Some(request)), true) = (lists, error.name == "error") else {
        return Err(fault());
    };
    let (succeeded, refused) = (&succeeded.name, &failed.name);
    let failed_value = if is_option(&failed.ty) {
        quote!((!outcome.failed.is_empty()).then_some(outcome.failed))
    } else {
        quote!(outcome.failed)
    };
    let (error_value, error) = if is_option(&error.ty) {
        (quote!(outcome.error), quote!(self.error.as_ref()))
    } else {
        (
            quote!(outcome.error.unwrap_or_default()),
            quote!(::core::option::Option::Some(&self.error)),
        )
    };
    Ok(quote! {
        impl crate::model::answer::BatchAnswer for #name {
            fn error(&self) -> ::core::option::Option<&crate::error::ApiError> {
                #error
            }
        }

        impl ::core::convert::From<crate::model::answer::Outcome<#item, #request>> for #name {
            fn from(outcome: crate::model::answer::Outcome<#item, #request>) -> Self {
                Self {
                    #succeeded: outcome.succeeded.into(),
                    #refused: #failed_value,
                    error: #error_value,
                }
            }
        }
    })
}

/// An answer with a list of records, and the token and the count of the page if it has members for
/// them.
fn page(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    let name = &input.ident;
    let list = members.iter().find_map(|member| Some((&member.name, entries(&member.ty)?)));
    let (list, record) =
        list.ok_or_else(|| Error::new(name.span(), "a page has a list of records"))?;
    let others = members.iter().map(|member| &member.name).filter(|member| *member != list);
    Ok(quote! {
        impl ::core::convert::From<crate::model::answer::Page<#record>> for #name {
            fn from(page: crate::model::answer::Page<#record>) -> Self {
                Self { #list: page.items.into(), #(#others: page.#others),* }
            }
        }
    })
}

/// Generates the members that a query with `#[queries(Record)]` has in common with others.
pub fn query(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    let of = nodes(&input.attrs, "queries")?;
    let Some(record) = of.first() else { return Ok(TokenStream::new()) };
    let (record, name) = (record.name()?, &input.ident);
    let member = |name: &str| members.iter().find(|member| member.name == name);
    let mut parts = Vec::new();
    for name in ["filter", "substitutions", "continuation_token"] {
        if let Some(Member { name, .. }) = member(name) {
            parts.push(quote!(#name: self.#name.as_deref()));
        }
    }
    if member("take").is_some() {
        parts.push(quote!(take: self.take));
    }
    for (part, names) in [
        ("descending", ["descending", "order_by_descending"]),
        ("return_count", ["return_count", "exact_total_count"]),
    ] {
        let part = Ident::new(part, name.span());
        if let Some(Member { name, ty, .. }) = names.into_iter().find_map(member) {
            let or_default = is_option(ty).then(|| quote!(.unwrap_or_default()));
            parts.push(quote!(#part: self.#name #or_default));
        }
    }
    if let Some((_, order)) = member("order_by").and_then(|member| generic(&member.ty)) {
        parts.push(quote! {
            order_by: self.order_by.map(|order| order.path()),
            first_order: <#order as ::core::default::Default>::default().path()
        });
    }
    let projection = member("projection").and_then(|member| entries(&member.ty));
    let (entry, list, project) = match projection {
        Some(entry) => (
            quote!(#entry),
            quote!(self.projection.as_deref().unwrap_or_default()),
            quote!(record.project(members)),
        ),
        None => (quote!(()), quote!(&[]), quote!(record)),
    };
    Ok(quote! {
        impl crate::model::answer::RecordQuery for #name {
            type Record = #record;
            type Member = #entry;

            // Some queries have all of these members.
            #[allow(clippy::needless_update)]
            fn common(&self) -> crate::model::answer::CommonMembers<'_> {
                crate::model::answer::CommonMembers {
                    #(#parts,)*
                    ..::core::default::Default::default()
                }
            }

            fn projection(&self) -> &[#entry] {
                #list
            }

            fn project(record: #record, members: &[#entry]) -> #record {
                let _ = members;
                #project
            }
        }
    })
}
