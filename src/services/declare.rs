//! Implements a service for all handles: `Session`, `Transaction` and `OwnedTransaction`.

/// Declares the public trait of a service, and implements it for [`Session`](crate::Session),
/// [`Transaction`](crate::Transaction) and [`OwnedTransaction`](crate::OwnedTransaction).
///
/// The body of each method is its one implementation, for [`Handle`](crate::session::Handle). It is
/// compiled once, in this crate; the trait itself has no bodies. `#[writes]` before a method says
/// that it may change the store. The declaration also makes the call by name (`by_name`).
///
/// The declaration is not indented inside the macro, as `rustfmt` would format it outside of one.
/// The tests that list every operation read it in this form.
macro_rules! service {
    ($(#[$meta:meta])* pub trait $service:ident {
        $(
            $(#[doc = $doc:expr])*
            $(#[writes$($writes:tt)?])?
            fn $method:ident(&$this:ident $(, $arg:ident: $ty:ty)* $(,)?) -> $out:ty $body:block
        )*
    }) => {
        $(#[$meta])*
        // The recipe declares one inside the crate.
        #[allow(unreachable_pub)]
        pub trait $service {
            $($(#[doc = $doc])* fn $method(&self $(, $arg: $ty)*) -> $out;)*
        }

        impl $crate::services::by_name::Declared for dyn $service {
            const OPERATIONS: &'static [$crate::services::by_name::Declaration] = &[
                $($crate::services::by_name::Declaration {
                    service: stringify!($service),
                    name: stringify!($method),
                    writes: $crate::services::declare::writes!($([$($writes)?])?),
                    arguments: || vec![$(
                        (stringify!($arg), <$ty as $crate::services::by_name::Argument<'_>>::OTHER)
                    ),*],
                    answer: <<$out as $crate::services::by_name::OfResult>::Answer
                        as $crate::services::by_name::Answered>::other,
                    call: |_handle, _body| {
                        $(let mut $arg = <$ty as $crate::services::by_name::Argument<'_>>::read(
                            _body, stringify!($arg)
                        )?;)*
                        $crate::services::by_name::Answered::reply(_handle.$method($(
                            <$ty as $crate::services::by_name::Argument<'_>>::lend(&mut $arg)?
                        ),*)?)
                    },
                }),*
            ];
        }

        impl $service for $crate::session::Handle<'_> {
            $(fn $method(&$this $(, $arg: $ty)*) -> $out $body)*
        }

        $crate::services::declare::forward! {
            $service for {
                [$crate::session::Session] [$crate::session::Transaction<'_>]
                [$crate::session::OwnedTransaction]
            } { $(fn $method($($arg: $ty),*) -> $out;)* }
        }
    };
}
pub(crate) use service;

/// Whether a method has the attribute `#[writes]`.
macro_rules! writes {
    () => {
        false
    };
    ([]) => {
        true
    };
}
pub(crate) use writes;

/// Implements a service for public handles, by the implementation for [`Handle`].
///
/// [`Handle`]: crate::session::Handle
macro_rules! forward {
    ($service:ident for { $([$handle:ty])* } $methods:tt) => {
        $($crate::services::declare::forward!(@one $service, $handle, $methods);)*
    };
    (@one $service:ident, $handle:ty, {
        $(fn $method:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*
    }) => {
        impl $service for $handle {
            $(fn $method(&self $(, $arg: $ty)*) -> $out {
                let _span = $crate::value::trace::call(stringify!($service), stringify!($method));
                let handle = $crate::session::HasHandle::handle(self, stringify!($method));
                handle.$method($($arg),*)
            })*
        }
    };
}
pub(crate) use forward;
