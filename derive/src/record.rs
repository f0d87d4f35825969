//! Generates the wire form and the stored form of a struct.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Meta, Result, Type};

use crate::node::{camel_case, nodes, plain};

/// The use of a struct.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    /// It is stored and sent.
    Stored,
    /// It is sent.
    Wire,
    /// It is sent, and a null member differs from an absent one.
    Patch,
}

/// A member of a struct.
pub struct Member {
    pub name: Ident,
    pub ty: Type,
    pub since: Option<u8>,
    pub doc: Vec<Attribute>,
    pub serde: Vec<Attribute>,
}

pub fn members(input: &DeriveInput) -> Result<Vec<Member>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "this derive works only on a struct"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(
            &input.ident,
            "the derive needs a struct with named members",
        ));
    };
    fields.named.iter().map(member).collect()
}

fn member(field: &Field) -> Result<Member> {
    let called = |name: &str| {
        field.attrs.iter().filter(|attribute| attribute.path().is_ident(name)).cloned().collect()
    };
    let name = field
        .ident
        .clone()
        .ok_or_else(|| Error::new_spanned(field, "the derive needs a struct with named members"))?;
    let since = nodes(&field.attrs, "since")?.first().map(crate::node::Node::number).transpose()?;
    Ok(Member { name, ty: field.ty.clone(), since, doc: called("doc"), serde: called("serde") })
}

/// The type without the invisible group of a macro that passed it.
pub fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        ty => ty,
    }
}

/// For `Option<T>`: `Option` and `T`.
pub fn generic(ty: &Type) -> Option<(&Ident, &Type)> {
    let Type::Path(path) = bare(ty) else { return None };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(inner) if arguments.args.len() == 1 => {
            Some((&last.ident, bare(inner)))
        }
        _ => None,
    }
}

/// Whether a member takes the names of the members that the JSON does not have.
pub fn is_absent(ty: &Type) -> bool {
    let Type::Path(path) = bare(ty) else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Absent")
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

pub fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let has = |name: &str| {
        input
            .attrs
            .iter()
            .any(|known| matches!(&known.meta, Meta::Path(path) if path.is_ident(name)))
    };
    let form = match (has("wire"), has("patch")) {
        (_, true) => Form::Patch,
        (true, false) => Form::Wire,
        (false, false) => Form::Stored,
    };
    let members = members(input)?;
    let wire = wire(input, &members, form)?;
    let builder = crate::builder::builder(input, &members, form == Form::Stored)?;
    let answer = crate::answers::answer(input, &members)?;
    let query = crate::answers::query(input, &members)?;
    let wire = quote!(#wire #builder #answer #query);
    if form != Form::Stored {
        return Ok(wire);
    }
    let stored = stored(input, &members);
    let rows = crate::resource::rows(input)?;
    let requests = crate::requests::parts_of_requests(input, &members)?;
    Ok(quote!(#wire #stored #rows #requests))
}

pub fn wire(input: &DeriveInput, members: &[Member], form: Form) -> Result<TokenStream> {
    let name = &input.ident;
    let text = plain(name);
    let drop_nulls = form != Form::Patch;
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
    let texts = members.iter().map(|member| camel_case(&member.name));
    let default = quote!(::core::default::Default::default());
    // A member that was added after the format of the bytes is not in them.
    let has = |since: u8| quote!(#module::Decoder::context(input).has(#since));
    let take = members.iter().map(|Member { name, since, .. }| match since.map(has) {
        None => quote!(#name: #stored::take(input)?),
        Some(has) => quote!(#name: if #has { #stored::take(input)? } else { #default }),
    });
    let skip = members.iter().map(|Member { ty, since, .. }| match since.map(has) {
        None => quote!(<#ty as #stored>::skip(input)?;),
        Some(has) => quote!(if #has { <#ty as #stored>::skip(input)?; }),
    });
    let fill = members.iter().enumerate().map(|(place, Member { name, ty, since, .. })| {
        let read = quote! {
            if wanted.has(#place) {
                self.#name = #stored::take(input)?;
            } else {
                <#ty as #stored>::skip(input)?;
            }
        };
        match since.map(has) {
            None => read,
            Some(has) => quote! {
                if #has {
                    #read
                } else if wanted.has(#place) {
                    self.#name = #default;
                }
            },
        }
    });
    quote! {
        impl #stored for #name {
            fn put<E: #module::Encoder>(&self, out: &mut E) -> #module::EncodeResult {
                #(#stored::put(&self.#names, out)?;)*
                let _ = out;
                Ok(())
            }
            fn take<D: #module::Decoder<Context = #module::Format>>(
                input: &mut D,
            ) -> #module::DecodeResult<Self> {
                let _ = &input;
                Ok(Self { #(#take),* })
            }
            fn skip<D: #module::Decoder<Context = #module::Format>>(
                input: &mut D,
            ) -> #module::DecodeResult<()> {
                let _ = &input;
                #(#skip)*
                Ok(())
            }
            fn fill<D: #module::Decoder<Context = #module::Format>>(
                &mut self,
                input: &mut D,
                wanted: #module::Members,
            ) -> #module::DecodeResult<()> {
                #(#fill)*
                let _ = (wanted, &input);
                Ok(())
            }
            fn settle(&mut self) {
                #(#stored::settle(&mut self.#names);)*
            }
            fn member_names() -> &'static [&'static str] {
                &[#(#texts),*]
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
