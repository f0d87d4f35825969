//! Implements a service for all handles: `Session`, `Transaction` and `OwnedTransaction`.

/// Declares the public trait of a service, and implements it for [`Session`](crate::Session),
/// [`Transaction`](crate::Transaction) and [`OwnedTransaction`](crate::OwnedTransaction).
///
/// The body of each method is its one implementation, for [`Handle`](crate::session::Handle). It is
/// compiled once, in this crate; the trait itself has no bodies. The declaration is not indented
/// inside the macro, as `rustfmt` would format it outside of one. The tests that list every
/// operation read it in this form.
macro_rules! service {
    ($(#[$meta:meta])* pub trait $service:ident {
        $(
            $(#[$doc:meta])*
            fn $method:ident(&$this:ident $(, $arg:ident: $ty:ty)* $(,)?) -> $out:ty $body:block
        )*
    }) => {
        $(#[$meta])*
        // The recipe declares one inside the crate.
        #[allow(unreachable_pub)]
        pub trait $service {
            $($(#[$doc])* fn $method(&self $(, $arg: $ty)*) -> $out;)*
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
