//! Reads and writes the directory of a study: `study.toml`, `study.json` and `CELL/N.json`. Rejects files that do not belong
//! together.

use crate::forecast::Forecast;
use crate::study_file::refused;
use formats::Recording;
use measure::MeasurementKind;
use root::{Failure, input, output};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use session::read_recording;
use std::fmt;
use std::path::{Path, PathBuf};
use study::heat::Heat;
use study::which_knob::CellPredictions;
use study::{MOST_BYTES, RunPosition, Study, StudyRecord};

/// The maximum size of `study.json`: 10,000 names of cells are smaller.
const MOST_RECORD: u64 = 16 << 20;

/// The file that identifies the study.
const RECORD: &str = "study.json";

/// The maximum size of a result, the same as for a guest's port.
pub const MOST_RESULT: u64 = 64 << 20;

/// The boots whose cells are impossible, and why. Without this file they are tried again.
const GIVEN_UP: &str = "not_possible.json";

/// The temperatures before and after each run. Runs that are missing in this file have unknown temperatures.
const HEAT: &str = "temperatures.json";

/// What was predicted for the cells before they ran. A study without a prediction has no such file.
const PREDICTION: &str = "prediction.json";

/// A boot that was abandoned.
#[derive(Serialize, Deserialize)]
pub struct AbandonedBoot {
    /// Its boot line words.
    pub boot: String,
    /// Why.
    pub why: String,
}

/// A directory that belongs to a study.
pub struct Directory {
    path: PathBuf,
    /// The study.
    pub study: Study,
    record: StudyRecord,
}

impl Directory {
    /// Opens or creates the directory for a study.
    ///
    /// # Errors
    /// It belongs to something else, which the error names, or cannot be written.
    pub fn open(path: &Path, forecast: &Forecast, record: StudyRecord) -> Result<Directory, Failure> {
        Directory::of(path, &forecast.study, &forecast.bytes, record)
    }

