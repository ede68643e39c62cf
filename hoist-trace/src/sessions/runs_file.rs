//! The runs of a file, one at a time.

use std::collections::VecDeque;
use std::io::{self, BufRead, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::ReadError;
use super::scan::{Fault, Kept, Place, Scanner};
use super::sniff::after_value;
use crate::log::describe;
use crate::runs::{self, Format, Ids, Info, Run};

/// The longest run that is read, in bytes.
const MAX_RUN_BYTES: usize = 512 << 20;

/// What files are read from.
pub(super) trait Input: BufRead + Seek + Send {}
impl<T: BufRead + Seek + Send> Input for T {}

impl std::fmt::Debug for dyn Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Input")
    }
}

/// A run of a file, and where it stands.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) run: Run,
    pub(super) at: String,
    pub(super) line: u64,
}

/// Reads the runs of one file.
#[derive(Debug)]
pub(super) struct RunsFile {
    path: PathBuf,
    scanner: Scanner<Box<dyn Input>>,
    state: State,
    info: Info,
    ids: Ids,
    /// The text of one run.
    json: Vec<u8>,
    /// Runs that were read and not given out yet, all of one text.
    ready: VecDeque<Placed>,
    /// Runs met so far.
    met: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between values that stand one after another.
    Values,
    /// In a list.
    List {
        of_results: bool,
        first: bool,
    },
    /// Behind the list of a results file.
    Rest,
    Done,
}

impl RunsFile {
    /// The runs that stand one after another or in lists.
    pub(super) fn of_values(
        input: Box<dyn Input>,
        path: &Path,
        info: Info,
    ) -> Result<Self, io::Error> {
        Self::new(input, path, info, Place::START, State::Values)
    }

    /// The runs of a results file, whose list stands at `simulations`.
    pub(super) fn of_results(
        input: Box<dyn Input>,
        path: &Path,
        info: Info,
        simulations: Place,
    ) -> Result<Self, io::Error> {
        let mut file = Self::new(
            input,
            path,
            info,
            simulations,
            State::List { of_results: true, first: true },
        )?;
        // What stands there was seen before.
        file.scanner.take();
        Ok(file)
    }

    fn new(
        mut input: Box<dyn Input>,
        path: &Path,
        info: Info,
        from: Place,
        state: State,
    ) -> Result<Self, io::Error> {
        input.seek(SeekFrom::Start(from.offset))?;
        Ok(Self {
            path: path.to_owned(),
            scanner: Scanner::new(input, from),
            state,
            info,
            ids: Ids::default(),
            json: Vec::new(),
            ready: VecDeque::new(),
            met: 0,
        })
    }

    /// The next run, or what is wrong with it.
    fn step(&mut self) -> Result<Option<Result<Placed, ReadError>>, Fault> {
        loop {
            if let Some(placed) = self.ready.pop_front() {
                return Ok(Some(Ok(placed)));
            }
            let format = match self.state {
                State::Done => return Ok(None),
                State::Rest => {
                    self.rest_of_object()?;
                    continue;
                }
                State::Values => match self.scanner.peek()? {
                    None => {
                        self.state = State::Done;
                        continue;
                    }
                    Some(b'[') => {
                        self.scanner.take();
                        self.state = State::List { of_results: false, first: true };
                        self.met = 0;
                        continue;
                    }
                    Some(_) => None,
                },
                State::List { of_results, first } => {
                    let next = if first {
                        self.scanner.peek_inside()?
                    } else {
                        after_value(&mut self.scanner, b']')?
                    };
                    if next == b']' {
                        self.scanner.take();
                        self.state = if of_results { State::Rest } else { State::Values };
                        continue;
                    }
                    self.state = State::List { of_results, first: false };
                    of_results.then_some(Format::Tau2)
                }
            };
            if let Err(error) = self.run(format)? {
                return Ok(Some(Err(error)));
            }
        }
    }

    /// Goes over the members behind the list of runs.
    fn rest_of_object(&mut self) -> Result<(), Fault> {
        while after_value(&mut self.scanner, b'}')? != b'}' {
            self.scanner.key(&mut self.json)?;
            self.scanner.value(None)?;
        }
        self.scanner.take();
        match self.scanner.peek()? {
            None => {
                self.state = State::Done;
                Ok(())
            }
            Some(_) => Err(Fault::Syntax("something stands behind the end of the JSON object")),
        }
    }

    /// Reads the run that stands here, to be given out.
    fn run(&mut self, format: Option<Format>) -> Result<Result<(), ReadError>, Fault> {
        self.scanner.peek_inside()?;
        let place = self.scanner.place();
        let at = match self.state {
            State::List { of_results: true, .. } => format!("simulations[{}]", self.met),
            State::List { .. } => format!("[{}]", self.met),
            _ => format!("run {}", self.met + 1),
        };
        self.met += 1;
        let kept = self.scanner.value(Some((&mut self.json, MAX_RUN_BYTES)))?;
        if let Kept::TooLong { len_bytes } = kept {
            let what = format!("it has {len_bytes} bytes, over the limit of {MAX_RUN_BYTES}");
            return Ok(Err(self.bad_run(place, at, what)));
        }
        let read = match format {
            Some(format) => runs::read_as(format, &self.json, &self.info),
            None => runs::read(&self.json, &self.info),
        };
        match read {
            Ok(runs) => {
                for mut run in runs {
                    self.ids.make_unique(&mut run.episode);
                    self.ready.push_back(Placed { run, at: at.clone(), line: place.line });
                }
                Ok(Ok(()))
            }
            Err(error) => {
                let (place, what) = inside(place, &error);
                Ok(Err(self.bad_run(place, at, what)))
            }
        }
    }

    fn bad_run(&self, Place { line, column, .. }: Place, at: String, what: String) -> ReadError {
        ReadError::BadRun { path: self.path.clone(), line, column, at, what }
    }
}

impl Iterator for RunsFile {
    type Item = Result<Placed, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step() {
            Ok(item) => item,
            Err(fault) => {
                self.state = State::Done;
                Some(Err(broken(fault, self.scanner.place(), &self.path)))
            }
        }
    }
}

/// Where an error is in a file, that is one of a value in it.
pub(super) fn inside(value: Place, error: &serde_json::Error) -> (Place, String) {
    let (_, what) = describe(error);
    let (line, column) = (error.line() as u64, error.column() as u64);
    let mut place = value;
    match line {
        // It is about all of the value.
        0 => {}
        1 => place.column += column.saturating_sub(1),
        _ => {
            place.line += line - 1;
            place.column = column.max(1);
        }
    }
    (place, what)
}

/// What a fault is for whoever reads the file.
pub(super) fn broken(fault: Fault, place: Place, path: &Path) -> ReadError {
    let path = path.to_owned();
    let what = match fault {
        Fault::Io(source) => return ReadError::Io { path, source },
        Fault::Cut => "the file ends in the middle of a JSON value".to_owned(),
        Fault::Syntax(what) => format!("not JSON: {what}"),
    };
    ReadError::Broken { path, line: place.line, column: place.column, what }
}
