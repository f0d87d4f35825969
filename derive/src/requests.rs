//! Generates request types from members of their record.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, Error, Ident, LitStr, Meta, Result, Token, Type, token};

use crate::member::{Member, generic};
use crate::node::plain;

/// `Name = "documentation"` or `Name(member, …)`.
struct RequestDecl {
    name: Ident,
    doc: Option<LitStr>,
    members: Vec<RequestMember>,
}

/// `member`, `member = "documentation"` or `member(Type, "documentation", own, #[serde(…)])`.
struct RequestMember {
    name: Ident,
    ty: Option<Type>,
    doc: Option<LitStr>,
    /// Whether the service handles the member itself, so that it is not copied to the record.
    is_own: bool,
    serde: Vec<Attribute>,
}

impl Parse for RequestMember {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.call(Ident::parse_any)?;
        let mut taken = Self { name, ty: None, doc: None, is_own: false, serde: Vec::new() };
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            taken.doc = Some(input.parse()?);
        } else if input.peek(token::Paren) {
            let inner;
            syn::parenthesized!(inner in input);
            while !inner.is_empty() {
                if inner.peek(LitStr) {
                    taken.doc = Some(inner.parse()?);
                } else if inner.peek(Token![#]) {
                    taken.serde.extend(inner.call(Attribute::parse_outer)?);
                } else {
                    let ty: Type = inner.parse()?;
                    match &ty {
                        Type::Path(path) if path.path.is_ident("own") => taken.is_own = true,
                        _ => taken.ty = Some(ty),
                    }
                }
                if !inner.is_empty() {
                    inner.parse::<Token![,]>()?;
                }
            }
        }
        Ok(taken)
    }
}

impl Parse for RequestDecl {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut part = Self { name: input.parse()?, doc: None, members: Vec::new() };
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            part.doc = Some(input.parse()?);
        } else {
            let inner;
            syn::parenthesized!(inner in input);
            part.members = Punctuated::<RequestMember, Token![,]>::parse_terminated(&inner)?
                .into_iter()
                .collect();
        }
        Ok(part)
    }
}

fn parts(input: &DeriveInput, attribute: &str) -> Result<Vec<RequestDecl>> {
    let mut parts: Vec<RequestDecl> = Vec::new();
    let is_list = |known: &&Attribute| match &known.meta {
        Meta::List(list) => list.path.is_ident(attribute),
        _ => false,
    };
    for attribute in input.attrs.iter().filter(is_list) {
        for part in
            attribute.parse_args_with(Punctuated::<RequestDecl, Token![,]>::parse_terminated)?
        {
            match parts.iter_mut().find(|known| known.name == part.name) {
                Some(known) => {
                    known.doc = known.doc.take().or(part.doc);
                    known.members.extend(part.members);
                }
                None => parts.push(part),
            }
        }
    }
    Ok(parts)
}

/// Generates all requests of a resource.
pub fn requests(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    let all = [("request", false), ("patch", true)].into_iter().map(|(attribute, is_patch)| {
        let made = parts(input, attribute)?
            .into_iter()
            .map(|part| request(input, members, &part, is_patch));
        made.collect::<Result<TokenStream>>()
    });
    all.collect()
}

/// Generates the requests of a record that is part of another, and the conversion of the record to
/// its patches.
pub fn parts_of_requests(input: &DeriveInput, members: &[Member]) -> Result<TokenStream> {
    let record = &input.ident;
    let requests =
        parts(input, "request")?.into_iter().map(|part| request(input, members, &part, false));
    let patches = parts(input, "patch")?.into_iter().map(|part| {
        let patch = request(input, members, &part, true)?;
        let name = &part.name;
        let names = part.members.iter().map(|taken| &taken.name);
        Ok(quote! {
            #patch

            impl From<#record> for #name {
                fn from(record: #record) -> Self {
                    Self { #(#names: crate::value::Patch::given(record.#names)),* }
                }
            }
        })
    });
    requests.chain(patches).collect()
}