    /// As [`Directory::open`], for a study that may be impossible on this machine.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub fn of(path: &Path, study: &Study, bytes: &[u8], record: StudyRecord) -> Result<Directory, Failure> {
        let there = started_record(path, study, bytes)?;
        let directory = Directory {
            path: path.to_owned(),
            study: study.clone(),
            record,
        };
        if let Some(there) = there {
            there
                .same(&directory.record)
                .map_err(|why| foreign_to(path, why.to_string()))?;
            return Ok(directory);
        }
        output::make_folder(path)?;
        output::write(&path.join("study.toml"), bytes)?;
        directory.write(RECORD, &directory.record)?;
        Ok(directory)
    }

    /// Opens an existing directory.
    ///
    /// # Errors
    /// It is not the directory of a study.
    pub fn existing(path: &Path) -> Result<Directory, Failure> {
        let record = read_record(path)?;
        let toml = path.join("study.toml");
        let bytes = input::bytes(&toml, MOST_BYTES).map_err(|error| unreadable(path, &error))?;
        let study = study::parse(&bytes).map_err(|error| refused(&toml, error))?;
        Ok(Directory {
            path: path.to_owned(),
            study,
            record,
        })
    }

    /// Its name for messages.
    pub fn name(&self) -> String {
        report::safe_path(&self.path)
    }

    /// The directory of the guests' consoles, and of the reasons of failed guests.
    pub fn guests(&self) -> PathBuf {
        self.path.join("vm")
    }

    /// The machine of its results.
    pub fn record(&self) -> &StudyRecord {
        &self.record
    }

    /// The bytes of a result.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn bytes(&self, place: RunPosition) -> Result<Vec<u8>, Failure> {
        Ok(input::bytes(&self.result(place), MOST_RESULT)?)
    }

    /// Whether this run has a result file.
    pub fn has(&self, place: RunPosition) -> bool {
        self.result(place).exists()
    }

    /// Saves a result. The file appears only when it is complete.
    ///
    /// # Errors
    /// It is not a result of this study, or cannot be written.
    pub fn save(&self, place: RunPosition, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.result(place);
        let recording = formats::read(&mut &*bytes).map_err(|error| foreign_result(&path, &error.to_string()))?;
        self.belongs(place.cell, &recording)
            .map_err(|why| foreign_result(&path, &why.to_string()))?;
        if let Some(folder) = path.parent() {
            output::make_folder(folder)?;
        }
        Ok(output::write(&path, bytes)?)
    }

    /// The runs that have results.
    ///
    /// # Errors
    /// A result file that does not belong to this study.
    pub fn finished_runs(&self) -> Result<Vec<RunPosition>, Failure> {
        let mut done = Vec::new();
        for cell in 0..self.study.cells.len() {
            done.extend(self.results(cell)?.into_iter().map(|(place, _)| place));
        }
        Ok(done)
    }

    /// The results of a cell, ordered by repetition.
    ///
    /// # Errors
    /// As [`Directory::finished_runs`].
    pub fn results(&self, cell: usize) -> Result<Vec<(RunPosition, Recording)>, Failure> {
        let mut results = Vec::new();
        for block in 0..self.study.repetitions {
            let place = RunPosition { block, cell };
            let path = self.result(place);
            if !path.exists() {
                continue;
            }
            let recording = read_recording(&path)?;
            self.belongs(place.cell, &recording)
                .map_err(|why| foreign_result(&path, &why.to_string()))?;
            results.push((place, recording));
        }
        Ok(results)
    }

    /// The abandoned boots.
    ///
    /// # Errors
    /// An invalid file.
    pub fn given_up(&self) -> Result<Vec<AbandonedBoot>, Failure> {
        self.list(GIVEN_UP)
    }

    /// Records that the cells of a boot are impossible.
    ///
    /// # Errors
    /// The write error.
    pub fn give_up(&self, boot: String, why: String) -> Result<(), Failure> {
        let mut all = self.given_up()?;
        all.push(AbandonedBoot { boot, why });
        self.write(GIVEN_UP, &all)
    }

    /// The recorded temperatures of the runs.
    ///
    /// # Errors
    /// An invalid file.
    pub fn heats(&self) -> Result<Vec<Heat>, Failure> {
        self.list(HEAT)
    }

    /// Records the temperatures of a run, and replaces its earlier record.
    ///
    /// # Errors
    /// The write error.
    pub fn note_heat(&self, heat: Heat) -> Result<(), Failure> {
        let mut all = self.heats()?;
        all.retain(|other| (&other.cell, other.repetition) != (&heat.cell, heat.repetition));
        all.push(heat);
        self.write(HEAT, &all)
    }

    /// What was predicted for the cells before they ran; `None` without a prediction.
    ///
    /// # Errors
    /// An invalid file, or one of other cells.
    pub fn predictions(&self) -> Result<Option<CellPredictions>, Failure> {
        let predictions: Option<CellPredictions> = self.stored(PREDICTION)?;
        let is_other = |predictions: &CellPredictions| {
            let names = predictions.cells.iter().map(|cell| &cell.cell);
            !names.eq(self.study.cells.iter().map(|cell| &cell.name))
        };
        match predictions.as_ref().is_some_and(is_other) {
            true => Err(unreadable(&self.path, &format!("{PREDICTION} is about other cells"))),
            false => Ok(predictions),
        }
    }

    /// Records what was predicted.
    ///
    /// # Errors
    /// The write error.
    pub fn record_predictions(&self, predictions: &CellPredictions) -> Result<(), Failure> {
        self.write(PREDICTION, predictions)
    }

    /// The entries of a file; none if it does not exist.
    fn list<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, Failure> {
        Ok(self.stored(name)?.unwrap_or_default())
    }

    /// The content of a file; `None` if it does not exist.
    fn stored<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let path = self.path.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = input::bytes(&path, MOST_RECORD)?;
        let content = serde_json::from_slice(&bytes);
        content.map_err(|error| unreadable(&self.path, &format!("{name}: {error}")))
    }

    fn write(&self, name: &str, content: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_vec_pretty(content).map_err(|error| unreadable(&self.path, &error))?;
        Ok(output::write(&self.path.join(name), &text)?)
    }

    /// The file of a run.
    fn result(&self, place: RunPosition) -> PathBuf {
        let name = self.study.cells.get(place.cell).map_or("", |cell| &cell.name);
        self.path.join(name).join(format!("{}.json", place.block + 1))
    }

    /// Whether a result is complete and belongs to this cell.
    fn belongs(&self, cell: usize, recording: &Recording) -> Result<(), ForeignResult> {
        let Some(own) = &recording.own else {
            return Err(ForeignResult::OfAnotherTool);
        };
        let mut cpus = machine::CpuSet::new();
        own.threads
            .iter()
            .for_each(|thread| cpus = cpus.or(&machine::CpuSet::range(thread.cpu.0, thread.cpu.0)));
        let kernel = |kernel: &Option<String>| kernel.clone().unwrap_or_else(|| "unknown".to_owned());
        let (environment, record) = (&own.environment, &self.record);
        let differs = |what: &'static str, there: &str, wanted: &str| match there == wanted {
            true => Ok(()),
            false => Err(ForeignResult::Differs {
                what,
                there: there.to_owned(),
                wanted: wanted.to_owned(),
            }),
        };
        differs(
            "the version of quietcore",
            &environment.tool_version,
            &record.tool_version,
        )?;
        if !self.study.names_kernels() {
            differs("the kernel", &kernel(&environment.release), &kernel(&record.kernel))?;
        }
        if let (true, Some(cell)) = (self.study.needs_boots(), self.study.cells.get(cell)) {
            let line = environment.cmdline.as_deref().unwrap_or_default();
            if let Some(why) = self.study.wrong_line(cell.boot, &record.cpus, line) {
                return Err(ForeignResult::BootLine(why));
            }
            let release = kernel(&environment.release);
            if self.study.is_kernel_of_another(cell.boot, &release) {
                return Err(ForeignResult::Kernel(release));
            }
        }
        differs("the CPU", &cpus.to_string(), &record.cpus.to_string())?;
        match (own.kind == self.study.what, own.complete) {
            (false, _) => Err(ForeignResult::Kind(self.study.what)),
            (_, false) => Err(ForeignResult::Interrupted),
            _ => Ok(()),
        }
    }
}

