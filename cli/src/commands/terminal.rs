//! A plot in the terminal: braille patterns, each of which has two by four dots.

use console::{Color, Term, measure_text_width, style};

use super::axis::Axis;
use super::drawing::{Drawing, LEFT_OUT, Limit, LimitKind};
use super::picture::Bars;
use super::scale::number;

const CURVES: [Color; 6] =
    [Color::Cyan, Color::Red, Color::Green, Color::Magenta, Color::Yellow, Color::Blue];
/// The colour of marks among those of curves.
const MARK: usize = 1;
/// The colour of the limits of specifications among those of curves. Control limits have none.
const SPECIFICATION: usize = 4;
/// Characters of the plot without axes, if the output is no terminal.
const PLAIN: (usize, usize) = (68, 18);
/// Columns of a terminal that the y axis takes.
const AXIS: usize = 12;
/// Lines of a terminal that the x axis, the legend and the prompt take.
const BELOW: usize = 5;
/// The bits of the dots of a pattern, by column and row.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Width and height of the plot in characters.
pub fn size() -> (usize, usize) {
    let Some((height, width)) = Term::stdout().size_checked() else { return PLAIN };
    let (width, height) = (usize::from(width), usize::from(height));
    (width.saturating_sub(AXIS).clamp(20, 400), height.saturating_sub(BELOW).clamp(5, 40))
}

/// The dots of a plot, and which curve drew each character last.
struct Canvas {
    width: usize,
    height: usize,
    dots: Vec<u8>,
    drawn_by: Vec<Option<usize>>,
}

impl Canvas {
    fn dot(&mut self, x: usize, y: usize, curve: Option<usize>) {
        let at = (y / 4).min(self.height - 1) * self.width + (x / 2).min(self.width - 1);
        if let (Some(dots), Some(drawn_by)) = (self.dots.get_mut(at), self.drawn_by.get_mut(at)) {
            *dots |= DOTS[x % 2][y % 4];
            *drawn_by = curve.or(*drawn_by);
        }
    }

    /// A line between two dots.
    fn line(&mut self, from: (usize, usize), to: (usize, usize), curve: usize) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |a: usize, b: usize, step: usize| {
            let (a, b) = (a as f64, b as f64);
            (a + (b - a) * step as f64 / steps as f64).round() as usize
        };
        for step in 0..=steps {
            self.dot(between(from.0, to.0, step), between(from.1, to.1, step), Some(curve));
        }
    }

    fn row(&self, row: usize) -> String {
        let cells = row * self.width..(row + 1) * self.width;
        let dots = self.dots.get(cells.clone()).unwrap_or_default();
        let drawn_by = self.drawn_by.get(cells).unwrap_or_default();
        let cells: Vec<(u8, Option<usize>)> =
            dots.iter().copied().zip(drawn_by.iter().copied()).collect();
        let mut text = String::new();
        // One change of colour for all characters of a curve that follow each other.
        for run in cells.chunk_by(|a, b| a.1 == b.1) {
            let patterns: String = run
                .iter()
                .filter_map(|(dots, _)| char::from_u32(0x2800 + u32::from(*dots)))
                .collect();
            match run.first().and_then(|(_, curve)| *curve) {
                Some(curve) => {
                    let color = CURVES[curve % CURVES.len()];
                    text.push_str(&style(patterns).fg(color).to_string());
                }
                None => text.push_str(&patterns),
            }
        }
        text
    }
}

