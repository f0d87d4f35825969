//! Maps control fields to typed members.

use super::control::ControlFile;
use super::invalid;
use super::relations::relations;
use crate::error::Result;

/// The fields of a control file that have a defined meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackageInfo {
    /// `Package`; never empty.
    pub package_name: String,
    /// `Version`, with its epoch; never empty.
    pub version: String,
    /// `Architecture`; never empty.
    pub architecture: String,
    /// `Description`, all lines.
    pub description: Option<String>,
    /// `Homepage`.
    pub homepage: Option<String>,
    /// `Maintainer`.
    pub maintainer: Option<String>,
    /// `Release-Notes` and its other spellings, all lines.
    pub release_notes: Option<String>,
    /// `Section`.
    pub section: Option<String>,
    /// `Source`.
    pub source: Option<String>,
    /// `Tags` and its other spellings, commas kept.
    pub tags: Option<String>,
    /// `Breaks`.
    pub breaks: Option<Vec<String>>,
    /// `Conflicts`.
    pub conflicts: Option<Vec<String>>,
    /// `Depends`.
    pub depends: Option<Vec<String>>,
    /// `Enhances`.
    pub enhances: Option<Vec<String>>,
    /// `Pre-Depends`.
    pub predepends: Option<Vec<String>>,
    /// `Provides`.
    pub provides: Option<Vec<String>>,
    /// `Recommends`.
    pub recommends: Option<Vec<String>>,
    /// `Replaces`.
    pub replaces: Option<Vec<String>>,
    /// `Suggests`.
    pub suggests: Option<Vec<String>>,
    /// `Essential`.
    pub essential: Option<bool>,
    /// `Installed-Size`, in the unit of the file.
    pub installed_size: Option<i64>,
    /// `Priority`: numbers unchanged, the words of the Debian policy as 2 (required) to 6 (extra).
    pub priority: Option<i64>,
}

impl PackageInfo {
    /// Maps the fields of `control`.
    ///
    /// # Errors
    /// `InvalidArgument` naming the field when the package has no name, version or architecture.
    pub(crate) fn from_control(control: &ControlFile) -> Result<Self> {
        let required = |name: &str| match control.get(name) {
            // An index writes control characters as blanks. A package manager rejects the whole
            // index if one of these fields consists only of blanks.
            Some(text) if text.chars().any(|c| !c.is_control() && !c.is_whitespace()) => {
                Ok(text.to_owned())
            }
            _ => {
                Err(invalid(format_args!("its control file has no field {name}")).with_args([name]))
            }
        };
        let first =
            |names: &[&str]| names.iter().find_map(|name| control.get(name)).map(str::to_owned);
        let list = |names: &[&str]| names.iter().find_map(|name| control.get(name)).map(relations);
        Ok(Self {
            package_name: required("Package")?,
            version: required("Version")?,
            architecture: required("Architecture")?,
            description: first(&["Description"]),
            homepage: first(&["Homepage"]),
            maintainer: first(&["Maintainer"]),
            release_notes: first(&["Release-Notes", "ReleaseNotes", "XB-ReleaseNotes"]),
            section: first(&["Section"]),
            source: first(&["Source"]),
            tags: first(&["Tags", "XB-Tags", "Tag"]),
            breaks: list(&["Breaks"]),
            conflicts: list(&["Conflicts"]),
            depends: list(&["Depends"]),
            enhances: list(&["Enhances"]),
            predepends: list(&["Pre-Depends", "Predepends"]),
            provides: list(&["Provides"]),
            recommends: list(&["Recommends"]),
            replaces: list(&["Replaces"]),
            suggests: list(&["Suggests"]),
            essential: control.get("Essential").and_then(boolean),
            installed_size: control.get("Installed-Size").and_then(|text| text.parse().ok()),
            priority: control.get("Priority").and_then(priority),
        })
    }
}

fn boolean(text: &str) -> Option<bool> {
    let is = |words: [&str; 2]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match (is(["yes", "true"]), is(["no", "false"])) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn priority(text: &str) -> Option<i64> {
    const WORDS: [(&str, i64); 5] =
        [("required", 2), ("important", 3), ("standard", 4), ("optional", 5), ("extra", 6)];
    match WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
        Some((_, number)) => Some(*number),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(text: &str) -> PackageInfo {
        let base = format!("Package: p\nVersion: 1:2\nArchitecture: all\n{text}");
        PackageInfo::from_control(&ControlFile::parse(base.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn relationship_lists_split_outside_parentheses() {
        let depends =
            info("Depends: a (>=  1.0), b | c:any , , d [amd64] <!nocheck>, e (= 1,2), a\n")
                .depends
                .unwrap();
        assert_eq!(depends, ["a (>= 1.0)", "b | c:any", "d [amd64] <!nocheck>", "e (= 1,2)", "a"]);
        assert_eq!(info("Breaks:\n").breaks, Some(vec![]));
        assert_eq!(info("").breaks, None);
    }

    #[test]
    fn words_and_numbers_are_converted_and_others_are_null() {
        for (text, expected) in [
            ("standard", Some(4)),
            ("Required", Some(2)),
            ("extra", Some(6)),
            ("17", Some(17)),
            ("odd", None),
        ] {
            assert_eq!(info(&format!("Priority: {text}\n")).priority, expected);
        }
        assert_eq!(info("Essential: YES\n").essential, Some(true));
        assert_eq!(info("Essential: false\n").essential, Some(false));
        assert_eq!(info("Essential: maybe\nInstalled-Size: 12 MB\n").essential, None);
        assert_eq!(info("Installed-Size: 12 MB\n").installed_size, None);
        assert_eq!(info("Installed-Size: 12\n").installed_size, Some(12));
    }

    #[test]
    fn the_first_spelling_that_is_present_counts() {
        assert_eq!(info("XB-Tags: x\nTag: y\n").tags.as_deref(), Some("x"));
        assert_eq!(info("Predepends: x\n").predepends, Some(vec!["x".to_owned()]));
        assert_eq!(info("XB-ReleaseNotes: x\n y\n").release_notes.as_deref(), Some("x\ny"));
    }

    #[test]
    fn a_missing_field_is_named() {
        for missing in ["Package", "Version", "Architecture"] {
            let text: String = ["Package", "Version", "Architecture"]
                .iter()
                .map(|name| format!("{name}: {}\n", if *name == missing { "" } else { "x" }))
                .collect();
            let error = PackageInfo::from_control(&ControlFile::parse(text.as_bytes()).unwrap())
                .unwrap_err();
            assert!(error.message().contains(missing), "{error}");
        }
    }
}
