//! Generates the wire form and the stored form of a struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Result, Type};

use crate::member::{Member, generic, is_absent};
use crate::node::{camel_case, nodes, plain};

/// The use of a struct.
#[derive(Clone, Copy, PartialEq)]
pub enum RecordForm {
    /// It is stored and sent.
    Stored,
    /// It is sent.
    Wire,
    /// It is sent, and a null member differs from an absent one.
    Patch,
}

fn is_time(ty: &Type) -> bool {
    generic(ty).is_some_and(|(name, _)| name == "DateTime")
}

/// The module that serializes the member, if it is a time.
fn time_form(ty: &Type) -> Option<&'static str> {
    match generic(ty) {
        _ if is_time(ty) => Some("crate::value::time::required"),
        Some((name, inner)) if name == "Option" && is_time(inner) => {
            Some("crate::value::time::opt")
        }
        Some((name, inner)) if name == "Patch" && is_time(inner) => {
            Some("crate::value::time::patch")
        }
        _ => None,
    }
}

pub fn wire(input: &DeriveInput, members: &[Member], form: RecordForm) -> Result<TokenStream> {
    let name = &input.ident;
    let text = plain(name);
    let drop_nulls = form != RecordForm::Patch;
    let required = nodes(&input.attrs, "requires")?;
    let required =
        required.iter().map(|node| node.name().map(plain)).collect::<Result<Vec<_>>>()?;
    let also = nodes(&input.attrs, "also")?;
    let also = also.iter().map(|node| {
        let (name, member) = (plain(node.name()?), node.text()?);
        Ok(quote!((#name, #member)))
    });
    let also = also.collect::<Result<Vec<_>>>()?;
    let shadow = format_ident!("{}Form", text);
    let fields = members.iter().map(|member| {
        let Member { name, ty, serde, .. } = member;
        let time = time_form(ty).map(|module| quote!(#[serde(with = #module)]));
        let skip = is_absent(ty).then(|| quote!(#[serde(skip)]));
        quote!(#[serde(default)] #(#serde)* #skip #time #name: #ty)
    });
    let respell = |absent: TokenStream| {
        quote! {
            #shadow::deserialize(crate::value::wire::Respell {
                inner: deserializer,
                drop_nulls: #drop_nulls,
                required: &[#(#required),*],
                also: &[#(#also),*],
                absent: #absent,
            })
        }
    };
    let read = match members.iter().find(|member| is_absent(&member.ty)) {
        None => respell(quote!(::core::option::Option::None)),
        Some(Member { name, .. }) => {
            let read = respell(quote!(::core::option::Option::Some(&absent)));
            quote! {
                let absent = ::core::cell::Cell::default();
                #read.map(|record| Self { #name: absent.into_inner(), ..record })
            }
        }
    };
    Ok(quote! {
        const _: () = {
            // Serde's own code for the same members; the adapters around it are in `value::wire`.
            #[allow(dead_code)]
            #[derive(::serde::Serialize, ::serde::Deserialize)]
            #[serde(remote = #text, rename = #text, rename_all = "camelCase")]
            struct #shadow { #(#fields),* }

            impl ::serde::Serialize for #name {
                fn serialize<S: ::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> ::core::result::Result<S::Ok, S::Error> {
                    #shadow::serialize(self, crate::value::wire::SkipNulls(serializer))
                }
            }

            impl crate::value::wire::Form for #name {}

            impl<'de> ::serde::Deserialize<'de> for #name {
                fn deserialize<D: ::serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> ::core::result::Result<Self, D::Error> {
                    #read
                }
            }
        };
    })
}

pub fn stored(input: &DeriveInput, members: &[Member]) -> TokenStream {
    let name = &input.ident;
    let stored = quote!(crate::value::Stored);
    let module = quote!(crate::value::stored);
    let names = members.iter().map(|member| &member.name).collect::<Vec<_>>();
    let declared = members.iter().map(|Member { name, ty, since, .. }| {
        let (text, since) = (camel_case(name), since.unwrap_or(1));
        quote!(#module::Member { name: #text, since: #since, skip: <#ty as #stored>::skip })
    });
    // A member that the format does not have gets its default.
    let added = members.iter().enumerate().filter_map(|(place, Member { name, since, .. })| {
        let since = (*since)?;
        Some(quote! {
            if wanted.has(#place) && !#module::format(input).has(#since) {
                self.#name = ::core::default::Default::default();
            }
        })
    });
    quote! {
        impl #stored for #name {
            fn put(&self, out: &mut #module::Output<'_>) -> #module::EncodeResult {
                #module::put_members(&[#(&self.#names),*], out)
            }
            fn take(input: &mut #module::Input<'_>) -> #module::DecodeResult<Self> {
                let mut value = Self::default();
                #stored::fill(&mut value, input, #module::Members::ALL)?;
                Ok(value)
            }
            fn skip(input: &mut #module::Input<'_>) -> #module::DecodeResult<()> {
                #module::skip_members(<Self as #stored>::members(), input)
            }
            fn fill(
                &mut self,
                input: &mut #module::Input<'_>,
                wanted: #module::Members,
            ) -> #module::DecodeResult<()> {
                #(#added)*
                let members = <Self as #stored>::members();
                #module::fill_members(members, &mut [#(&mut self.#names),*], input, wanted)
            }
            fn settle(&mut self) {
                let values: &mut [&mut dyn #module::Slot] = &mut [#(&mut self.#names),*];
                values.iter_mut().for_each(|value| value.settle_value());
            }
            fn members() -> &'static [#module::Member] {
                &[#(#declared),*]
            }
        }

        impl crate::value::part::Part for #name {
            type Of = Self;
            fn part(&self) -> ::core::option::Option<&Self> {
                ::core::option::Option::Some(self)
            }
        }

        impl crate::value::part::Nest for #name {
            type Inner = Self;
            fn blank(&self) -> Self {
                ::core::default::Default::default()
            }
            fn nest(&self, into: &mut Self, copy: fn(&Self, &mut Self)) {
                copy(self, into);
            }
        }
    }
}
