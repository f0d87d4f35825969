//! What a caller should look at: each kind of it is told once, with its first line and its number.

/// The lines of one kind.
#[derive(Default)]
pub(super) struct Told {
    line: u64,
    count: u64,
}

impl Told {
    pub(super) fn add(&mut self, line: u64) {
        if self.count == 0 {
            self.line = line;
        }
        self.count += 1;
    }

    fn text(&self, what: &str) -> Option<String> {
        let others = match self.count.checked_sub(1)? {
            0 => String::new(),
            1 => ", and so has 1 other".to_owned(),
            more => format!(", and so have {more} others"),
        };
        Some(format!("line {} has {what}{others}", self.line))
    }
}

/// The lines of all kinds.
#[derive(Default)]
pub(super) struct Doubts {
    pub(super) short: Told,
    pub(super) computed: Told,
    pub(super) back: Told,
    pub(super) foreign: Told,
    pub(super) fewer: Told,
    pub(super) unended: Told,
    pub(super) other_fields: Told,
}

impl Doubts {
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        [
            (&self.short, "fewer values than there are columns, so the others are null"),
            (&self.computed, "no X value; it is X0 and the row times Delta_X"),
            (
                &self.back,
                "a time that is not after that of the row before; the rows are in the order of \
                 their times, and in that of the file with indexColumn \"row\"",
            ),
            (&self.foreign, "bytes that are not UTF-8, which were read as Windows-1252"),
            (&self.fewer, "the header of a segment, which says more rows than there are"),
            (&self.unended, "no line end, so its last value may be cut off"),
            (&self.other_fields, "a header with fields of its own, which are not kept"),
        ]
        .into_iter()
        .filter_map(|(told, what)| told.text(what))
    }
}
