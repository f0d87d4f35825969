//! Iterations of a step below the step that loops.

use super::step::NewStep;

/// What a step is in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoopPart {
    /// It does not loop.
    #[default]
    None,
    /// It has what became of all iterations.
    Whole,
    /// It is one of the iterations.
    Iteration,
}

/// Puts iterations below the step of their loop, which has the same name and stands directly before
/// or behind them. Iterations without such a step stay where they are.
pub(crate) fn nest(steps: Vec<(LoopPart, NewStep)>) -> Vec<NewStep> {
    let mut nested: Vec<NewStep> = Vec::with_capacity(steps.len());
    // The place of the whole loop that iterations may follow.
    let mut whole: Option<usize> = None;
    // The place of the first of the iterations at the end.
    let mut loose: Option<usize> = None;
    for (part, mut step) in steps {
        let has_name = |other: Option<&NewStep>| {
            other.is_some_and(|other| other.request.name == step.request.name)
        };
        match part {
            LoopPart::None => {
                (whole, loose) = (None, None);
                nested.push(step);
            }
            LoopPart::Whole => {
                let from = loose.take().filter(|at| has_name(nested.get(*at)));
                if let Some(from) = from {
                    let mut children = nested.split_off(from);
                    children.append(&mut step.children);
                    step.children = children;
                }
                whole = from.is_none().then_some(nested.len());
                nested.push(step);
            }
            LoopPart::Iteration => {
                let below = whole.filter(|at| has_name(nested.get(*at)));
                if let Some(below) = below.and_then(|at| nested.get_mut(at)) {
                    below.children.push(step);
                    continue;
                }
                whole = None;
                loose = loose.filter(|at| has_name(nested.get(*at))).or(Some(nested.len()));
                nested.push(step);
            }
        }
    }
    nested
}

#[cfg(test)]
mod tests {
    use stationdb::results::CreateStepRequest;

    use super::LoopPart::{Iteration, None, Whole};
    use super::*;

    fn shown(steps: &[NewStep]) -> String {
        let one = |step: &NewStep| {
            let name = step.request.name.clone().unwrap_or_default();
            if step.children.is_empty() {
                name
            } else {
                format!("{name}({})", shown(&step.children))
            }
        };
        steps.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(steps: &[(LoopPart, &str)], expected: &str) {
        let steps = steps.iter().map(|(part, name)| {
            let request = CreateStepRequest::new().name(*name);
            (*part, NewStep { request, ..NewStep::default() })
        });
        assert_eq!(shown(&nest(steps.collect())), expected);
    }

    #[test]
    fn iterations_are_below_their_loop() {
        check(
            &[(None, "a"), (Whole, "l"), (Iteration, "l"), (Iteration, "l"), (None, "b")],
            "a l(l l) b",
        );
        check(&[(Iteration, "l"), (Iteration, "l"), (Whole, "l"), (None, "b")], "l(l l) b");
        // Two loops of one step, one behind the other.
        let twice = [(Whole, "l"), (Iteration, "l"), (Whole, "l"), (Iteration, "l")];
        check(&twice, "l(l) l(l)");
        let twice = [(Iteration, "l"), (Whole, "l"), (Iteration, "l"), (Whole, "l")];
        check(&twice, "l(l) l(l)");
    }

    #[test]
    fn other_iterations_stay() {
        check(&[(Iteration, "l"), (Iteration, "l")], "l l");
        check(&[(Whole, "l"), (Iteration, "m"), (None, "l")], "l m l");
        check(&[(Iteration, "m"), (Iteration, "l"), (Whole, "l")], "m l(l)");
        check(&[(Whole, "l"), (None, "a"), (Iteration, "l")], "l a l");
    }
}
