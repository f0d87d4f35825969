//! Generates a constructor, and a setter for each member, for structs that callers build.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Ident, Result, Type};

use crate::member::{Member, bare, is_absent};
use crate::node::{nodes, plain};

/// Generates `Name::new(…)` and the setters. Without `#[new(…)]` requests and answers have a
/// constructor without arguments, and what is stored alone has none.
pub fn builder(input: &DeriveInput, members: &[Member], is_stored: bool) -> Result<TokenStream> {
    if is_stored && !input.attrs.iter().any(|attribute| attribute.path().is_ident("new")) {
        return Ok(TokenStream::new());
    }
    let name = &input.ident;
    let mut arguments = Vec::new();
    for node in nodes(&input.attrs, "new")? {
        let argument = node.name()?;
        let member = members.iter().find(|member| member.name == *argument);
        arguments
            .push(member.ok_or_else(|| Error::new(argument.span(), "there is no such member"))?);
    }
    let names: Vec<&Ident> = arguments.iter().map(|member| &member.name).collect();
    let types: Vec<&Type> = arguments.iter().map(|member| &member.ty).collect();
    let doc = format!("Makes a `{}`; members that are not set are absent or empty.", plain(name));
    let methods = members.iter().filter(|member| !is_absent(&member.ty)).map(methods);
    Ok(quote! {
        impl #name {
            #[doc = #doc]
            #[must_use]
            #[allow(clippy::needless_update, reason = "all members may be arguments")]
            pub fn new(#(#names: impl ::core::convert::Into<#types>),*) -> Self {
                Self { #(#names: #names.into(),)* ..::core::default::Default::default() }
            }

            #(#methods)*
        }
    })
}

/// The setters of a member: one that sets it; one that takes a value that may be absent, for an
/// `Option`; and one that sets it to null, for a `Patch`.
fn methods(member: &Member) -> TokenStream {
    let Member { name, ty, doc, .. } = member;
    let (wrapper, inner) = match parts(ty) {
        Some((wrapper, arguments))
            if arguments.len() == 1 && (wrapper == "Option" || wrapper == "Patch") =>
        {
            (wrapper.to_string(), arguments[0])
        }
        _ => (String::new(), bare(ty)),
    };
    let (argument, value) = content(inner);
    // Answers of batches have a method `error`, which a setter of this name would hide.
    let setter = if name == "error" { format_ident!("with_error") } else { name.clone() };
    let set = match (wrapper.as_str(), is_patch_of_keys(inner)) {
        // Entries of several calls go together, so that none is lost whatever the order of the
        // calls.
        ("", true) => quote!(self.#name.extend(#value)),
        ("Option", true) => quote!(self.#name.get_or_insert_default().extend(#value)),
        (_, true) => quote!(self.#name.change(|map| map.extend(#value))),
        ("", false) => quote!(self.#name = #value),
        ("Option", false) => quote!(self.#name = ::core::option::Option::Some(#value)),
        (_, false) => quote!(self.#name = crate::value::Patch::Value(#value)),
    };
    let maybe = (wrapper == "Option").then(|| {
        let maybe = format_ident!("maybe_{}", plain(name));
        let text = format!(" As [`Self::{}`], with `None` for an absent member.", plain(&setter));
        // Entries of several calls go together here too.
        let set = if is_patch_of_keys(inner) {
            quote! {
                if let ::core::option::Option::Some(value) = value {
                    self.#name.get_or_insert_default().extend(value);
                }
            }
        } else {
            quote!(self.#name = value;)
        };
        // Only callers compile it.
        quote! {
            #[doc = #text]
            #[inline]
            #[must_use]
            pub fn #maybe(mut self, value: #ty) -> Self {
                #set
                self
            }
        }
    });
    let clear = (wrapper == "Patch").then(|| {
        let clear = format_ident!("clear_{}", plain(name));
        let text = format!(
            " Sends null for this member; see [`Self::{}`] for what null does.",
            plain(name)
        );
        quote! {
            #[doc = #text]
            #[must_use]
            pub fn #clear(mut self) -> Self {
                self.#name = crate::value::Patch::Null;
                self
            }
        }
    });
    quote! {
        #(#doc)*
        #[must_use]
        pub fn #setter(mut self, value: #argument) -> Self {
            #set;
            self
        }
        #maybe
        #clear
    }
}

/// Whether the type is a map that says null of single keys: `BTreeMap<K, Option<V>>`.
fn is_patch_of_keys(ty: &Type) -> bool {
    parts(ty).is_some_and(|(map, arguments)| {
        let value = arguments.get(1).and_then(|value| parts(value));
        map == "BTreeMap" && value.is_some_and(|(option, _)| option == "Option")
    })
}

fn content(ty: &Type) -> (TokenStream, TokenStream) {
    match parts(ty) {
        Some((list, arguments)) if list == "Vec" && arguments.len() == 1 => {
            let item = arguments[0];
            (
                quote!(impl ::core::iter::IntoIterator<Item = impl ::core::convert::Into<#item>>),
                quote!(value.into_iter().map(::core::convert::Into::into).collect()),
            )
        }
        Some((map, arguments)) if map == "BTreeMap" && arguments.len() == 2 => {
            let key = arguments[0];
            // A value that is optional on the wire is given as a plain value.
            let (item, value) = match parts(arguments[1]) {
                Some((option, inner)) if option == "Option" && inner.len() == 1 => {
                    (inner[0], quote!(::core::option::Option::Some(value.into())))
                }
                _ => (arguments[1], quote!(value.into())),
            };
            (
                quote! {
                    impl ::core::iter::IntoIterator<
                        Item = (
                            impl ::core::convert::Into<#key>,
                            impl ::core::convert::Into<#item>,
                        ),
                    >
                },
                if is_patch_of_keys(ty) {
                    quote!(value.into_iter().map(|(key, value)| (key.into(), #value)))
                } else {
                    quote!(value.into_iter().map(|(key, value)| (key.into(), #value)).collect())
                },
            )
        }
        // Numbers are taken without conversion, so that the argument gives a literal its type.
        None if is_plain(ty) => (quote!(#ty), quote!(value)),
        _ => (quote!(impl ::core::convert::Into<#ty>), quote!(value.into())),
    }
}

fn is_plain(ty: &Type) -> bool {
    let Type::Path(path) = bare(ty) else { return false };
    ["bool", "i32", "u32", "i64", "u64", "f64"].iter().any(|plain| path.path.is_ident(plain))
}

/// The name of a generic type and its arguments.
fn parts(ty: &Type) -> Option<(&Ident, Vec<&Type>)> {
    let Type::Path(path) = bare(ty) else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        syn::GenericArgument::Type(inner) => Some(bare(inner)),
        _ => None,
    });
    Some((&last.ident, types.collect()))
}
