//! Writing one copy.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use hoist_trace::Episode;
use hoist_trace::log::{Header, LogReader};
use hoist_trace::redact::{Redactor, line_of};
use hoist_trace::sessions::{LogInput, OpenLog};

use super::Error;
use super::place::Out;
use super::report::Copied;
use crate::text;

/// Copies a log. Where a line is left out, an empty one stands, so that lines keep their numbers.
pub(super) fn log(
    log: OpenLog,
    name: &Path,
    out: &Out,
    redactor: &mut Redactor,
) -> Result<Copied, Error> {
    let OpenLog { path, mut reader, .. } = log;
    let wanted = renamed(name, redactor);
    let (name, file) = out.create(&wanted)?;
    // A session goes by the name of its file, with the number that makes it another one's.
    let stem = |name: &Path| name.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let number = stem(&name).zip(stem(&wanted));
    let number = number.and_then(|(name, wanted)| Some(name.strip_prefix(&*wanted)?.to_owned()));
    let mut writer = BufWriter::with_capacity(64 << 10, file);
    let mut copied = Copied {
        original: text::file(&path),
        copy: name.to_string_lossy().into_owned(),
        ..Copied::default()
    };
    let mut header = redactor.header(reader.header());
    header.session.push_str(&number.unwrap_or_default());
    let written = write(&header, &mut reader, &mut writer, redactor, &mut copied);
    match written {
        Ok(()) => {
            let report = reader.report();
            copied.bad_lines = report.bad_lines;
            copied.torn_bytes = if report.header_is_torn { 0 } else { report.torn_bytes };
            Ok(copied)
        }
        Err(error) => {
            out.remove(&name);
            Err(match error {
                Failed::Read(error) => error.into(),
                Failed::Write(source) => Error::io("write", &name)(source),
            })
        }
    }
}

enum Failed {
    Read(hoist_trace::log::LogError),
    Write(std::io::Error),
}

fn write(
    header: &Header,
    reader: &mut LogReader<LogInput>,
    writer: &mut BufWriter<File>,
    redactor: &mut Redactor,
    copied: &mut Copied,
) -> Result<(), Failed> {
    writer.write_all(header.to_line().as_bytes()).map_err(Failed::Write)?;
    let mut lines = 1;
    for item in reader {
        let entry = match item {
            Ok(entry) => entry,
            Err(error) if error.is_bad_line() => continue,
            Err(error) => return Err(Failed::Read(error)),
        };
        for _ in lines + 1..entry.line {
            writer.write_all(b"\n").map_err(Failed::Write)?;
        }
        lines = entry.line;
        copied.entries += 1;
        let line = line_of(&redactor.entry(&entry));
        writer.write_all(line.as_bytes()).map_err(Failed::Write)?;
    }
    writer.flush().map_err(Failed::Write)
}

/// The copy of a file of runs: an episode a line.
#[derive(Debug)]
pub(super) struct Runs {
    /// What is copied.
    pub(super) path: PathBuf,
    name: PathBuf,
    writer: BufWriter<File>,
    copied: Copied,
}

impl Runs {
    pub(super) fn begin(
        path: &Path,
        name: &Path,
        out: &Out,
        redactor: &mut Redactor,
    ) -> Result<Self, Error> {
        let (name, file) = out.create(&renamed(name, redactor))?;
        let copied = Copied {
            original: text::file(path),
            copy: name.to_string_lossy().into_owned(),
            ..Copied::default()
        };
        let writer = BufWriter::with_capacity(64 << 10, file);
        Ok(Self { path: path.to_owned(), name, writer, copied })
    }

    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    pub(super) fn write(&mut self, episode: &Episode) -> Result<(), Error> {
        let line = serde_json::to_vec(episode).map_err(std::io::Error::from);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            self.writer.write_all(&line)
        });
        written.map_err(Error::io("write", &self.name))?;
        self.copied.entries += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Copied, Error> {
        self.writer.flush().map_err(Error::io("write", &self.name))?;
        Ok(self.copied)
    }
}

/// The name of the copy: part by part, the ending stays.
fn renamed(name: &Path, redactor: &mut Redactor) -> PathBuf {
    let mut renamed = PathBuf::new();
    for part in name {
        let part = part.to_string_lossy();
        let ending = [".jsonl", ".json"].into_iter().find(|ending| part.ends_with(ending));
        let ending = ending.unwrap_or_default();
        let stem = part.strip_suffix(ending).unwrap_or(&part);
        let stem = redactor.name(stem);
        // No name of a file is to lead elsewhere.
        let stem = stem.replace(['/', '\\', '\0'], "-");
        renamed.push(format!(
            "{}{ending}",
            if stem.trim_matches('.').is_empty() { "x" } else { &stem }
        ));
    }
    renamed
}
