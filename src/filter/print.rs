//! Prints a tree as canonical text: one spelling for each operator, double quotes, only the
//! parentheses that are needed.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter, Write as _};

use super::constant::Constant;
use super::syntax::{Arg, Ast, Items, Junction, Node};

/// A tree with the substitutions to print in place of `@n`; an unknown one prints as `@n`.
pub(super) struct PrintedTree<'a> {
    pub tree: &'a Ast,
    pub substitutions: &'a BTreeMap<usize, Constant>,
}

impl fmt::Display for PrintedTree<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.node(f, self.tree)
    }
}

/// The precedence of a node; the levels are those of the grammar, loosest first.
fn level(node: &Node) -> u8 {
    match node {
        Node::Conditional(..) => 0,
        Node::Coalesce(..) => 1,
        Node::Junction(Junction::Or, _) => 2,
        Node::Junction(Junction::And, _) => 3,
        Node::In { .. } => 4,
        Node::Bits(..) => 5,
        Node::Compare(..) => 6,
        Node::Chain(_, rest) if rest.first().is_some_and(|(operator, _)| operator.is_sum()) => 7,
        Node::Chain(..) => 8,
        Node::Not(_) | Node::Negate(_) => 9,
        // `-1.Foo` would negate the call, so a negative number has the precedence of a minus.
        Node::Int(value) if *value < 0 => 9,
        Node::Real(value) if value.is_sign_negative() => 9,
        _ => 10,
    }
}

