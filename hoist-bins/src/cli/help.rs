//! The `--help` and `--version` texts.

use std::fmt::Write;

use super::table::{Command, Flag};

/// The widest line `--help` writes, unless a word is longer.
const WIDTH: usize = 80;
/// Where a flag's description starts at most; a longer flag has a line to itself.
const MAX_INDENT: usize = 28;

/// The `--help` text of `command`, which the user ran as `program`.
///
/// # Examples
///
/// ```
/// use hoist_bins::cli::{help, tables::DEMO};
///
/// let text = help(&DEMO, "hoist demo");
/// assert!(text.contains("Usage: hoist demo [FLAGS]"));
/// assert!(text.lines().all(|line| line.chars().count() <= 80));
/// ```
pub fn help(command: &Command, program: &str) -> String {
    let mut text = String::new();
    push_wrapped(&mut text, &format!("{program}: {}", command.about), 0);
    text.push_str("\n\nUsage: ");
    text.push_str(program);
    text.push_str(if command.subcommands.is_empty() { " [FLAGS]" } else { " COMMAND" });
    if !command.operands.is_empty() {
        text.push(' ');
        text.push_str(command.operands);
    }
    text.push('\n');
    if !command.subcommands.is_empty() {
        let rows = command.subcommands.iter().map(|subcommand| {
            (subcommand.word.to_owned(), format!("{}.", subcommand.command.about))
        });
        push_table(&mut text, "Commands", &rows.collect::<Vec<_>>());
    }
    let rows = command.flags.iter().map(row);
    let common = [
        ("-h, --help".to_owned(), "Print this text.".to_owned()),
        ("-V, --version".to_owned(), "Print the version.".to_owned()),
    ];
    push_table(&mut text, "Flags", &rows.chain(common).collect::<Vec<_>>());
    if !command.examples.is_empty() {
        text.push_str("\nExamples:\n");
        for example in command.examples {
            let line = format!("{program} {}", example.arguments);
            let _ = writeln!(text, "  # {}\n  {}", example.about, line.trim_end());
        }
    }
    text
}

/// The `--version` line.
pub(super) fn version(program: &str) -> String {
    format!("{program} {}\n", env!("CARGO_PKG_VERSION"))
}

fn row(flag: &Flag) -> (String, String) {
    let mut about = flag.about.to_owned();
    if flag.repeatable {
        about.push_str(" May be given more than once.");
    }
    if let Some(default) = flag.default {
        let _ = write!(about, " Default: {default}.");
    }
    (format!("{} {}", flag.long, flag.value).trim_end().to_owned(), about)
}

/// Writes rows of a term and its description, the descriptions aligned and wrapped.
fn push_table(text: &mut String, title: &str, rows: &[(String, String)]) {
    let widest = rows.iter().map(|(term, _)| term.chars().count()).max().unwrap_or_default();
    let indent = (widest + 4).min(MAX_INDENT);
    let _ = writeln!(text, "\n{title}:");
    for (term, about) in rows {
        let _ = write!(text, "  {term}");
        let end = term.chars().count() + 2;
        if end + 2 > indent {
            let _ = write!(text, "\n{:indent$}", "");
        } else {
            let _ = write!(text, "{:1$}", "", indent - end);
        }
        push_wrapped(text, about, indent);
        text.push('\n');
    }
}

/// Writes words that start at column `indent`, going on under them when a line is full.
fn push_wrapped(text: &mut String, words: &str, indent: usize) {
    let mut column = indent;
    for word in words.split_whitespace() {
        let width = word.chars().count();
        if column > indent && column + 1 + width > WIDTH {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
}
