//! Opening a file as what it is.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::runs_file::{Input, RunsFile, broken, inside};
use super::scan::{Place, Scanner};
use super::sniff::{self, Layout, sniff, starts_as_log};
use super::{LogInput, ReadError};
use crate::log::{LogError, LogReader};
use crate::runs::Info;

/// A file as what it is.
#[derive(Debug)]
pub(super) enum Opened {
    Log(LogReader<LogInput>),
    Runs(RunsFile),
    /// A results file whose runs are files of their own.
    Folder(Folder),
    /// None of the formats.
    Unknown,
}

/// What a results file says whose runs are files of their own.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) info: Info,
    /// The runs that its index names; `None` without an index.
    pub(super) index: Option<Vec<String>>,
    /// What is wrong with it.
    pub(super) problems: Vec<ReadError>,
}

/// The folder of a results file's runs, beside it.
pub(super) const RUNS_FOLDER: &str = "simulations";

/// The file that says what the runs in a [`RUNS_FOLDER`] beside it have in common.
const RESULTS_FILE: &str = "results.json";

/// Whether a file that is none of the formats was surely meant for a log.
pub(super) fn is_named_as_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// A file that was opened, and what is wrong with it and costs no run.
pub(super) type Outcome = Result<(Opened, Vec<ReadError>), ReadError>;

/// Opens a file.
pub(super) fn open(path: &Path) -> Outcome {
    let file = open_file(path)?;
    // A pipe that was named as a file, as shells do.
    if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        open_input(Box::new(BufReader::with_capacity(BUFFER_BYTES, file)), path)
    } else {
        open_stream(file, path)
    }
}

/// Opens what cannot be sought through: a log is read as it comes, anything else into memory.
pub(super) fn open_stream(input: impl Read + Send + 'static, path: &Path) -> Outcome {
    let mut input = Stream(BufReader::with_capacity(BUFFER_BYTES, input));
    let start = input.fill_buf().map_err(|source| unreadable(path, source))?;
    // White space aside, what is read into memory is JSON.
    let is_json = matches!(start.trim_ascii_start().first(), None | Some(b'{' | b'[' | 0xef));
    if start.is_empty() {
        return Err(LogError::Empty { path: path.to_owned() }.into());
    }
    if starts_as_log(start) || (!is_json && is_named_as_log(path)) {
        return Ok((Opened::Log(log(Box::new(input), path)?), Vec::new()));
    }
    if !is_json {
        return Ok((Opened::Unknown, Vec::new()));
    }
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|source| unreadable(path, source))?;
    open_input(Box::new(Cursor::new(bytes)), path)
}

/// Opens a file that holds a run, of whatever layout.
pub(super) fn open_run(path: &Path, info: Info) -> Result<RunsFile, ReadError> {
    let input = BufReader::with_capacity(BUFFER_BYTES, open_file(path)?);
    RunsFile::of_values(Box::new(input), path, info).map_err(|source| unreadable(path, source))
}

const BUFFER_BYTES: usize = 64 << 10;

fn open_file(path: &Path) -> Result<File, ReadError> {
    File::open(path).map_err(|source| unreadable(path, source))
}

/// An input that cannot be sought through.
struct Stream<R>(BufReader<R>);

impl<R: Read> Read for Stream<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl<R: Read> BufRead for Stream<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.0.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.0.consume(amount);
    }
}

impl<R> Seek for Stream<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// What cannot be read, said of a log where the name is one's.
fn unreadable(path: &Path, source: io::Error) -> ReadError {
    let path = path.to_owned();
    if is_named_as_log(&path) {
        LogError::Io { path, source }.into()
    } else {
        ReadError::Io { path, source }
    }
}

