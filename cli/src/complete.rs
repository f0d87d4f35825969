//! Completion in the shell: commands, options, kinds, fields, tables and columns.

use std::cell::RefCell;
use std::rc::Rc;

use clap::{Command, CommandFactory as _};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use stationdb::results::{ParetoBy, ResultGroup};

use crate::args::{IMPORT_FORMATS, Line};
use crate::fields;
use crate::kinds::{KINDS, kind};
use crate::output::printable;
use crate::statement;
use crate::words::{Words, partial, quoted};

/// A table as completion needs it.
#[derive(Clone, Debug, Default)]
pub struct TableNames {
    pub id: String,
    pub name: String,
    pub columns: Vec<String>,
}

/// The tables of the store; the shell updates them before each prompt.
pub type Tables = Rc<RefCell<Vec<TableNames>>>;

pub struct Completion {
    tables: Tables,
    files: FilenameCompleter,
    shell: Command,
}

/// What the word at the cursor is.
#[derive(Debug, PartialEq, Eq)]
enum CompletionTarget {
    /// A whole word out of these.
    Word(Vec<String>),
    /// A name inside of the word: an element of a list, a field in a filter.
    Part(Vec<String>),
    File,
    /// A name in a statement of SQL.
    Sql,
    Nothing,
}

impl Completion {
    pub fn new(tables: Tables) -> Self {
        let mut shell = Line::command();
        shell.build();
        Self { tables, files: FilenameCompleter::new(), shell }
    }

    fn wanted(&self, words: &[String]) -> CompletionTarget {
        let (Some(current), Some(before)) = (words.last(), words.get(..words.len() - 1)) else {
            return CompletionTarget::Nothing;
        };
        let Some((command, rest)) = before.split_first() else {
            return CompletionTarget::Word(self.commands());
        };
        if command == "help" {
            return CompletionTarget::Word(self.commands());
        }
        if statement::is_one(command) && !current.starts_with('-') {
            return CompletionTarget::Sql;
        }
        let Some(command) = self.shell.find_subcommand(command) else {
            return CompletionTarget::Nothing;
        };
        if current.starts_with('-') {
            return CompletionTarget::Word(options(command));
        }
        // The option whose value the word is, and otherwise the words that are no options.
        let takes_value = |word: &String| {
            let option = command.get_arguments().find(|argument| {
                let long = argument.get_long().map(|name| format!("--{name}"));
                let short = argument.get_short().map(|name| format!("-{name}"));
                [long, short].contains(&Some(word.clone()))
            });
            option.filter(|argument| argument.get_action().takes_values())
        };
        let mut plain = Vec::new();
        let mut option = None;
        for word in rest {
            if option.take().is_none() {
                option = takes_value(word).map(|argument| argument.get_id().as_str());
                if option.is_none() && !word.starts_with('-') {
                    plain.push(word.as_str());
                }
            }
        }
        let first = plain.first().copied();
        match (command.get_name(), option) {
            ("ls", None) if first.is_none() => CompletionTarget::Word(kinds()),
            ("ls", Some("filter")) => {
                CompletionTarget::Part(kind_names(first, fields::filter_fields))
            }
            ("ls", Some("order")) => CompletionTarget::Word(kind_names(first, fields::orders)),
            ("ls", Some("columns")) => {
                CompletionTarget::Part(kind_names(first, fields::filter_fields))
            }
            ("yield" | "pareto" | "capability" | "plot" | "report", Some("filter")) => {
                CompletionTarget::Part(kind_names(Some("results"), fields::filter_fields))
            }
            ("yield", Some("by")) => CompletionTarget::Part(groups()),
            ("pareto", Some("by")) => {
                CompletionTarget::Word(texts(ParetoBy::ALL, ParetoBy::as_str))
            }
            ("plot", Some("chart")) => {
                CompletionTarget::Word(["histogram", "imr", "xbar"].map(str::to_owned).to_vec())
            }
            ("report", None) if first.is_none() => {
                CompletionTarget::Word(["run", "product", "store"].map(str::to_owned).to_vec())
            }
            (_, Some("kind")) => CompletionTarget::Word(kinds()),
            ("export" | "plot" | "show", None) if first.is_none() => {
                CompletionTarget::Word(self.tables())
            }
            ("import", Some("into")) => CompletionTarget::Word(self.tables()),
            ("export" | "plot", Some("columns" | "order" | "y" | "conditions")) => {
                CompletionTarget::Part(self.columns(first))
            }
            ("export" | "plot", Some("x")) => CompletionTarget::Word(self.columns(first)),
            ("export", Some("format")) => {
                CompletionTarget::Word(["csv", "parquet", "arrow"].map(str::to_owned).to_vec())
            }
            ("import", Some("format")) => {
                CompletionTarget::Word(IMPORT_FORMATS.map(str::to_owned).to_vec())
            }
            (_, Some("output")) | ("import" | "backup", None) => CompletionTarget::File,
            _ => CompletionTarget::Nothing,
        }
    }