/// The plot as text.
pub fn draw(drawing: &Drawing, width: usize, height: usize) -> String {
    let cells = width * height;
    let mut canvas = Canvas { width, height, dots: vec![0; cells], drawn_by: vec![None; cells] };
    let ((left, right), (low, high)) = drawing.ranges();
    let (across, up) = (Axis::new((left, right)), Axis::new((low, high)));
    let place = |value: f64, axis: Axis, dots: usize| {
        (axis.part(value) * (dots - 1) as f64).round().clamp(0.0, (dots - 1) as f64) as usize
    };
    let column = |x: f64| place(x, across, width * 2);
    let line = |y: f64| height * 4 - 1 - place(y, up, height * 4);
    for limit in &drawing.limits {
        // The dashes differ too, for those who see no colours.
        let (dash, color) = match limit.kind {
            LimitKind::Specification => (6, Some(SPECIFICATION)),
            LimitKind::Control => (2, None),
        };
        for x in (0..width * 2).filter(|x| x % (dash + 2) < dash) {
            canvas.dot(x, line(limit.value), color);
        }
    }
    for (at, curve) in drawing.curves.iter().enumerate() {
        let mut before = None;
        for (x, y) in &curve.points {
            let dot = (column(*x), line(*y));
            canvas.line(before.unwrap_or(dot), dot, at);
            before = Some(dot);
        }
    }
    for (x, y) in &drawing.marks.points {
        // Several dots, so that they differ from a line.
        let (at, up) = (column(*x), line(*y));
        for dot in [(at, up), (at + 1, up), (at, up.saturating_sub(1)), (at, up + 1)] {
            canvas.dot(dot.0, dot.1.min(height * 4 - 1), Some(MARK));
        }
    }
    let labels = [(0, number(high)), (height / 2, number(up.at(0.5)))];
    let label = |row: usize| {
        let last = (row + 1 == height).then(|| number(low));
        let text = labels.iter().find(|(at, _)| *at == row).map(|(_, text)| text.clone());
        last.or(text).unwrap_or_default()
    };
    let mut text = format!("{}\n", style(&drawing.title).bold());
    for row in 0..height {
        text.push_str(&format!("{:>9} │{}\n", label(row), canvas.row(row)));
    }
    let (from, to) = (drawing.x_label(left), drawing.x_label(right));
    let gap = width.saturating_sub(measure_text_width(&from) + measure_text_width(&to));
    text.push_str(&format!("{:>9} └{}\n", "", "─".repeat(width)));
    text.push_str(&format!("{:>11}{from}{}{to}\n", "", " ".repeat(gap)));
    let mut legend = vec![format!("x: {}", drawing.x_name)];
    for (at, curve) in drawing.curves.iter().enumerate() {
        legend.push(style(&curve.name).fg(CURVES[at % CURVES.len()]).to_string());
    }
    legend.extend(drawing.limits.iter().map(|limit| {
        let name = format!("{} {}", limit.kind.dashes(), limit.name);
        match limit.kind {
            LimitKind::Specification => style(name).fg(CURVES[SPECIFICATION]).to_string(),
            LimitKind::Control => name,
        }
    }));
    if !drawing.marks.points.is_empty() {
        let name = format!("● {}", drawing.marks.name);
        legend.push(style(name).fg(CURVES[MARK]).to_string());
    }
    if drawing.is_partial {
        legend.push(LEFT_OUT.to_owned());
    }
    text.push_str(&format!("{:>11}{}\n", "", legend.join("   ")));
    text
}

/// A histogram as text: a line for each range, and one for each limit between them.
pub fn draw_bars(bars: &Bars, width: usize) -> String {
    let highest = bars.bars.iter().map(|bar| bar.2).fold(1.0, f64::max);
    let step = bars.bars.iter().map(|(from, to, _)| to - from).fold(f64::INFINITY, f64::min);
    let mut limits: Vec<&Limit> = bars.limits.iter().collect();
    limits.sort_by(|a, b| a.value.total_cmp(&b.value));
    let mut limits = limits.into_iter().peekable();
    let cross = |limit: &Limit| {
        let line = limit.kind.dashes().repeat(width / 2);
        format!(
            "{:>11} {}\n",
            "",
            style(format!("┼{line} {}", limit.name)).fg(CURVES[SPECIFICATION])
        )
    };
    let mut text = format!("{}\n", style(&bars.title).bold());
    for (from, _, count) in &bars.bars {
        while let Some(limit) = limits.next_if(|limit| limit.value <= *from) {
            text.push_str(&cross(limit));
        }
        // A place is kept for the number behind the longest bar.
        let length = count / highest * width.saturating_sub(12) as f64;
        let bar = style("█".repeat(length.ceil() as usize)).fg(CURVES[0]);
        let space = if *count > 0.0 { " " } else { "" };
        text.push_str(&format!("{:>11} │{bar}{space}{count}\n", fine(*from, step)));
    }
    if let Some((_, to, _)) = bars.bars.last() {
        while let Some(limit) = limits.next_if(|limit| limit.value <= *to) {
            text.push_str(&cross(limit));
        }
        text.push_str(&format!("{:>11} └{}\n", fine(*to, step), "─".repeat(width / 2)));
    }
    for limit in limits {
        text.push_str(&cross(limit));
    }
    text
}

