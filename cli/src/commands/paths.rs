//! Paths of steps as they are shown, and as someone types them.

/// What joins the names of a path that is shown.
pub(super) const JOINT: &str = " > ";

/// The path that someone types: its names joined by line feeds as the store has them, by `\n` as
/// filters and errors have them, or else by ` > ` as figures show them.
pub(super) fn path_of(typed: &str) -> String {
    if typed.contains('\n') {
        typed.to_owned()
    } else if typed.contains("\\n") {
        typed.replace("\\n", "\n")
    } else {
        typed.replace(JOINT, "\n")
    }
}

/// The path for people.
pub(super) fn path_text(path: &str) -> String {
    path.replace('\n', JOINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_typed_as_it_is_shown_told_and_stored() {
        assert_eq!(path_of("Receiver > 1 kHz"), "Receiver\n1 kHz");
        assert_eq!(path_of("a > b\nc"), "a > b\nc");
        assert_eq!(path_of("a>b"), "a>b");
        assert_eq!(path_of("a > b\\nc"), "a > b\nc");
        assert_eq!(path_of(&path_text("a\nb\nc")), "a\nb\nc");
    }
}
