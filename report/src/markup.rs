//! What a page has of a waveform beside the numbers for the scripts.

use stationdb::serde_json::Value;
use stationdb::tables::Column;

use crate::html::{folded_table, isolated, table, visible};
use crate::line_picture::LinePicture;
use crate::number::grouped;
use crate::plot_options::PlotOptions;
use crate::read::Pass;
use crate::x_axis::{XAxis, unit};

/// A column as the page has it.
pub(crate) struct Written {
    pub json: Value,
    pub is_whole: bool,
    pub picture: Vec<Option<(f64, f64)>>,
    pub limits: Vec<f64>,
    /// The row of the table of columns.
    pub summary: Vec<String>,
    /// Rows of the table of violations.
    pub violations: Vec<Vec<String>>,
    pub violation_count: u64,
}

/// x with all digits, and the unit of a number.
pub(crate) fn at_text(x: &XAxis, at: i64) -> String {
    match &x.unit {
        Some(unit) if !x.data_type.is_time() => format!("{} {}", x.text(at), visible(unit)),
        _ => x.text(at),
    }
}

/// What a browser without scripts shows, and where scripts draw.
pub(crate) fn markup(
    number: usize,
    title: &str,
    pass: &Pass,
    columns: &[Written],
    ys: &[Column],
    options: &PlotOptions,
) -> String {
    let x = &pass.x;
    let heading = isolated(title);
    let mut out = format!(
        "<section class=\"waveform\" data-waveform=\"{number}\" aria-labelledby=\"w{number}\">\n\
         <h2 id=\"w{number}\">{heading}</h2>\n"
    );
    let (first, last) = if pass.rows == 0 {
        ("no rows".to_owned(), String::new())
    } else {
        (at_text(x, x.first), at_text(x, x.last))
    };
    let extent = match pass.rows {
        0 => "No samples.".to_owned(),
        rows => format!(
            "{} samples, {} from {} to {}.",
            grouped(rows),
            isolated(&x.name),
            isolated(&first),
            isolated(&last)
        ),
    };
    let placeless = match pass.placeless {
        0 => String::new(),
        1 => format!(" One row without a finite {} is left out.", isolated(&x.name)),
        count => {
            format!(" {} rows without a finite {} are left out.", grouped(count), isolated(&x.name))
        }
    };
    out.push_str(&format!(
        "<p>{extent}{placeless}</p>\n<div class=\"charts\"></div>\n<div class=\"pictures\">\n"
    ));
    for (column, y) in columns.iter().zip(ys) {
        let label = format!("{} over {}", y.name, x.name);
        let picture = LinePicture {
            label: &label,
            points: &column.picture,
            limits: &column.limits,
            ends: (&first, &last),
        };
        let unit = unit(y).map_or_else(String::new, |unit| format!(" ({})", isolated(&unit)));
        out.push_str(&format!(
            "<figure><figcaption>{}{unit}</figcaption>{}</figure>\n",
            isolated(&y.name),
            picture.svg()
        ));
    }
    out.push_str("</div>\n");
    let rows: Vec<Vec<String>> = columns.iter().map(|column| column.summary.clone()).collect();
    out.push_str(&table(
        "Columns",
        &[
            "Column",
            "Unit",
            "Samples",
            "Lowest",
            "at",
            "Highest",
            "at",
            "Nulls",
            "NaN or infinite",
            "Limits",
            "Violations",
            "Samples of an interval",
        ],
        &rows,
    ));
    if !options.lines.is_empty() {
        let lines = options.lines.iter().map(|(text, _)| isolated(text));
        out.push_str(&format!(
            "<p>Lines, by which no sample is judged: {}.</p>\n",
            lines.collect::<Vec<_>>().join(", ")
        ));
    }
    let violations: Vec<Vec<String>> =
        columns.iter().flat_map(|column| column.violations.clone()).collect();
    if !violations.is_empty() {
        let count: u64 = columns.iter().map(|column| column.violation_count).sum();
        let listed = violations.len() as u64;
        let caption = if listed == count {
            format!("{} violations of limits", grouped(count))
        } else {
            format!("The first {} of {} violations of limits", grouped(listed), grouped(count))
        };
        let head = ["Column", "From", "To", "Samples", "Worst", "at"];
        out.push_str(&folded_table(&caption, &head, &violations));
    }
    out.push_str("</section>\n");
    out
}
