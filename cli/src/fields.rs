//! The fields that filters and orders may name, from the page of the reference that the library
//! generates from its declarations.

const PAGE: &str = include_str!("../../docs/reference/fields.md");

/// The lines of one kind.
fn section(kind: &str) -> impl Iterator<Item = &'static str> {
    let is_heading = move |line: &&str| line.strip_prefix("## ") == Some(kind);
    let lines = PAGE.lines().skip_while(move |line| !is_heading(line)).skip(1);
    lines.take_while(|line| !line.starts_with("## "))
}

/// The names in backquotes.
fn names(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

/// The fields of a filter.
pub fn filter_fields(kind: &str) -> Vec<&'static str> {
    let rows = section(kind).filter(|line| line.starts_with("| `"));
    // The second column has other names of a field.
    rows.flat_map(|row| row.split('|').skip(1).take(2)).flat_map(names).collect()
}

/// The fields themselves, without other names.
pub fn paths(kind: &str) -> Vec<&'static str> {
    let rows = section(kind).filter(|line| line.starts_with("| `"));
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(names).collect()
}

/// The fields of an order.
pub fn orders(kind: &str) -> Vec<&'static str> {
    // The first request of a kind lists all records; files have another one for filters.
    let lines = section(kind).filter_map(|line| line.strip_prefix("Orders of ")?.split_once(": "));
    let lines = lines.filter(|(request, _)| !request.contains("get_files"));
    let names = lines.flat_map(|(_, names)| names.trim_end_matches('.').split(", "));
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KINDS;

    #[test]
    fn each_kind_with_a_filter_has_fields_and_orders() {
        for kind in KINDS.iter().filter(|kind| !kind.fields.is_empty()) {
            assert!(filter_fields(kind.fields).contains(&"id"), "{}", kind.name);
            assert!(!orders(kind.fields).is_empty(), "{}", kind.name);
        }
        assert!(filter_fields("table").contains(&"rowCount"));
        assert!(!filter_fields("table").contains(&"extension"));
        assert_eq!(orders("Product"), ["ID", "FAMILY", "PART_NUMBER", "NAME", "UPDATED_AT"]);
        assert_eq!(orders("file").first(), Some(&"updated"));
    }
}