    fn commands(&self) -> Vec<String> {
        let all = self.shell.get_subcommands();
        all.flat_map(|one| {
            std::iter::once(one.get_name().to_owned())
                .chain(one.get_visible_aliases().map(str::to_owned))
        })
        .collect()
    }

    /// Names of the tables, and the ids of those whose name is another's too.
    fn tables(&self) -> Vec<String> {
        let tables = self.tables.borrow();
        let is_unique = |name: &str| tables.iter().filter(|table| table.name == name).count() == 1;
        tables
            .iter()
            .map(|table| if is_unique(&table.name) { &table.name } else { &table.id })
            .cloned()
            .collect()
    }

    fn columns(&self, table: Option<&str>) -> Vec<String> {
        let tables = self.tables.borrow();
        let found = tables
            .iter()
            .find(|one| Some(one.id.as_str()) == table || Some(one.name.as_str()) == table);
        found.map(|table| table.columns.clone()).unwrap_or_default()
    }

    /// Tables of records, tables of rows, and the columns of both.
    fn sql_names(&self) -> Vec<String> {
        let fields = KINDS.iter().flat_map(|kind| fields::paths(kind.fields));
        let fields = fields.map(statement::column_of).chain(["record".to_owned()]);
        let records = statement::RECORDS.iter().map(|&name| name.to_owned()).chain(fields);
        let tables = self.tables.borrow();
        let columns = tables.iter().flat_map(|table| table.columns.iter().cloned());
        records.chain(self.tables()).chain(columns).collect()
    }

    /// Where the completed part begins, and what may stand there.
    fn candidates(&self, line: &str) -> (usize, Vec<String>) {
        let Words { words, last_start, .. } = partial(line);
        let current = words.last().cloned().unwrap_or_default();
        let fitting = |names: Vec<String>, start: &str| -> Vec<String> {
            let start = start.to_lowercase();
            let mut names: Vec<String> =
                names.into_iter().filter(|name| name.to_lowercase().starts_with(&start)).collect();
            names.sort();
            names.dedup();
            names
        };
        match self.wanted(&words) {
            CompletionTarget::Word(names) => {
                let names = fitting(names, &current);
                (last_start, names.iter().map(|name| quoted(name)).collect())
            }
            CompletionTarget::Part(names) => {
                let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
                let part = line.trim_end_matches(is_name).len();
                let start = part.max(last_start);
                (start, fitting(names, line.get(start..).unwrap_or_default()))
            }
            CompletionTarget::Sql => {
                let start = line.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_').len();
                let (before, part) = line.split_at(start);
                let names = fitting(self.sql_names(), part);
                let has_quote = before.ends_with('"');
                let written =
                    |name: String| if has_quote { name } else { statement::quoted(&name) };
                (start, names.into_iter().map(written).collect())
            }
            CompletionTarget::File | CompletionTarget::Nothing => (line.len(), Vec::new()),
        }
    }
}

fn options(command: &Command) -> Vec<String> {
    let all = command.get_arguments().filter_map(clap::Arg::get_long);
    all.map(|name| format!("--{name}")).collect()
}

/// What results are grouped by.
fn groups() -> Vec<String> {
    texts(ResultGroup::ALL, ResultGroup::as_str)
}

fn texts<T: Copy>(values: &[T], text: fn(T) -> &'static str) -> Vec<String> {
    values.iter().map(|&value| text(value).to_owned()).collect()
}

fn kinds() -> Vec<String> {
    KINDS.iter().map(|kind| kind.name.to_owned()).collect()
}