fn open_input(mut input: Box<dyn Input>, path: &Path) -> Outcome {
    let io_error = |source| unreadable(path, source);
    // Most files are logs, and are told at once.
    if starts_as_log(input.fill_buf().map_err(io_error)?) {
        return Ok((Opened::Log(log(input, path)?), Vec::new()));
    }
    let mut scanner = Scanner::new(input, Place::START);
    let layout = sniff(&mut scanner).map_err(io_error)?;
    let end = scanner.place();
    let mut input = scanner.into_inner();
    let mut problems = Vec::new();
    let opened = match layout {
        Layout::Results { simulations, info } => {
            let info = info_of(info, path, &mut problems);
            Opened::Runs(RunsFile::of_results(input, path, info, simulations).map_err(io_error)?)
        }
        Layout::Runs => {
            let info = info_beside(path);
            Opened::Runs(RunsFile::of_values(input, path, info).map_err(io_error)?)
        }
        Layout::ResultsFolder { info, index, fault } => {
            let info = info_of(info, path, &mut problems);
            let index = index.and_then(|found| index_of(&found, path, &mut problems));
            problems.extend(fault.map(|fault| broken(fault, end, path)));
            Opened::Folder(Folder { info, index, problems: std::mem::take(&mut problems) })
        }
        Layout::Empty => return Err(LogError::Empty { path: path.to_owned() }.into()),
        Layout::Unknown if !is_named_as_log(path) => Opened::Unknown,
        // A log that is damaged in its first line says where.
        Layout::Log | Layout::Unknown => {
            input.seek(SeekFrom::Start(0)).map_err(io_error)?;
            Opened::Log(log(input, path)?)
        }
    };
    Ok((opened, problems))
}

fn log(input: Box<dyn Input>, path: &Path) -> Result<LogReader<LogInput>, LogError> {
    LogReader::new(LogInput(input), path)
}

fn info_of(found: Option<sniff::Found>, path: &Path, problems: &mut Vec<ReadError>) -> Info {
    let Some(found) = found else { return Info::default() };
    Info::read(&found.json).unwrap_or_else(|error| {
        problems.push(bad_member(path, "info", &found, &error));
        Info::default()
    })
}

fn index_of(
    found: &sniff::Found,
    path: &Path,
    problems: &mut Vec<ReadError>,
) -> Option<Vec<String>> {
    #[derive(serde::Deserialize)]
    #[serde(expecting = "an object with an id")]
    struct Entry {
        id: String,
    }
    match serde_json::from_slice::<Option<Vec<Entry>>>(&found.json) {
        Ok(entries) => Some(entries?.into_iter().map(|entry| entry.id).collect()),
        Err(error) => {
            problems.push(bad_member(path, "simulation_index", found, &error));
            None
        }
    }
}

fn bad_member(
    path: &Path,
    member: &str,
    found: &sniff::Found,
    error: &serde_json::Error,
) -> ReadError {
    let (place, what) = inside(found.place, error);
    let (line, column) = (place.line, place.column);
    ReadError::BadRun { path: path.to_owned(), line, column, at: member.to_owned(), what }
}

/// What the results file says beside whose folder of runs this one stands.
fn info_beside(path: &Path) -> Info {
    let folder = path.parent().filter(|dir| dir.ends_with(RUNS_FOLDER));
    let Some(results) = folder.and_then(Path::parent).map(|dir| dir.join(RESULTS_FILE)) else {
        return Info::default();
    };
    // It is only asked what it says; what is wrong with it is said when it is read itself.
    match open(&results) {
        Ok((Opened::Folder(folder), _)) => folder.info,
        _ => Info::default(),
    }
}

/// The files of a folder of runs: those of the index, in its order, then the others by name.
pub(super) fn runs_of_folder(
    results: &Path,
    folder: &mut Folder,
) -> Result<Vec<PathBuf>, ReadError> {
    let dir = results.with_file_name(RUNS_FOLDER);
    let mut files = Vec::new();
    match std::fs::read_dir(&dir) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry.map_err(|source| ReadError::Io { path: dir.clone(), source })?;
                let path = entry.path();
                let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
                if is_file && path.extension().is_some_and(|extension| extension == "json") {
                    files.push(path);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(ReadError::Io { path: dir, source }),
    }
    files.sort();
    let Some(index) = folder.index.take() else { return Ok(files) };
    let mut ordered = Vec::with_capacity(files.len());
    let mut differ = |id: String, has_file| {
        folder.problems.push(ReadError::Index { path: results.to_owned(), id, has_file });
    };
    for id in index {
        let name = format!("{id}.json");
        let place = files.iter().position(|file| file.file_name().is_some_and(|n| *n == *name));
        match place {
            Some(place) => ordered.push(files.remove(place)),
            None => differ(id, false),
        }
    }
    for file in &files {
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        differ(id, true);
    }
    ordered.append(&mut files);
    Ok(ordered)
}