/// A number with as many digits as tell the starts of ranges apart.
fn fine(value: f64, step: f64) -> String {
    let digits = -step.log10().floor() + 1.0;
    if value.abs() < 1e6 && (0.0..=9.0).contains(&digits) {
        return format!("{value:.0$}", digits as usize);
    }
    number(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::drawing::{Curve, Marks};

    #[test]
    fn a_histogram_has_its_limits_between_its_ranges() {
        console::set_colors_enabled(false);
        let limit = |name: &str, value| Limit {
            name: name.to_owned(),
            value,
            kind: LimitKind::Specification,
        };
        let bars = Bars {
            title: "VOUT".to_owned(),
            x_name: "VOUT".to_owned(),
            bars: vec![(1.0, 1.5, 2.0), (1.5, 2.0, 0.0), (2.0, 2.5, 4.0)],
            limits: vec![limit("high", 3.0), limit("low", 1.7)],
        };
        let text = draw_bars(&bars, 20);
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let expected = [
            "VOUT",
            "1.00 │████ 2",
            "1.50 │0",
            "┼┅┅┅┅┅┅┅┅┅┅ low",
            "2.00 │████████ 4",
            "2.50 └──────────",
            "┼┅┅┅┅┅┅┅┅┅┅ high",
        ];
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn a_spike_and_a_limit_are_seen() {
        let points = (0..100).map(|x| (f64::from(x), if x == 50 { 9.5 } else { 0.5 }));
        let drawing = Drawing {
            title: "Loop".to_owned(),
            x_name: "t".to_owned(),
            is_time: false,
            curves: vec![Curve { name: "volts".to_owned(), points: points.collect() }],
            limits: vec![Limit { name: "max 9".to_owned(), value: 9.0, kind: LimitKind::Control }],
            marks: Marks::default(),
            is_partial: false,
        };
        console::set_colors_enabled(false);
        let text = draw(&drawing, 40, 10);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 14, "{text}");
        assert!(lines[1].starts_with("      9.5 │"), "{text}");
        assert!(lines[10].starts_with("      0.5 │"), "{text}");
        let drawn =
            |line: &str| line.chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
        // The limit is a dashed line over all columns; the spike crosses each line between.
        assert!(drawn(lines[1]) >= 20, "{text}");
        assert!((1..=3).contains(&drawn(lines[5])), "{text}");
        assert_eq!(drawn(lines[10]), 40, "{text}");
        assert!(lines[13].ends_with("x: t   volts   ┄ max 9"), "{text}");
    }

    #[test]
    fn limits_of_both_kinds_differ_with_and_without_colours() {
        let limit = |name: &str, value, kind| Limit { name: name.to_owned(), value, kind };
        let drawing = Drawing {
            title: "VOUT".to_owned(),
            x_name: "t".to_owned(),
            is_time: false,
            curves: vec![Curve { name: "VOUT".to_owned(), points: vec![(0.0, 0.0), (1.0, 0.0)] }],
            limits: vec![
                limit("upper", 4.0, LimitKind::Control),
                limit("max", 9.0, LimitKind::Specification),
            ],
            marks: Marks::default(),
            is_partial: false,
        };
        console::set_colors_enabled(false);
        let text = draw(&drawing, 40, 10);
        let drawn = |row: usize| {
            let cells = text.lines().nth(row).unwrap().chars();
            cells.filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count()
        };
        // One of two characters, and three of four.
        assert_eq!((drawn(6), drawn(1)), (20, 30), "{text}");
        assert!(text.trim_end().ends_with("┄ upper   ┅ max"), "{text}");
    }
}