fn kind_names(name: Option<&str>, names: fn(&str) -> Vec<&'static str>) -> Vec<String> {
    let found = name.and_then(|name| kind(name).ok());
    let names = found.map(|kind| names(kind.fields)).unwrap_or_default();
    names.into_iter().map(str::to_owned).collect()
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        cursor: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..cursor).unwrap_or_default();
        if self.wanted(&partial(before).words) == CompletionTarget::File {
            return self.files.complete(line, cursor, context);
        }
        let (start, mut names) = self.candidates(before);
        // The only word is complete: the next one can be typed.
        if let (CompletionTarget::Word(_), [name]) =
            (self.wanted(&partial(before).words), &mut names[..])
        {
            name.push(' ');
        }
        let pairs = names
            .into_iter()
            .map(|name| Pair { display: printable(name.trim_end()), replacement: name });
        Ok((start, pairs.collect()))
    }
}

impl Hinter for Completion {
    type Hint = String;
}

impl Highlighter for Completion {}

impl Validator for Completion {}

impl Helper for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion() -> Completion {
        let table = |id: &str, name: &str, columns: &[&str]| TableNames {
            id: id.to_owned(),
            name: name.to_owned(),
            columns: columns.iter().map(|&name| name.to_owned()).collect(),
        };
        let tables = vec![
            table("a1", "Loop", &["t", "volts", "amps"]),
            table("a2", "Twin", &[]),
            table("a3", "Twin", &[]),
            table("a4", "Long run", &["t"]),
        ];
        Completion::new(Rc::new(RefCell::new(tables)))
    }

    #[test]
    fn each_place_has_its_names() {
        let completion = completion();
        let complete = |line: &str| {
            let (start, names) = completion.candidates(line);
            (line[start..].to_owned(), names.join(" "))
        };
        let expect = |part: &str, names: &str| (part.to_owned(), names.to_owned());
        assert_eq!(complete("ex"), expect("ex", "exit export"));
        assert_eq!(complete("help com"), expect("com", "compact"));
        assert_eq!(complete("ls work-"), expect("work-", "work-item-templates work-items"));
        assert_eq!(complete("export "), expect("", "'Long run' Loop a2 a3"));
        assert_eq!(complete("export 'Lo"), expect("'Lo", "'Long run' Loop"));
        assert_eq!(complete("export Loop --columns t,v"), expect("v", "volts"));
        assert_eq!(complete("plot Loop --y "), expect("", "amps t volts"));
        assert_eq!(complete("plot a4 --x "), expect("", "t"));
        assert_eq!(complete("plot Loop --where 'am"), expect("am", "amps"));
        assert_eq!(complete("export Loop -o x --fr"), expect("--fr", "--from"));
        assert_eq!(
            complete("ls products --filter 'name == \"x\" && part"),
            expect("part", "partNumber")
        );
        assert_eq!(complete("ls products --order upd"), expect("upd", "UPDATED_AT"));
        assert_eq!(
            complete("ls specs --columns limit.m"),
            expect("limit.m", "limit.max limit.min")
        );
        assert_eq!(
            complete("search x --kind wor"),
            expect("wor", "work-item-templates work-items workspaces")
        );
        assert_eq!(complete("yield --by week,prog"), expect("prog", "PROGRAM_NAME"));
        assert_eq!(complete("pareto --by me"), expect("me", "MEASUREMENT"));
        assert_eq!(complete("plot --measurement x --chart x"), expect("x", "xbar"));
        assert_eq!(complete("yield --filter 'serial"), expect("serial", "serialNumber"));
        assert_eq!(complete("import f --into Lo"), expect("Lo", "'Long run' Loop"));
        assert_eq!(complete("select vo"), expect("vo", "volts"));
        assert_eq!(
            complete("sql select a from prod"),
            expect("prod", "product_families product_family product_id product_name products")
        );
        assert_eq!(complete("select part_n"), expect("part_n", "part_number part_numbers"));
        assert_eq!(complete("select timel"), expect("timel", "timeline"));
        assert_eq!(complete("select * from quo"), expect("quo", "quotas"));
        let near = "\"Long run\" \"Loop\" location locations";
        assert_eq!(complete("select t from Lo"), expect("Lo", near));
        assert_eq!(complete("select t from rows.\"Loo"), expect("Loo", "Loop"));
        assert_eq!(complete("sql --js"), expect("--js", "--json --jsonl"));
        assert_eq!(complete("nothing "), expect("", ""));
        assert_eq!(completion.wanted(&partial("import lo").words), CompletionTarget::File);
        assert_eq!(completion.wanted(&partial("export Loop -o lo").words), CompletionTarget::File);
    }
}
