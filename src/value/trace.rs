//! Spans and events for hosts that collect them; nothing without the feature `tracing`.
//!
//! A span covers a call of a service, a commit, a seal, a merge or a checkpoint. Fields have ids,
//! counts and names of methods, never the contents of records.

/// The span that is entered until it is dropped.
#[cfg(feature = "tracing")]
pub(crate) type SpanGuard = tracing::span::EnteredSpan;

/// Stands for the span of a build without the feature.
#[cfg(not(feature = "tracing"))]
pub(crate) struct SpanGuard;

/// Enters a span: `span!("merge", table = id)`. The value has to be kept.
#[cfg(feature = "tracing")]
macro_rules! span {
    ($name:literal $(, $key:ident = $value:expr)* $(,)?) => {
        tracing::debug_span!(target: "stationdb", $name $(, $key = $value)*).entered()
    };
}

/// Evaluates to nothing that matters; the values are not evaluated.
#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($name:literal $(, $key:ident = $value:expr)* $(,)?) => {{
        let _ = || { $(let _ = &$value;)* };
        $crate::value::trace::SpanGuard
    }};
}
pub(crate) use span;

/// The span of one call of a service.
#[must_use = "the span ends when it is dropped"]
pub(crate) fn call(service: &'static str, method: &'static str) -> SpanGuard {
    span!("call", service = service, method = method)
}

/// Tells an error that no caller gets.
pub(crate) fn background_error(attempt: &'static str, error: &crate::Error) {
    #[cfg(feature = "tracing")]
    tracing::error!(target: "stationdb", attempt, kind = ?error.kind(), "{error}");
    #[cfg(not(feature = "tracing"))]
    let _ = (attempt, error);
}

/// Tells damage that work in the background found.
pub(crate) fn background_damage(attempt: &'static str, file: &str, place: &str, problem: &str) {
    #[cfg(feature = "tracing")]
    tracing::error!(target: "stationdb", attempt, file, place, "{problem}");
    #[cfg(not(feature = "tracing"))]
    let _ = (attempt, file, place, problem);
}