fn request(
    input: &DeriveInput,
    members: &[Member],
    part: &RequestDecl,
    is_patch: bool,
) -> Result<TokenStream> {
    let (name, record) = (&part.name, &input.ident);
    let Some(doc) = &part.doc else {
        return Err(Error::new(
            name.span(),
            format!("`{name} = \"…\"` is missing; it is the documentation of the request"),
        ));
    };
    let also: Vec<&Attribute> =
        input.attrs.iter().filter(|known| known.path().is_ident("also")).collect();
    let form = if is_patch { quote!(#[patch]) } else { quote!(#[wire]) };
    // Required members are the arguments of the constructor.
    let needed = part
        .members
        .iter()
        .filter(|taken| taken.ty.as_ref().is_some_and(is_text))
        .map(|taken| &taken.name);
    let needed: Vec<&Ident> = needed.collect();
    let mut fields = Vec::new();
    let mut copied = Vec::new();
    for taken in &part.members {
        let member = members.iter().find(|member| member.name == taken.name);
        fields.push(field(taken, member, is_patch)?);
        if let (Some(member), None, false) = (member, &taken.ty, taken.is_own) {
            copied.push(member);
        }
    }
    let names: Vec<&Ident> = copied.iter().map(|member| &member.name).collect();
    let conversions = if is_patch {
        quote! {
            /// Applies the request to a record: sets the members that have a value, and clears
            /// those that are null.
            #[allow(dead_code)]
            pub(crate) fn apply_to(&mut self, record: &mut #record) {
                #(::core::mem::take(&mut self.#names).apply(&mut record.#names);)*
            }
        }
    } else {
        quote! {
            /// A new record with the members that request and record have in common.
            #[allow(dead_code)]
            pub(crate) fn into_record(self) -> #record {
                #record { #(#names: self.#names,)* ..::core::default::Default::default() }
            }

            /// Applies the request to a record: moves the members that are present; the others stay
            /// unchanged.
            #[allow(dead_code)]
            pub(crate) fn apply_to(&mut self, record: &mut #record) {
                #(record.#names = self.#names.take().or(record.#names.take());)*
            }
        }
    };
    Ok(quote! {
        #[doc = #doc]
        #[derive(Clone, Debug, Default, PartialEq, crate::value::wire::Record)]
        #form
        #[new(#(#needed),*)]
        #(#also)*
        #[non_exhaustive]
        pub struct #name { #(#fields),* }

        impl #name { #conversions }
    })
}

fn field(taken: &RequestMember, member: Option<&Member>, is_patch: bool) -> Result<TokenStream> {
    let name = &taken.name;
    let doc = match (&taken.doc, member) {
        (Some(doc), _) => quote!(#[doc = #doc]),
        (None, Some(Member { doc, .. })) => quote!(#(#doc)*),
        (None, None) => {
            return Err(Error::new(
                name.span(),
                "a member that the record does not have needs a documentation text",
            ));
        }
    };
    let serde =
        member.map(|member| member.serde.as_slice()).unwrap_or_default().iter().chain(&taken.serde);
    let ty = match (&taken.ty, member) {
        (Some(ty), _) => quote!(#ty),
        (None, Some(Member { ty, .. })) => match generic(ty) {
            Some((option, inner)) if option == "Option" && is_patch => {
                quote!(crate::value::Patch<#inner>)
            }
            Some((option, _)) if option == "Option" => quote!(#ty),
            _ => {
                return Err(Error::new(
                    name.span(),
                    "a member that is not optional needs a type: `name(Type)`",
                ));
            }
        },
        (None, None) => {
            return Err(Error::new(
                name.span(),
                format!("the record has no member `{}`; it needs a type", plain(name)),
            ));
        }
    };
    Ok(quote!(#doc #(#serde)* pub #name: #ty))
}

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("String"))
}
