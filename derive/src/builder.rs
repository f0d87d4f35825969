//! Generates a constructor, and a setter for each member, for structs that callers build.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Ident, Result, Type};

use crate::node::{nodes, plain};
use crate::record::{Member, bare};

/// Generates `Name::new(…)` and the setters, if the struct has `#[new(…)]`.
pub fn builder(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    if !input.attrs.iter().any(|attribute| attribute.path().is_ident("new")) {
        return Ok(TokenStream::new());
    }
    let name = &input.ident;
    let mut arguments = Vec::new();
    for node in nodes(&input.attrs, "new")? {
        let argument = node.name()?;
        let member = members.iter().find(|member| member.name == *argument);
        arguments.push(member.ok_or_else(|| Error::new(argument.span(), "there is no such member"))?);
    }
    let names: Vec<&Ident> = arguments.iter().map(|member| &member.name).collect();
    let types: Vec<&Type> = arguments.iter().map(|member| &member.ty).collect();
    let doc = format!("Makes a `{}`; members that are not set stay absent or empty.", plain(name));
    let methods = members.iter().map(method);
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

/// The setter of a member: the type of its argument, and the conversion to the type of the member.
fn method(member: &Member) -> TokenStream {
    let Member { name, ty, doc, .. } = member;
    let (argument, value) = match parts(ty) {
        Some((option, arguments)) if option == "Option" && arguments.len() == 1 => {
            let (argument, value) = content(arguments[0]);
            (argument, quote!(::core::option::Option::Some(#value)))
        }
        Some((patch, arguments)) if patch == "Patch" && arguments.len() == 1 => {
            let (argument, value) = content(arguments[0]);
            (argument, quote!(crate::value::Patch::Value(#value)))
        }
        _ => content(ty),
    };
    quote! {
        #(#doc)*
        #[must_use]
        pub fn #name(mut self, value: #argument) -> Self {
            self.#name = #value;
            self
        }
    }
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
                        Item = (impl ::core::convert::Into<#key>, impl ::core::convert::Into<#item>),
                    >
                },
                quote!(value.into_iter().map(|(key, value)| (key.into(), #value)).collect()),
            )
        }
        // Numbers are taken without conversion, so that the argument gives a literal its type.
        None if is_plain(ty) => (quote!(#ty), quote!(value)),
        _ => (quote!(impl ::core::convert::Into<#ty>), quote!(value.into())),
    }
}

fn is_plain(ty: &Type) -> bool {
    let Type::Path(path) = bare(ty) else { return false };
    ["bool", "i32", "i64", "u64", "f64"].iter().any(|plain| path.path.is_ident(plain))
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