impl PrintedTree<'_> {
    /// Prints a node, in parentheses if it binds looser than `tightest`.
    fn operand(&self, f: &mut Formatter<'_>, tree: &Ast, tightest: u8) -> fmt::Result {
        if level(&tree.node) >= tightest {
            return self.node(f, tree);
        }
        f.write_char('(')?;
        self.node(f, tree)?;
        f.write_char(')')
    }

    fn list<'t>(
        &self,
        f: &mut Formatter<'_>,
        elements: impl IntoIterator<Item = &'t Ast>,
    ) -> fmt::Result {
        separated(f, elements, ", ", |f, element| self.node(f, element))
    }

    fn args(&self, f: &mut Formatter<'_>, args: &[Arg]) -> fmt::Result {
        f.write_char('(')?;
        separated(f, args, ", ", |f, arg| {
            if let Some(parameter) = &arg.parameter {
                write!(f, "{parameter} => ")?;
            }
            self.node(f, &arg.body)
        })?;
        f.write_char(')')
    }

    fn joined(&self, f: &mut Formatter<'_>, terms: &[Ast], sign: &str, above: u8) -> fmt::Result {
        // A chain of the other operator of the same level (`&` and `|`) is printed in parentheses.
        separated(f, terms, sign, |f, term| self.operand(f, term, above))
    }

    fn node(&self, f: &mut Formatter<'_>, tree: &Ast) -> fmt::Result {
        match &tree.node {
            Node::Null => f.write_str("null"),
            Node::Bool(value) => write!(f, "{value}"),
            Node::Int(value) => write!(f, "{value}"),
            Node::Real(value) => write!(f, "{value:?}"),
            Node::Text(text) => quoted(f, text),
            Node::Substitution(number) => {
                match number.and_then(|number| self.substitutions.get(&number)) {
                    Some(value) => constant(f, value),
                    None => write!(f, "@{}", number.unwrap_or(usize::MAX)),
                }
            }
            Node::It => f.write_str("it"),
            Node::Parent => f.write_char('^'),
            Node::Root => f.write_char('~'),
            Node::Name(name) => f.write_str(name),
            Node::Member(..) | Node::Method(..) | Node::Index(..) => self.postfix(f, tree),
            Node::Call(name, args) => {
                f.write_str(name)?;
                self.args(f, args)
            }
            Node::Array(elements) => {
                f.write_str("new[]{")?;
                self.list(f, elements)?;
                f.write_char('}')
            }
            Node::Brackets(items) => self.brackets(f, items),
            Node::Not(operand) => {
                f.write_str("not ")?;
                self.operand(f, operand, 9)
            }
            Node::Negate(operand) => {
                // A negated constant is printed as a constant, which is how it is parsed.
                if let Some(negated) = self.number(&operand.node).and_then(|number| match number {
                    Constant::Int(value) => value.checked_neg().map(Constant::Int),
                    Constant::Double(value) => Some(Constant::Double(-value)),
                    _ => None,
                }) {
                    return constant(f, &negated);
                }
                f.write_char('-')?;
                // Without the parentheses the minus would be parsed as part of the number.
                let is_number = matches!(operand.node, Node::Int(_) | Node::Real(_));
                self.operand(f, operand, if is_number { 11 } else { 9 })
            }
            Node::Chain(first, rest) => {
                let own = level(&tree.node);
                self.operand(f, first, own + 1)?;
                for (operator, operand) in rest {
                    write!(f, " {} ", operator.sign())?;
                    self.operand(f, operand, own + 1)?;
                }
                Ok(())
            }
            Node::Compare(comparison, left, right) => {
                self.operand(f, left, 6)?;
                write!(f, " {} ", comparison.sign())?;
                self.operand(f, right, 7)
            }
            Node::Bits(kind, terms) => {
                self.joined(f, terms, if *kind == Junction::And { " & " } else { " | " }, 6)
            }
            Node::Junction(Junction::And, terms) => self.joined(f, terms, " and ", 4),
            Node::Junction(Junction::Or, terms) => self.joined(f, terms, " or ", 3),
            Node::In { value, negated, items } => {
                self.operand(f, value, 4)?;
                f.write_str(if *negated { " not in " } else { " in " })?;
                match items {
                    Items::List(items) => {
                        f.write_char('(')?;
                        self.list(f, items)?;
                        f.write_char(')')
                    }
                    Items::Of(list) => self.operand(f, list, 10),
                }
            }
            Node::Coalesce(first, second) => {
                self.operand(f, first, 2)?;
                f.write_str(" ?? ")?;
                self.operand(f, second, 0)
            }
            Node::Conditional(condition, yes, no) => {
                let nested = matches!(&condition.node, Node::Coalesce(..));
                self.operand(f, condition, if nested { 2 } else { 1 })?;
                f.write_str(" ? ")?;
                self.node(f, yes)?;
                f.write_str(" : ")?;
                self.node(f, no)
            }
        }
    }

    /// Prints the operand of a dot or bracket. A number needs parentheses, or the dot would be
    /// parsed as part of it.
    fn receiver(&self, f: &mut Formatter<'_>, tree: &Ast) -> fmt::Result {
        self.operand(f, tree, if self.number(&tree.node).is_some() { 11 } else { 10 })
    }

    /// The number that a literal or substitution stands for.
    fn number(&self, node: &Node) -> Option<Constant> {
        let constant = match node {
            Node::Int(value) => Constant::Int(*value),
            Node::Real(value) => Constant::Double(*value),
            Node::Substitution(number) => self.substitutions.get(&(*number)?)?.clone(),
            _ => return None,
        };
        matches!(constant, Constant::Int(_) | Constant::Double(_)).then_some(constant)
    }

    fn postfix(&self, f: &mut Formatter<'_>, tree: &Ast) -> fmt::Result {
        match &tree.node {
            Node::Member(left, name) => {
                self.receiver(f, left)?;
                write!(f, ".{name}")
            }
            Node::Method(left, name, args) => {
                self.receiver(f, left)?;
                write!(f, ".{name}")?;
                self.args(f, args)
            }
            Node::Index(left, index) => {
                self.receiver(f, left)?;
                f.write_char('[')?;
                self.node(f, index)?;
                f.write_char(']')
            }
            _ => self.node(f, tree),
        }
    }

    fn brackets(&self, f: &mut Formatter<'_>, items: &[(Ast, Option<Ast>)]) -> fmt::Result {
        f.write_char('[')?;
        separated(f, items, ", ", |f, (key, value)| {
            self.operand(f, key, 2)?;
            let Some(value) = value else { return Ok(()) };
            f.write_str(": ")?;
            self.operand(f, value, 2)
        })?;
        f.write_char(']')
    }
}

/// Prints items with a text between them.
pub(super) fn separated<T>(
    f: &mut Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    between: &str,
    print: impl Fn(&mut Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            f.write_str(between)?;
        }
        print(f, item)?;
    }
    Ok(())
}

/// A string literal that reads back as `text`.
fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

fn constant(f: &mut Formatter<'_>, value: &Constant) -> fmt::Result {
    match value {
        Constant::Null => f.write_str("null"),
        Constant::Bool(value) => write!(f, "{value}"),
        Constant::Int(value) | Constant::Time(value) | Constant::Span(value) => {
            write!(f, "{value}")
        }
        Constant::Double(value) => write!(f, "{value:?}"),
        Constant::Text(text) => quoted(f, text),
    }
}