/// Why a result does not belong to a cell of this study.
#[derive(Debug)]
enum ForeignResult {
    /// Another tool measured it.
    OfAnotherTool,
    /// A property has another value than in this study.
    Differs {
        /// The property.
        what: &'static str,
        /// Its value in the result.
        there: String,
        /// Its value in the study.
        wanted: String,
    },
    /// Another boot line, with what is wrong in it.
    BootLine(String),
    /// The kernel of another level.
    Kernel(String),
    /// It is not the kind of measurement that the study asks for.
    Kind(MeasurementKind),
    /// It is incomplete.
    Interrupted,
}

impl fmt::Display for ForeignResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignResult::OfAnotherTool => f.write_str("it was not measured by quietcore"),
            ForeignResult::Differs { what, there, wanted } => {
                write!(f, "{what} is {there} there, and {wanted} in this study")
            }
            ForeignResult::BootLine(why) => write!(f, "it was measured with another boot line: {why}"),
            ForeignResult::Kernel(release) => {
                write!(f, "it was measured with kernel {release}, which is another level")
            }
            ForeignResult::Kind(what) => write!(f, "it is not a result of `measure {}`", what.word()),
            ForeignResult::Interrupted => f.write_str("it was interrupted"),
        }
    }
}

/// The record of a directory that this study has started; `None` if it has started none.
///
/// # Errors
/// The directory belongs to something else, which the error names.
pub fn started_record(path: &Path, study: &Study, bytes: &[u8]) -> Result<Option<StudyRecord>, Failure> {
    let toml = path.join("study.toml");
    if path.join(RECORD).exists() {
        same_text(
            path,
            &input::bytes(&toml, MOST_BYTES).map_err(|error| unreadable(path, &error))?,
            bytes,
        )?;
        return read_record(path).map(Some);
    }
    let files = input::files_in(path)?.unwrap_or_default();
    // If the process was killed between the two writes, only the first file exists.
    let is_other = |file: &PathBuf| *file != toml || input::bytes(file, MOST_BYTES).ok().as_deref() != Some(bytes);
    let cells = study.cells.iter().map(|cell| path.join(&cell.name));
    let other = files
        .into_iter()
        .find(is_other)
        .or_else(|| cells.into_iter().find(|cell| cell.exists()));
    match other {
        None => Ok(None),
        Some(file) => Err(foreign_to(
            path,
            format!("it contains {}, and no study.json", report::safe_path(&file)),
        )),
    }
}

/// Compares the study files: the same study has an identical file.
fn same_text(path: &Path, there: &[u8], here: &[u8]) -> Result<(), Failure> {
    if there == here {
        return Ok(());
    }
    let (there, here) = (String::from_utf8_lossy(there), String::from_utf8_lossy(here));
    let place = there
        .lines()
        .zip(here.lines())
        .take_while(|(one, two)| one == two)
        .count();
    let line = |text: &str| match text.lines().nth(place) {
        Some(line) => format!("`{}`", report::safe(line)),
        None => "at its end".to_owned(),
    };
    let why = format!(
        "line {} of its study.toml is {}, and {} in the given file",
        place + 1,
        line(&there),
        line(&here)
    );
    Err(foreign_to(path, why))
}

fn read_record(path: &Path) -> Result<StudyRecord, Failure> {
    let bytes = input::bytes(&path.join(RECORD), MOST_RECORD).map_err(|error| unreadable(path, &error))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(path, &format!("study.json: {error}")))
}

fn foreign_to(path: &Path, why: String) -> Failure {
    let what = format!("{} belongs to something else", report::safe_path(path));
    Failure::usage(
        what,
        why,
        "choose another directory with --out; results of different studies are never mixed",
    )
}

fn foreign_result(path: &Path, why: &str) -> Failure {
    let what = format!("{} is not a complete result of this study", report::safe_path(path));
    Failure::usage(what, why, "move it away; the same command then measures it again")
}

fn unreadable(path: &Path, why: &impl ToString) -> Failure {
    let what = format!("{} is not a study directory", report::safe_path(path));
    Failure::usage(
        what,
        why.to_string(),
        "use a directory that `quietcore study run` created",
    )
}
