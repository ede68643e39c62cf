//! Figures as a table.

use std::fmt::Write;

use crate::driver::Figures;

/// Which of the targets the others are compared with.
const BASE: usize = 1;

type Column = (&'static str, fn(&Figures) -> f64);

const COLUMNS: [Column; 3] = [
    ("round trip, µs", |f| f.round_trip_us),
    ("64 in flight, calls/s", |f| f.calls_per_s),
    ("1 MiB results, MiB/s", |f| f.mib_per_s),
];

/// A Markdown table: for each target and column the median over the rounds, and the median of the
/// ratios to the base of the same round with the lowest and the highest of them.
pub(crate) fn render(names: &[&str], figures: &[Vec<Figures>]) -> String {
    let mut text = "| target |".to_owned();
    for (title, _) in COLUMNS {
        write!(text, " {title} | × pipe |").expect("a string takes every text");
    }
    text += "\n| --- |";
    text += &" ---: | ---: |".repeat(COLUMNS.len());
    for (name, rounds) in names.iter().zip(figures) {
        write!(text, "\n| {name} |").expect("a string takes every text");
        for (_, of) in COLUMNS {
            let values = sorted(rounds.iter().map(of));
            let ratios = sorted(rounds.iter().zip(&figures[BASE]).map(|(a, b)| of(a) / of(b)));
            let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
            let value = short(median(&values));
            write!(text, " {value} | {:.2} ({low:.2}–{high:.2}) |", median(&ratios))
                .expect("a string takes every text");
        }
    }
    text
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// As many digits as mean something.
fn short(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}
