//! The worker's side: what was opened, the module that is chosen, and the answers to what the page asks.
//!
//! It knows no browser: the same answers are given in a test.

use crate::map::map;
use crate::rows::{self, space_name};
use crate::talk::{
    Advised, Answer, Ask, ChangeLine, Chosen, DECISION_KINDS, DecisionLine, Detail, Donations, Edit, Face,
    Kind, Maker, MapData, ModuleLine, Notable, Note, Opened, OutOfMemory, Progress, Repacked, SlabRow,
    Source, SourceLine, SpaceLine, Trial, Tried, Words,
};
use crate::text::{cut, cut_line, pattern};
use crate::topics;
use crate::{address, compare, export, trial};
use analysis::{Backend, Facts, Orders, Target, ValueId};
use assigner::words::{self, both, grouped};
use assigner::{Decision, Decisions};
use opening::{Blob, Limits, Stage};
use questions::{Peak, Program, Role, Settings, SpacePeak, Study};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Is told how far a long answer is.
pub type Tell<'a> = &'a mut dyn FnMut(Progress);

/// What was opened, and the module that is chosen.
#[derive(Default)]
pub struct Session {
    opened: opening::Opened,
    list: Vec<ModuleLine>,
    chosen: Option<Current>,
    /// What the one that is chosen was compared with last: its number in the list.
    beside: Option<(usize, View)>,
    /// Counted up with each module that is chosen.
    epoch: u32,
}

/// A module that was read.
struct Current {
    /// Its number in the list.
    module: u32,
    dump: Option<View>,
    ours: Option<View>,
    /// Ours, with what is being tried.
    tried: Option<View>,
    /// Ours or what is tried, with its heaps packed otherwise.
    packed: Option<Packed>,
    /// What trials are measured against, once one was made.
    baseline: Option<questions::Baseline>,
    /// The edits of what is being tried.
    edits: Vec<Edit>,
    /// What is said of it: the edits in words, and whether it is sound.
    said: Vec<String>,
    /// Each of these edits in words, where that leaves some out.
    folded: Vec<String>,
    /// XLA's assignment, for what memory space assignment placed.
    placed: Option<dumps::read::BufferAssignmentFile>,
    headline: Vec<String>,
    text: Text,
}

/// An assignment with its heaps packed as a search found it.
struct Packed {
    view: View,
    /// Whose heaps they are.
    of: Source,
    /// What no packing of each heap is below, in bytes, with the heap's memory space and what the packer takes for it.
    bounds: Vec<(u32, u64, u64)>,
}

/// A search for what would help most in the module that was chosen when it began.
pub struct Advisor {
    search: questions::Advisor,
    epoch: u32,
}

/// A search for the smallest heaps.
pub struct SmallestHeaps {
    search: questions::SmallestSearch,
}

impl SmallestHeaps {
    /// Searches one heap for as long as `goes_on` says so; `false` once all is proved.
    pub fn go_on(&mut self, goes_on: &mut dyn FnMut() -> bool, tell: Tell<'_>) -> bool {
        let is_open = self.search.step(goes_on);
        if let Some(widest) = self.search.found().into_iter().max_by_key(questions::Smallest::gap) {
            let what = format!(
                "memory space {}: at least {}, at most {}, {} between them",
                space_name(widest.color),
                both(widest.lower_bound),
                both(widest.height),
                both(widest.gap())
            );
            tell(Progress { stage: "Looking for the smallest heap".to_owned(), what, ..Progress::default() });
        }
        is_open
    }

    /// What was found, in words.
    #[must_use]
    pub fn found(&self) -> Answer {
        let found = self.search.found();
        if found.is_empty() {
            let lines = vec!["There is no heap: nothing to pack.".to_owned()];
            let words = Words { title: "The smallest heap".to_owned(), lines, table: Vec::new() };
            return Answer::Smallest { words, packings: Vec::new() };
        }
        let name = |color| format!("Memory space {}", space_name(color));
        let lines = found.iter().map(|h| format!("{}: {}", name(h.color), h.words())).collect();
        let head = ["Memory space", "As packed", "Best found", "At least", "Gap", "Proved"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        for h in &found {
            table.push(vec![
                space_name(h.color),
                grouped(h.assigned),
                grouped(h.height),
                grouped(h.lower_bound),
                grouped(h.gap()),
                if h.proved() { "yes" } else { "no" }.to_owned(),
            ]);
        }
        let words = Words { title: "The smallest heap, in bytes".to_owned(), lines, table };
        Answer::Smallest { words, packings: self.search.packings() }
    }
}

/// A search for a small module that still shows why two values do or do not share.
pub struct Reducing {
    search: questions::Reducer,
    /// Is there nothing more to try?
    is_done: bool,
}

impl Reducing {
    /// Tries one more module; `false` once there is none.
    pub fn go_on(&mut self, tell: Tell<'_>) -> bool {
        tell(Progress {
            stage: "Making the module smaller".to_owned(),
            what: format!("{} instructions left", grouped(self.search.left() as u64)),
            ..Progress::default()
        });
        self.is_done = !self.search.step();
        !self.is_done
    }

    /// The smallest module that was found.
    #[must_use]
    pub fn found(self) -> Answer {
        let found = self.search.found();
        let (before, after) = found.instructions;
        Answer::Reduced {
            text: found.text,
            before: before as u64,
            after: after as u64,
            stopped: !self.is_done,
        }
    }
}

/// An assignment with its peak.
struct View {
    study: Study,
    peak: Peak,
    /// Where there are no temporaries: the step at which most of all memory is in use.
    fullest: Option<SpacePeak>,
    row_of: FxHashMap<ValueId, u32>,
}

impl View {
    fn new(study: Study) -> Self {
        let peak = questions::peak(&study);
        let row_of = study.rows.iter().enumerate().filter_map(|(i, r)| Some((r.value?, i as u32))).collect();
        let has_temps = peak.spaces.iter().any(|s| s.live > 0);
        let fullest = (!has_temps).then(|| questions::fullest_step(&study, None));
        Self { study, peak, fullest, row_of }
    }
}

/// The module's text by lines.
#[derive(Default)]
struct Text {
    text: String,
    starts: Vec<u32>,
}

impl Text {
    fn new(text: String) -> Self {
        let mut starts = Vec::new();
        if !text.is_empty() && u32::try_from(text.len()).is_ok() {
            starts.push(0);
            starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1));
            if starts.last().is_some_and(|s| *s as usize == text.len()) {
                starts.pop();
            }
        }
        Self { text, starts }
    }

    fn line(&self, number: u32) -> &str {
        let Some(start) = self.starts.get(number as usize) else { return "" };
        let end = self.starts.get(number as usize + 1).map_or(self.text.len(), |e| *e as usize);
        self.text[*start as usize..end].trim_end_matches(['\n', '\r'])
    }

    fn len(&self) -> u32 {
        self.starts.len() as u32
    }
}

impl Session {
    /// Answers. Files come beside the question.
    pub fn answer(&mut self, ask: Ask, files: Vec<Blob>, tell: Tell<'_>) -> Answer {
        match ask {
            Ask::Open { text } => {
                let mut blobs = files;
                if let Some(text) = text {
                    blobs.push(Blob::new("pasted text", text));
                }
                Answer::Opened(Box::new(self.open(blobs, tell)))
            }
            Ask::Choose { module } => match self.choose(module as usize, tell) {
                Ok(chosen) => Answer::Chosen(Box::new(chosen)),
                Err(why) => Answer::Failed(why),
            },
            Ask::Decisions { kind, pattern, from, count } => {
                self.decisions(kind.as_deref(), &pattern, from, count)
            }
            Ask::Text { from, count } => self.lines(from, count),
            Ask::Find { pattern, after, back } => self.find(&pattern, after, back),
            Ask::Map { source } => self.with(source, |v| {
                let mut map = map(&v.study, &v.peak, source);
                if source == Source::Packed {
                    self.was(&mut map);
                }
                Answer::Map(Box::new(map))
            }),
            Ask::Rows(query) => self.with(query.source, |v| Answer::Rows(rows::rows(&v.study, &query))),
            Ask::Slabs { source } => self.with(source, |v| Answer::Slabs(slabs(v))),
            Ask::Line { source, row } => self.with(source, |v| match v.study.rows.get(row as usize) {
                Some(_) => Answer::Line(Box::new(rows::line(&v.study, row))),
                None => gone(),
            }),
            Ask::Names { source, rows } => self.with(source, |v| {
                let name = |r: u32| v.study.rows.get(r as usize).map(|r| cut(&r.name.to_string()));
                Answer::Names(rows.into_iter().map(|r| name(r).unwrap_or_default()).collect())
            }),
            Ask::Named { source, name } => self.with(source, |v| match v.study.find(&name) {
                Some(row) => Answer::Line(Box::new(rows::line(&v.study, row as u32))),
                None => gone(),
            }),
            Ask::Value { source, row } => {
                self.with(source, |v| detail(v, row).map_or_else(gone, |d| Answer::Value(Box::new(d))))
            }
            Ask::Pair { a, b } => self.pair(&a, &b),
            Ask::Tree { source, alive_at } => {
                self.with(source, |v| Answer::Tree(export::tree(&v.study, alive_at)))
            }
            Ask::Try(trial) => self.try_out(&trial),
            Ask::Donations => self.donations(),
            Ask::Advise => self.advise(tell),
            Ask::Smallest { source, .. } => {
                let mut search = match self.smallest_search(source) {
                    Ok(search) => search,
                    Err(why) => return Answer::Failed(why),
                };
                // There is no clock here: so many slices of one look at it each.
                const SLICES: u32 = 300;
                let mut left = SLICES;
                while left > 0 && search.go_on(&mut || false, tell) {
                    left -= 1;
                }
                search.found()
            }
            Ask::Pack { source, packings } => self.pack(source, &packings),
            Ask::Hands { name, tried } => self.hands(&name, tried),
            Ask::Link { sample, trial, beside } => self.link(sample, trial, beside),
            Ask::Keep(trial) => self.keep(trial),
            Ask::Check { source } => self.check(source),
            Ask::Stop => Answer::Failed("Nothing is being searched for.".to_owned()),
            Ask::Export { source, what } => self.export(source, &what),
            Ask::Report(trial) => self.report(&trial, &files, tell),
            Ask::Compare { source, module } => self.compare(source, module as usize),
            Ask::CompareAt { source, color, steps } => self.compare_at(source, color, steps),
            Ask::Reduce { a, b } => match self.reducing(&a, &b) {
                Ok(mut search) => {
                    while search.go_on(tell) {}
                    search.found()
                }
                Err(why) => Answer::Failed(why),
            },
            Ask::Topic { source, topic } => {
                self.with(source, |v| match topics::answer(&v.study, &v.peak, &topic) {
                    Some(words) => Answer::Words(words),
                    None => Answer::Failed(format!("There is no topic {}.", cut(&topic))),
                })
            }
        }
    }

    fn with(&self, source: Source, answer: impl FnOnce(&View) -> Answer) -> Answer {
        self.view(source).map_or_else(
            || Answer::Failed("There is no such assignment: no module is chosen, or it has none.".to_owned()),
            answer,
        )
    }

    fn view(&self, source: Source) -> Option<&View> {
        let chosen = self.chosen.as_ref()?;
        match source {
            Source::Dump => chosen.dump.as_ref(),
            Source::Ours => chosen.ours.as_ref(),
            Source::Tried => chosen.tried.as_ref(),
            Source::Packed => chosen.packed.as_ref().map(|p| &p.view),
        }
    }

    fn open(&mut self, mut blobs: Vec<Blob>, tell: Tell<'_>) -> Opened {
        *self = Self { epoch: self.epoch + 1, ..Self::default() };
        let (mut kept, mut notes) = (None, Vec::new());
        for blob in &mut blobs {
            match address::read_file(&blob.bytes) {
                Some(Ok((found, text))) => {
                    let name = blob.name.trim_end_matches(".json");
                    *blob = Blob::new(format!("{name}.txt"), text);
                    kept = Some(found);
                }
                Some(Err(text)) => {
                    notes.push(Note { is_error: true, place: cut(&blob.name), text: cut_line(&text) });
                }
                None => {}
            }
        }
        let opened = opening::open_with(blobs, &Limits::default(), &mut |p| {
            let unpacking = p.stage == Stage::Unpacking;
            tell(Progress {
                stage: if unpacking { "Unpacking" } else { "Telling files apart" }.to_owned(),
                what: cut(&p.file),
                done: p.done,
                of: p.of,
                bytes: unpacking,
            });
            true
        });
        self.opened = opened.unwrap_or_default();
        let count = self.opened.modules.len();
        for i in 0..count {
            tell(Progress {
                stage: "Reading modules".to_owned(),
                what: cut(&self.opened.modules[i].name),
                done: i as u64,
                of: Some(count as u64),
                bytes: false,
            });
            // One module alone is read when it is chosen, which is at once.
            let line = self.line(i, count > 1);
            self.list.push(line);
        }
        let o = &self.opened;
        let mut about: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        for module in 0..count {
            for (file, _) in o.errors_of(module) {
                about.entry(*file).or_default().push(module as u32);
            }
        }
        let mut modules = self.list.clone();
        modules.sort_by_key(|m| (std::cmp::Reverse(m.total.or(m.peak)), m.module));
        Opened {
            files: o.files.len() as u32,
            bytes: o.files.iter().fold(0, |sum, f| sum.saturating_add(f.bytes.len() as u64)),
            modules,
            errors: o
                .errors
                .iter()
                .map(|(i, e)| OutOfMemory {
                    modules: about.remove(i).unwrap_or_default(),
                    ..out_of_memory(&o.files[*i].name, e)
                })
                .collect(),
            logs: o.logs.iter().map(|(i, l)| log_words(&o.files[*i].name, l)).collect(),
            notes: notes.into_iter().chain(o.remarks.iter().map(note)).collect(),
            advice: o.advice(),
            kept,
        }
    }

    /// A module's line of the list. `read` it to know its figures.
    fn line(&self, module: usize, read: bool) -> ModuleLine {
        let entry = &self.opened.modules[module];
        let mut has = Vec::new();
        for (there, what) in [(entry.hlo.is_some(), "HLO text"), (entry.proto.is_some(), "protocol buffer")] {
            if there {
                has.push(what.to_owned());
            }
        }
        has.extend(entry.dumps.iter().map(|i| self.opened.files[*i].kind.words().to_owned()));
        let mut out = ModuleLine {
            module: module as u32,
            id: entry.id.clone().unwrap_or_default(),
            name: cut(&entry.name),
            folder: cut(&entry.folder),
            stage: cut(&entry.stage),
            backend: entry.backend.map_or("", Backend::name).to_owned(),
            signature: entry.signature.as_deref().map(cut).unwrap_or_default(),
            same_name: entry.same_name.len() as u32,
            limit: self.opened.limit_of(module),
            has,
            ..ModuleLine::default()
        };
        if read {
            let loaded = self.opened.load(module);
            figures(&mut out, &loaded);
            if out.peak.is_none()
                && let Some(m) = &loaded.module
                && let Ok(facts) = facts_of(m, &loaded)
            {
                out.peak = Some(dumps::peak(m, &facts).total);
                out.peak_is_ours = true;
            }
        }
        out
    }

    fn choose(&mut self, module: usize, tell: Tell<'_>) -> Result<Chosen, String> {
        self.chosen = None;
        self.beside = None;
        self.epoch += 1;
        let Some(entry) = self.opened.modules.get(module) else {
            return Err("There is no module of that number.".to_owned());
        };
        let mut step = |stage: &str, done| {
            tell(Progress {
                stage: stage.to_owned(),
                what: cut(&entry.name),
                done,
                of: Some(4),
                bytes: false,
            });
        };
        step("Reading the module and its files", 0);
        let loaded = self.opened.load(module);
        let mut out = Chosen {
            line: self.list[module].clone(),
            findings: loaded
                .findings
                .iter()
                .map(|f| Note { is_error: true, place: f.name().to_owned(), text: cut_line(&f.words()) })
                .collect(),
            missing: loaded
                .missing
                .iter()
                .map(|m| [m.what.to_owned(), m.costs.to_owned(), m.how.clone()])
                .collect(),
            notes: loaded.remarks.iter().map(note).collect(),
            ..Chosen::default()
        };
        figures(&mut out.line, &loaded);
        let text = match (entry.hlo, entry.proto) {
            (Some(i), _) => String::from_utf8_lossy(&self.opened.files[i].bytes).into_owned(),
            (None, Some(i)) => hlo::proto_text(&self.opened.files[i].bytes).unwrap_or_default(),
            (None, None) => String::new(),
        };
        let text = Text::new(text);
        out.lines = text.len();
        let has_module = loaded.module.is_some();
        let placed = loaded.dump.assignment.clone();
        step("Analysing the program and assigning its buffers", 1);
        let mut dump = None;
        let mut ours = None;
        match Study::of(loaded, &Settings::default()) {
            Ok(study) if study.source == questions::Source::Dump => {
                step("Finding the peak", 2);
                dump = Some(View::new(study));
            }
            Ok(study) => {
                step("Finding the peak", 2);
                ours = Some(View::new(study));
            }
            Err(e) => out.notes.push(Note {
                is_error: true,
                place: "module".to_owned(),
                text: format!("The module cannot be analysed: {}.", cut_line(&e.to_string())),
            }),
        }
        if let Some(view) = &dump {
            if view.study.program.is_some() {
                step("Laying our own assignment beside XLA's", 3);
                // A study owns its program; the second one reads it again.
                let again = self.opened.load(module);
                if let Ok(study) = Study::of(again, &Settings { ours: true, ..Settings::default() }) {
                    ours = Some(View::new(study));
                }
            } else if has_module {
                out.notes.push(Note {
                    is_error: false,
                    place: "module".to_owned(),
                    text: "The program cannot be analysed, so only what XLA's files tell is shown."
                        .to_owned(),
                });
            }
        }
        for (source, view) in [(Source::Dump, &dump), (Source::Ours, &ours)] {
            if let Some(v) = view {
                out.sources.push(source_line(source, v));
            }
        }
        let limit = self.opened.limit_of(module);
        if let Some(first) = dump.as_ref().or(ours.as_ref()) {
            out.headline = report::headline(&first.study, &first.peak);
            out.spaces = spaces(first);
            out.headline.extend(first.study.checks.iter().map(|c| cut_line(&c.words())));
            let face = Face { notable: notable(first), ..face(first, limit) };
            let beside_it = dump.is_some().then_some(ours.as_ref()).flatten().map(|ours| {
                // The same program: what stands out is the same, of values of the same names.
                let named = |n: &Notable| Notable {
                    row: n.row.and_then(|r| {
                        let name = first.study.rows.get(r as usize)?.name.to_string();
                        Some(ours.study.find(&name)? as u32)
                    }),
                    words: n.words.clone(),
                };
                Face { notable: face.notable.iter().map(named).collect(), ..self::face(ours, limit) }
            });
            out.faces = std::iter::once(face).chain(beside_it).collect();
            if out.line.peak.is_none() {
                out.line.peak = first.study.program.as_ref().map(|p| dumps::peak(&p.module, &p.facts).total);
                out.line.peak_is_ours = true;
            }
            if out.line.total.is_none() {
                out.line.total = Some(first.study.slabs.iter().fold(0, |s, a| s.saturating_add(a.size)));
                out.line.temp = Some(first.peak.owner(Role::Temp).map_or(0, |o| o.bytes));
            }
        }
        if let (Some(d), Some(o)) = (&dump, &ours) {
            out.difference = Some(difference(d, o));
        }
        out.can_try = ours.is_some();
        self.list[module] = out.line.clone();
        self.chosen = Some(Current {
            module: module as u32,
            dump,
            ours,
            tried: None,
            packed: None,
            baseline: None,
            edits: Vec::new(),
            said: Vec::new(),
            folded: Vec::new(),
            placed,
            headline: out.headline.clone(),
            text,
        });
        Ok(out)
    }

    fn lines(&self, from: u32, count: u32) -> Answer {
        let Some(text) = self.chosen.as_ref().map(|c| &c.text) else { return no_module() };
        let to = from.saturating_add(count.min(2_000)).min(text.len());
        let lines = (from..to).map(|i| cut_line(text.line(i))).collect();
        Answer::Text { from, lines, of: text.len() }
    }

    fn find(&self, wanted: &str, after: Option<u32>, back: bool) -> Answer {
        let Some(text) = self.chosen.as_ref().map(|c| &c.text) else { return no_module() };
        let regex = match pattern(wanted) {
            Ok(Some(regex)) => regex,
            Ok(None) => return Answer::Found(None),
            Err(problem) => return Answer::Failed(problem),
        };
        let n = text.len();
        let first = after.map_or(0, |a| if back { a + n - 1 } else { a + 1 });
        let hit = (0..n)
            .map(|i| if back { (first + n - i) % n } else { (first + i) % n })
            .find(|i| regex.is_match(text.line(*i)));
        Answer::Found(hit)
    }

    /// What has our decisions: of our own assignment, or of the one that was made beside XLA's.
    fn ours(&self) -> Option<(&View, &Program, &assigner::Assignment, &Decisions)> {
        let view = self.view(Source::Ours).or_else(|| self.view(Source::Dump))?;
        let (assignment, decisions) = view.study.ours.as_ref()?;
        Some((view, view.study.program.as_ref()?, assignment, decisions))
    }

    fn decisions(&self, kind: Option<&str>, wanted: &str, from: u32, count: u32) -> Answer {
        let Some((view, program, _, decisions)) = self.ours() else { return no_module() };
        let regex = match pattern(wanted) {
            Ok(regex) => regex,
            Err(problem) => return Answer::Failed(problem),
        };
        let in_words = |d: &Decision| words::decision(&program.module, &program.facts, d);
        let mut lines = Vec::new();
        let mut fitting = 0u32;
        for (i, d) in decisions.iter().enumerate() {
            let of = kind_of(&d);
            if kind.is_some_and(|k| k != of) {
                continue;
            }
            // Words are made only of what is looked at.
            if let Some(regex) = &regex
                && !regex.is_match(&in_words(&d))
            {
                continue;
            }
            if fitting >= from && lines.len() < count as usize {
                let value = match &d {
                    Decision::Delay { value } | Decision::Place { value, .. } => Some(*value),
                    Decision::Assign { buffer }
                    | Decision::Try { buffer, .. }
                    | Decision::Refuse { buffer, .. }
                    | Decision::New { buffer, .. }
                    | Decision::Reuse { buffer, .. } => program.facts.buffer(*buffer).values.first().copied(),
                    _ => None,
                };
                lines.push(DecisionLine {
                    number: i as u32,
                    kind: of.to_owned(),
                    text: cut_line(&in_words(&d)),
                    row: value.and_then(|v| view.row_of.get(&v).copied()),
                });
            }
            fitting += 1;
        }
        Answer::Decisions { lines, fitting, of: decisions.len() as u32 }
    }

    fn try_out(&mut self, trial: &Trial) -> Answer {
        let Some(chosen) = &mut self.chosen else { return no_module() };
        let limit = self.opened.limit_of(chosen.module as usize);
        let Some(ours) = &chosen.ours else { return no_module() };
        if chosen.baseline.is_none() {
            chosen.baseline = questions::baseline(&ours.study, chosen.placed.as_ref());
        }
        let Some(baseline) = &chosen.baseline else { return no_module() };
        let run = match questions::try_edits(&ours.study, baseline, &trial.edits) {
            Ok(run) => run,
            Err(why) => return Answer::Failed(cut_line(&why)),
        };
        let words = trial::words(&run.before, &run);
        let (a, b) = (run.before, run.after);
        let (sound, is_unsound) = (cut_line(&run.soundness.words()), run.soundness.is_unsound());
        let edits = run.edits;
        let short = questions::in_short(&trial.edits, &edits);
        let view = View::new(run.study);
        let tried = Tried {
            edits,
            short,
            words,
            total: (a.total, b.total),
            temp: (a.temp, b.temp),
            peak: (a.peak, b.peak),
            line: source_line(Source::Tried, &view),
            sound,
            is_unsound,
            face: Face { notable: notable(&view), ..face(&view, limit) },
        };
        chosen.tried = Some(view);
        // What was packed may be what was tried before.
        chosen.packed = None;
        chosen.edits.clone_from(&trial.edits);
        chosen.said =
            vec![format!("With changes made by hand: {}.", tried.short.join("; ")), tried.sound.clone()];
        chosen.folded = if tried.short.len() < tried.edits.len() { tried.edits.clone() } else { Vec::new() };
        Answer::Tried(Box::new(tried))
    }

    fn hands(&self, name: &str, tried: bool) -> Answer {
        let view = self.view(if tried { Source::Tried } else { Source::Ours });
        let found = view.and_then(|v| trial::hands(&v.study, v.study.program.as_ref()?, name));
        found.map_or_else(gone, |h| Answer::Hands(Box::new(h)))
    }

    /// The name of the module that is chosen, its number if there are several, and its text.
    fn own(&self) -> Option<(String, Option<u32>, &str)> {
        let chosen = self.chosen.as_ref()?;
        let module = chosen.module;
        let name = self.opened.modules.get(module as usize)?.name.clone();
        Some((name, (self.opened.modules.len() > 1).then_some(module), &chosen.text.text))
    }

    fn link(&self, sample: Option<String>, trial: Trial, beside: Option<crate::talk::Beside>) -> Answer {
        let Some((of, module, text)) = self.own() else { return no_module() };
        // A text in an address is of one module.
        let beside = beside.filter(|_| sample.is_some());
        let open = match sample {
            Some(name) => address::Open::Sample { name, module },
            None => address::Open::Text(text.to_owned()),
        };
        let kept = address::Kept { of, edits: trial.edits };
        let (hash, length) = match (address::Address { open, kept, beside }).to_hash() {
            Ok(hash) => (Some(hash.clone()), hash.len()),
            Err(length) => (None, length),
        };
        Answer::Link { hash, length: length as u32, most: address::MOST as u32 }
    }

    fn keep(&self, trial: Trial) -> Answer {
        let Some((of, _, text)) = self.own() else { return no_module() };
        let text = address::Kept { of, edits: trial.edits }.to_file(text);
        Answer::File { name: "trial.json".to_owned(), text }
    }

    /// Executes an assignment: XLA's own as its file has it, or ours.
    fn check(&self, source: Source) -> Answer {
        let Some(chosen) = &self.chosen else { return no_module() };
        let text = match source {
            Source::Dump => self.opened.modules.get(chosen.module as usize).and_then(|entry| {
                let has = |i: &&usize| {
                    matches!(self.opened.files[**i].kind, opening::Kind::Dump(s) if s.assignment)
                };
                let file = &self.opened.files[*entry.dumps.iter().find(has)?];
                Some(String::from_utf8_lossy(&file.bytes).into_owned())
            }),
            Source::Ours | Source::Tried | Source::Packed => None,
        };
        self.with(source, |v| {
            let Some(soundness) = questions::check_study(&v.study, text.as_deref()) else {
                return no_module();
            };
            let title = if soundness.is_unsound() { "It is not right" } else { "Is it right?" };
            let whose = match source {
                Source::Dump => {
                    "XLA's own assignment was executed over this module, two rounds of each loop."
                }
                Source::Ours => "Our assignment was executed over this module, two rounds of each loop.",
                Source::Tried => "What was tried was executed, two rounds of each loop.",
                Source::Packed => {
                    "The assignment with the smallest heap that was found was executed, two rounds of each loop."
                }
            };
            let lines = vec![cut_line(&soundness.words()), whose.to_owned()];
            Answer::Words(Words { title: title.to_owned(), lines, table: Vec::new() })
        })
    }

    fn donations(&self) -> Answer {
        /// Donations that are offered at most.
        const MOST: usize = 1_000;
        let Some(view) = self.view(Source::Ours) else { return no_module() };
        let (Some(table), Some(program)) = (questions::donation(&view.study), &view.study.program) else {
            return no_module();
        };
        let (mut free, mut taken) = (Vec::new(), Vec::new());
        for a in &table.arguments {
            let (parameter, index) = (a.parameter, a.index.0.to_vec());
            let at = if index.is_empty() { String::new() } else { a.index.to_string() };
            let what = format!("argument {parameter}{at} {} ({})", cut(&a.name), words::binary(a.bytes));
            let to = |o: &hlo::ShapeIndex| {
                (a.bytes, format!("Donate {what} to output {o}"), donate(parameter, &index, &o.0))
            };
            match &a.state {
                questions::State::Taken { output, .. } => taken.push((
                    a.bytes,
                    format!("Do not donate {what}, now in output {output}"),
                    Edit::Undonate { parameter, index },
                )),
                questions::State::NotTaken(outputs) => {
                    let fits = outputs.iter().filter(|(_, w)| *w == questions::WhyNot::Nothing);
                    free.extend(fits.map(|(o, _)| to(o)));
                }
                questions::State::NotOffered(fits) => free.extend(fits.iter().take(4).map(to)),
            }
        }
        let largest_first = |mut all: Vec<(u64, String, Edit)>| {
            all.sort_by_key(|c| std::cmp::Reverse(c.0));
            all.into_iter().take(MOST).map(|(_, words, edit)| (words, edit)).collect::<Vec<_>>()
        };
        let more = free.len().saturating_sub(MOST) as u32;
        let all = questions::all_donations(&view.study).map(|(bytes, change)| {
            let edits = questions::as_edits(program, &change);
            (
                format!(
                    "Donate all {} that fit outputs, {}",
                    grouped(edits.len() as u64),
                    words::binary(bytes)
                ),
                edits,
            )
        });
        let (free, taken) = (largest_first(free), largest_first(taken));
        Answer::Donations(Donations { all, free, more, taken })
    }

    fn advise(&mut self, tell: Tell<'_>) -> Answer {
        let Some(mut search) = self.advisor() else { return no_module() };
        while self.advise_on(&mut search, tell) {}
        self.advised(search)
    }

    /// What changes are searched for in: as on the command line XLA's own assignment where it is there, since what memory
    /// space assignment placed is known from it only.
    fn searched(&self) -> Option<&View> {
        let dump = self.view(Source::Dump).filter(|v| v.study.program.is_some());
        dump.or_else(|| self.view(Source::Ours))
    }

    /// The search for what would help most, to be done piece by piece.
    pub fn advisor(&self) -> Option<Advisor> {
        let view = self.searched()?;
        Some(Advisor {
            search: questions::Advisor::new(&view.study, questions::Effort::default()),
            epoch: self.epoch,
        })
    }

    /// Tries one more change; `false` once there is nothing more to be tried.
    pub fn advise_on(&self, search: &mut Advisor, tell: Tell<'_>) -> bool {
        let (done, of) = search.search.progress();
        let Some(view) = self.searched().filter(|_| search.epoch == self.epoch) else { return false };
        if done >= of {
            return false;
        }
        tell(Progress {
            stage: "Trying changes".to_owned(),
            done: done as u64,
            of: Some(of as u64),
            ..Progress::default()
        });
        search.search.step(&view.study);
        true
    }

    /// What a search has found.
    pub fn advised(&self, search: Advisor) -> Answer {
        let Some(view) = self.searched().filter(|_| search.epoch == self.epoch) else {
            return no_module();
        };
        let Some(program) = &view.study.program else { return no_module() };
        let found = search.search.advised();
        let changes = found
            .advice
            .iter()
            .map(|a| ChangeLine {
                what: cut_line(&a.what),
                saves: a.saves,
                temp: a.temp,
                edits: questions::as_edits(program, &a.change),
            })
            .collect();
        let cautions = found.base.iter().cloned().chain(found.caveat().map(str::to_owned)).collect();
        let limit = self.chosen.as_ref().and_then(|c| self.opened.limit_of(c.module as usize));
        let gap = limit.and_then(|limit| questions::gap(&view.study, &view.peak, limit, &found));
        let tried = if found.is_unproved {
            "The checker cannot prove the program right as it is, so no change could be, either; none was tried."
                .to_owned()
        } else {
            format!(
                "{} changes were tried, each by itself with the program run again; {} of them would lose a value, {} were left untried.",
                grouped(found.tried as u64),
                grouped(found.spoilt as u64),
                grouped(found.untried as u64)
            )
        };
        Answer::Advised(Advised { changes, tried, gap: gap.map(|g| cut_line(&g)), cautions })
    }

    /// The search for the smallest heaps, to be done slice by slice.
    pub fn smallest_search(&self, source: Source) -> Result<SmallestHeaps, String> {
        const NONE: &str = "This needs the program, and its text is not there.";
        let found = self
            .view(self.heaps_of(source))
            .and_then(|v| questions::SmallestSearch::new(&v.study))
            .ok_or(NONE)?;
        Ok(SmallestHeaps { search: found.map_err(|e| cut_line(&e))? })
    }

    /// Whose heaps are searched and packed: XLA's own has no events, ours of the same program has.
    fn heaps_of(&self, source: Source) -> Source {
        match source {
            Source::Dump if self.view(Source::Ours).is_some() => Source::Ours,
            Source::Packed => self.chosen.as_ref().and_then(|c| c.packed.as_ref()).map_or(source, |p| p.of),
            _ => source,
        }
    }

    fn pack(&mut self, source: Source, packings: &[Repacked]) -> Answer {
        let of = self.heaps_of(source);
        let Some(base) = self.view(of) else { return no_module() };
        let study = match questions::repacked(&base.study, packings) {
            Ok(study) => study,
            Err(why) => return Answer::Failed(cut_line(&why)),
        };
        let heaps = base.study.ours.iter().flat_map(|(assignment, _)| &assignment.heaps);
        let bounds = heaps
            .zip(packings)
            .map(|(run, packed)| (run.color.0, packed.lower_bound, run.packing.total()))
            .collect();
        let view = View::new(study);
        let line = source_line(Source::Packed, &view);
        if let Some(chosen) = &mut self.chosen {
            chosen.packed = Some(Packed { view, of, bounds });
        }
        Answer::Packed(Box::new(line))
    }

    /// Where the packer has what a search has packed otherwise, and the bounds.
    fn was(&self, map: &mut MapData) {
        let Some(packed) = self.chosen.as_ref().and_then(|c| c.packed.as_ref()) else { return };
        let Some(base) = self.view(packed.of) else { return };
        map.was = map
            .row
            .iter()
            .zip(&map.offset)
            .map(|(row, offset)| base.study.rows.get(*row as usize).map_or(*offset, |r| r.offset))
            .collect();
        for curve in &mut map.curves {
            let Some(space) = base.peak.spaces.iter().find(|s| s.color == curve.color) else { continue };
            let (mut least, mut is_one) = (space.temp, false);
            for (_, bound, taken) in packed.bounds.iter().filter(|b| b.0 == curve.color) {
                least = least.saturating_sub(taken.saturating_sub(*bound));
                is_one = true;
            }
            curve.bounds = is_one.then_some((space.temp, least));
        }
    }

    fn export(&self, source: Source, what: &str) -> Answer {
        let Some(chosen) = &self.chosen else { return no_module() };
        // No compiler wrote a heap that a search has packed.
        if source == Source::Packed && export::is_of_xla(what) {
            return Answer::Failed(
                "XLA's four files are of what its packer makes: show that assignment to save them."
                    .to_owned(),
            );
        }
        let headline = match source {
            Source::Packed => {
                let packed = chosen.packed.as_ref().map(|p| report::headline(&p.view.study, &p.view.peak));
                let said =
                    "With the smallest heap that a search has found, not as the packer has it.".to_owned();
                std::iter::once(said).chain(packed.unwrap_or_default()).collect()
            }
            Source::Tried => {
                let of_run =
                    chosen.tried.as_ref().map(|v| report::headline(&v.study, &v.peak)).unwrap_or_default();
                chosen.said.iter().cloned().chain(of_run).collect()
            }
            _ => chosen.headline.clone(),
        };
        let folded: &[String] = if source == Source::Tried { &chosen.folded } else { &[] };
        let told = export::Told { name: &self.list[chosen.module as usize].name, headline, folded };
        self.with(source, |v| match export::file(&v.study, &v.peak, &told, what) {
            Some(mut text) => {
                // What was tried is not to be taken for what is.
                if source == Source::Tried && text.starts_with('{') {
                    let edits = serde_json::to_string(&chosen.edits).unwrap_or_default();
                    let said = serde_json::to_string(&chosen.said).unwrap_or_default();
                    text.insert_str(1, &format!("\"edits\": {edits}, \"tried\": {said}, "));
                }
                Answer::File { name: what.to_owned(), text }
            }
            None => Answer::Failed("This file needs the program, and its text is not there.".to_owned()),
        })
    }

    /// The module as one page. What is tried is in it, and tried again when the page is opened.
    fn report(&mut self, trial: &Trial, shell: &[Blob], tell: Tell<'_>) -> Answer {
        let Some(module) = self.chosen.as_ref().map(|c| c.module as usize) else { return no_module() };
        let mut state = report::State::default();
        if !trial.edits.is_empty() {
            let tried = match self.try_out(trial) {
                Answer::Tried(tried) => tried,
                other => return other,
            };
            let sums = [
                ("All allocations", tried.total),
                ("Temporaries", tried.temp),
                ("Most temporaries in use at once", tried.peak),
            ];
            let kept = address::Kept { of: self.list[module].name.clone(), edits: trial.edits.clone() };
            state.lab = serde_json::to_value(kept).unwrap_or_default();
            state.tried = Some(report::Tried {
                edits: tried.edits,
                sums: sums.into_iter().map(|(name, (a, b))| (name.to_owned(), a, b)).collect(),
                words: tried.words.into_iter().skip(sums.len()).chain([tried.sound]).collect(),
            });
        }
        let shell = shell.first().map(|b| String::from_utf8_lossy(&b.bytes));
        let files = report::files(&self.opened, module);
        let made = report::make(&files, shell.as_deref(), &state, &mut |done, of| {
            tell(Progress {
                stage: "Trying changes".to_owned(),
                done: done as u64,
                of: Some(of as u64),
                ..Progress::default()
            });
        });
        match made {
            Ok(made) => Answer::File { name: "report.html".to_owned(), text: made.page },
            Err(why) => Answer::Failed(cut_line(&why.to_string())),
        }
    }

    fn compare(&mut self, source: Source, module: usize) -> Answer {
        if module >= self.opened.modules.len() {
            return Answer::Failed("There is no module of that number.".to_owned());
        }
        // Whoever looks at another assignment, or changes one, compares with the same once more.
        let beside = match self.beside.take().filter(|b| b.0 == module) {
            Some(beside) => beside,
            None => {
                let settings = Settings { no_rerun: true, ..Settings::default() };
                let loaded = self.opened.load(module);
                // The first error says where it is and what was expected.
                let is_error = |r: &&opening::Remark| r.severity == hlo::Severity::Error;
                let wrong = loaded.remarks.iter().find(is_error).map(ToString::to_string);
                match Study::of(loaded, &settings) {
                    Ok(study) => (module, View::new(study)),
                    Err(e) => {
                        let why = wrong.unwrap_or_else(|| e.to_string());
                        return Answer::Failed(format!(
                            "The other module cannot be read: {}.",
                            cut_line(&why)
                        ));
                    }
                }
            }
        };
        let answer = self.with(source, |v| {
            let (own, other) = ((&v.study, &v.peak, source), (&beside.1.study, &beside.1.peak));
            Answer::Compared(Box::new(compare::compared(own, other)))
        });
        self.beside = Some(beside);
        answer
    }

    fn compare_at(&self, source: Source, color: u32, steps: (Option<u32>, Option<u32>)) -> Answer {
        let Some((_, other)) = &self.beside else {
            return Answer::Failed("There is nothing that it is compared with.".to_owned());
        };
        self.with(source, |v| {
            Answer::ComparedAt(Box::new(compare::at_steps(&v.study, &other.study, color, steps)))
        })
    }

    /// The search for a small module, to be done piece by piece.
    pub fn reducing(&self, a: &str, b: &str) -> Result<Reducing, String> {
        let Some((_, program, _, _)) = self.ours() else { return Err(NO_MODULE.to_owned()) };
        /// Instructions looked at in all trials together: some seconds.
        const EFFORT: u64 = 4_000_000;
        let names = [a.parse()?, b.parse()?];
        let options = assigner::Options::default();
        let target = &program.facts.target;
        let search = questions::Reducer::new(&program.module, target, &options, names, EFFORT);
        Ok(Reducing { search: search.map_err(|e| cut_line(&e.to_string()))?, is_done: false })
    }

    fn pair(&self, a: &str, b: &str) -> Answer {
        // XLA's own places where they are known, with the reasons of the run that was made beside them.
        let has_reasons = |v: &&View| v.study.ours.is_some() && v.study.program.is_some();
        let view = self.view(Source::Dump).filter(has_reasons).or_else(|| self.view(Source::Ours));
        let Some(view) = view else { return no_module() };
        let mut values = [ValueId(0); 2];
        for (slot, name) in values.iter_mut().zip([a, b]) {
            let row = view.study.find(name).map(|i| &view.study.rows[i]);
            match row.and_then(|r| r.value) {
                Some(value) => *slot = value,
                None => {
                    return Answer::Failed(format!(
                        "There is no value {}; expected a name like fusion.1 or while.2{{0}}.",
                        cut(name)
                    ));
                }
            }
        }
        let Some(pair) = questions::pair(&view.study, values) else { return no_module() };
        let mut lines = vec![cut_line(&pair.words(&view.study))];
        lines.extend(pair.places(&view.study).map(|line| cut_line(&format!("{line}."))));
        let title = if pair.shares { "They share" } else { "They do not share" };
        Answer::Words(Words { title: title.to_owned(), lines, table: Vec::new() })
    }
}

fn donate(parameter: u32, index: &[u32], output: &[u32]) -> Edit {
    Edit::Donate { parameter, index: index.to_vec(), output: output.to_vec() }
}

const NO_MODULE: &str = "This needs the program, and no module is chosen or its text is not there.";

fn no_module() -> Answer {
    Answer::Failed(NO_MODULE.to_owned())
}

fn gone() -> Answer {
    Answer::Failed("There is no such value.".to_owned())
}

fn note(remark: &opening::Remark) -> Note {
    let place = match remark.at {
        Some(at) => format!("{}:{}:{}", cut(&remark.file), at.line, at.column),
        None => cut(&remark.file),
    };
    Note { is_error: remark.severity == hlo::Severity::Error, place, text: cut_line(&remark.text) }
}

fn facts_of(module: &hlo::Module, loaded: &opening::Loaded) -> Result<Facts, String> {
    let target = match loaded.backend {
        Some(backend) => Target::tuned(backend, module),
        None => Target::detect(module),
    };
    let orders = match &loaded.orders {
        Some(stored) => Orders::exact(module, &target, stored)?,
        None => Orders::guess(module, &target),
    };
    Facts::new(module, orders, target).map_err(|e| e.describe(module))
}

fn figures(line: &mut ModuleLine, loaded: &opening::Loaded) {
    line.instructions = loaded.figures.instructions;
    line.peak = loaded.figures.peak.map(|p| p.1);
    line.total = loaded.figures.totals.map(|t| t.total);
    line.temp = loaded.figures.totals.map(|t| t.temp);
    line.findings = loaded.findings.len() as u32;
    if let Some(backend) = loaded.backend {
        backend.name().clone_into(&mut line.backend);
    }
}

fn out_of_memory(file: &str, e: &opening::OutOfMemory) -> OutOfMemory {
    OutOfMemory {
        file: cut(file),
        sentence: cut_line(&e.sentence),
        modules: Vec::new(),
        words: report::out_of_memory(e),
        caution: e.caution().map(str::to_owned),
        buffers: e
            .buffers
            .iter()
            .take(500)
            .map(|b| {
                let of = b.op_name.as_deref().or(b.label.as_deref()).unwrap_or_default();
                let at = b.source.as_ref().map(|(f, l)| format!(" ({f}:{l})")).unwrap_or_default();
                [
                    report::size_words(b.size),
                    cut(&b.shape),
                    cut(b.kind.as_deref().unwrap_or_default()),
                    cut(&format!("{of}{at}")),
                ]
            })
            .collect(),
    }
}

fn log_words(file: &str, log: &opening::VerboseLog) -> Words {
    let mut lines = vec![format!(
        "Assignments: {}; a buffer was tried in an allocation so many times: {}, and went in so many: {}; values that were put off to the heap: {}.",
        log.runs,
        grouped(log.tried),
        grouped(log.accepted),
        grouped(log.delayed)
    )];
    if !log.refused.is_empty() {
        let why: Vec<String> = log.refused.iter().map(|(w, n)| format!("{w} {}", grouped(*n))).collect();
        lines.push(format!("Refused: {}.", why.join(", ")));
    }
    for s in &log.strategies {
        lines.push(match s.over {
            Some((used, limit)) => {
                format!("Strategy {}: needs {} of {}.", cut(&s.name), both(used), both(limit))
            }
            None => format!("Strategy {}: nothing said against it.", cut(&s.name)),
        });
    }
    Words { title: format!("Verbose log {}", cut(file)), lines, table: Vec::new() }
}

fn source_line(source: Source, view: &View) -> SourceLine {
    let by_kind = view.peak.owners.iter().map(|o| (Kind::from(o.role), o.bytes, o.allocations)).collect();
    let peak = view.peak.spaces.iter().max_by_key(|s| (s.live, std::cmp::Reverse(s.color)));
    let (color, step, live) = peak.map_or((0, 0, 0), |s| (s.color, s.step, s.live));
    let step = view.fullest.as_ref().map_or(step, |s| s.step);
    SourceLine { source, total: view.peak.total, by_kind, peak: (color, step, live) }
}

fn spaces(view: &View) -> Vec<SpaceLine> {
    view.peak
        .spaces
        .iter()
        .map(|s| SpaceLine {
            color: s.color,
            name: space_name(s.color),
            total: s.allocated,
            temp: s.temp,
            peak: (s.step, s.live),
            values: view.study.rows.iter().filter(|r| view.study.slab(r).color == s.color).count() as u32,
        })
        .collect()
}

/// Most groups of values that are named as what the peak is made of.
const MOST_MAKERS: usize = 5;

/// Notes that are told of a module.
const MOST_NOTES: usize = 8;

/// What stands out.
fn notable(view: &View) -> Vec<Notable> {
    questions::notes(&view.study, &view.peak)
        .into_iter()
        .take(MOST_NOTES)
        .map(|n| Notable { words: cut_line(&n.words), row: n.rows.first().map(|r| *r as u32) })
        .collect()
}

/// What is said first of an assignment, but for what stands out. `limit` is what there was of main memory when it did not
/// fit.
fn face(view: &View, limit: Option<u64>) -> Face {
    let (makers, peak_at) = makers(view);
    let in_use = view.fullest.as_ref().map_or(0, |s| s.live);
    let packing = limit.and_then(|limit| questions::packing_words(&view.peak, limit));
    Face { makers, peak_at, packing, beside: beside(view), in_use, ..Face::default() }
}

/// What most of the peak is made of, and the instruction at it.
fn makers(view: &View) -> (Vec<Maker>, String) {
    let study = &view.study;
    if let Some(fullest) = &view.fullest {
        return (Vec::new(), if fullest.live > 0 { cut(study.at(fullest.step)) } else { String::new() });
    }
    let Some(space) = view.peak.spaces.iter().max_by_key(|s| (s.live, std::cmp::Reverse(s.color))) else {
        return Default::default();
    };
    let groups = questions::groups(study, &space.slots);
    let maker = |g: &questions::Group| {
        let largest = g.slots.iter().map(|s| &space.slots[*s]).max_by_key(|s| s.size)?;
        let phase = g.phase.name();
        let operation = if phase.is_empty() || g.operation.is_empty() {
            format!("{}{phase}", g.operation)
        } else {
            format!("{}, {phase}", g.operation)
        };
        Some(Maker {
            count: g.slots.len() as u32,
            shape: cut(&g.shape),
            operation: cut(&operation),
            line: cut(&g.source),
            bytes: g.bytes,
            row: *largest.rows.first()? as u32,
        })
    };
    let at = if space.live > 0 { cut(study.at(space.step)) } else { String::new() };
    (groups.iter().take(MOST_MAKERS).filter_map(maker).collect(), at)
}

/// Arguments, outputs and constants by shape: those that are a twentieth of all or more.
fn beside(view: &View) -> Vec<Maker> {
    const MOST: usize = 3;
    let study = &view.study;
    let mut largest: Vec<Option<usize>> = vec![None; study.slabs.len()];
    for (i, row) in study.rows.iter().enumerate() {
        let best = &mut largest[row.slab];
        if best.is_none_or(|b| study.rows[b].size < row.size) {
            *best = Some(i);
        }
    }
    let mut by_shape: BTreeMap<(Role, &str), Maker> = BTreeMap::new();
    for (slab, row) in study.slabs.iter().zip(largest) {
        let Some(row) = row.filter(|_| !matches!(slab.role, Role::Temp | Role::ThreadLocal)) else {
            continue;
        };
        let value = &study.rows[row];
        let made = by_shape.entry((slab.role, &value.shape)).or_insert_with(|| Maker {
            shape: cut(&value.shape),
            operation: slab.role.name().to_owned(),
            line: cut(&value.origin.source_words()),
            row: row as u32,
            ..Maker::default()
        });
        made.count += 1;
        made.bytes = made.bytes.saturating_add(slab.size);
    }
    let mut all: Vec<Maker> = by_shape.into_values().filter(|m| m.bytes >= view.peak.total / 20).collect();
    all.sort_by_key(|m| std::cmp::Reverse(m.bytes));
    all.truncate(MOST);
    all
}

fn difference(dump: &View, ours: &View) -> Words {
    let mut same = 0u32;
    let mut moved: Vec<(u64, String)> = Vec::new();
    let mut absent = 0u32;
    for row in &dump.study.rows {
        let Some(other) = row.value.and_then(|v| ours.row_of.get(&v)).map(|r| &ours.study.rows[*r as usize])
        else {
            absent += 1;
            continue;
        };
        let role = |v: &View, r: &questions::Row| (v.study.slab(r).role, v.study.slab(r).color);
        if (row.offset, row.size) == (other.offset, other.size) && role(dump, row) == role(ours, other) {
            same += 1;
        } else {
            moved.push((
                row.size,
                format!(
                    "{}: {} at {} in XLA's, {} at {} in ours",
                    cut(&row.name.to_string()),
                    words::bytes(row.size),
                    grouped(row.offset),
                    words::bytes(other.size),
                    grouped(other.offset)
                ),
            ));
        }
    }
    let total = |v: &View| v.peak.total;
    let mut lines = Vec::new();
    if moved.is_empty() && absent == 0 && total(dump) == total(ours) {
        lines.push(format!(
            "Our assignment of this module is XLA's: all {} values stand at the same offsets with the same sizes, and the allocations add up to the same {}.",
            grouped(u64::from(same)),
            both(total(dump))
        ));
        return Words { title: "Ours is the same".to_owned(), lines, table: Vec::new() };
    }
    lines.push(format!(
        "XLA's allocations add up to {}, ours to {}{}.",
        both(total(dump)),
        both(total(ours)),
        if total(dump) == total(ours) {
            String::new()
        } else {
            format!(" ({})", words::difference(total(dump), total(ours)))
        }
    ));
    lines.push(format!(
        "{} values stand at the same offset with the same size, {} do not, {} of XLA's are not in ours.",
        grouped(u64::from(same)),
        grouped(moved.len() as u64),
        grouped(u64::from(absent))
    ));
    lines.push(
        "HLO text does not hold XLA's internal orders, by which ties are broken; the module's .hlo.pb beside it (--xla_dump_hlo_as_proto) does."
            .to_owned(),
    );
    moved.sort_by(|a, b| b.cmp(a));
    lines.extend(moved.into_iter().take(12).map(|(_, words)| words));
    Words { title: "Ours differs".to_owned(), lines, table: Vec::new() }
}

fn kind_of(d: &Decision) -> &'static str {
    let kind = match d {
        Decision::Assign { .. } => 0,
        Decision::Try { .. } => 1,
        Decision::Refuse { .. } => 2,
        Decision::New { .. } => 3,
        Decision::Reuse { .. } => 4,
        Decision::Delay { .. } => 5,
        Decision::Place { .. } => 6,
        Decision::Simulate { .. } | Decision::Heap { .. } => 7,
        Decision::Absorb { .. } => 8,
    };
    DECISION_KINDS[kind]
}

fn slabs(view: &View) -> Vec<SlabRow> {
    let study = &view.study;
    let mut rows_of: Vec<Vec<u32>> = vec![Vec::new(); study.slabs.len()];
    for (i, row) in study.rows.iter().enumerate() {
        rows_of[row.slab].push(i as u32);
    }
    let mut out: Vec<SlabRow> = Vec::new();
    let mut folded = SlabRow::default();
    for (i, slab) in study.slabs.iter().enumerate() {
        let face = crate::talk::SlabFace {
            number: slab.number,
            kind: slab.role.into(),
            color: slab.color,
            size: slab.size,
        };
        if slab.role == Role::ThreadLocal {
            folded.face = crate::talk::SlabFace {
                kind: Kind::ThreadLocal,
                size: folded.face.size.saturating_add(slab.size),
                ..face
            };
            folded.count += 1;
            folded.values += rows_of[i].len() as u32;
            continue;
        }
        let parameter = slab.parameter.as_ref().map(|(n, index)| {
            let index = if index.is_root() { String::new() } else { index.to_string() };
            let donated = if slab.maybe_live_out { ", donated to an output" } else { "" };
            format!("parameter {n}{index}{donated}; ")
        });
        let largest =
            rows_of[i].iter().max_by_key(|r| (study.rows[**r as usize].size, std::cmp::Reverse(**r)));
        let words = format!(
            "{}{}",
            parameter.unwrap_or_default(),
            largest.map_or_else(String::new, |r| {
                let row = &study.rows[*r as usize];
                format!("largest: {} {}", cut(&row.name.to_string()), cut(&row.shape))
            })
        );
        let peak = view.peak.spaces.iter().find(|s| s.color == slab.color);
        let live = match (slab.role, peak) {
            (Role::Temp, Some(space)) => {
                space.slots.iter().filter(|s| s.slab == i).fold(0u64, |sum, s| sum.saturating_add(s.size))
            }
            _ => slab.size,
        };
        out.push(SlabRow { face, count: 1, words, values: rows_of[i].len() as u32, most_live: live });
    }
    out.sort_by_key(|s| (std::cmp::Reverse(s.face.size), s.face.number));
    if folded.count > 0 {
        "memory of computations that run per element (comparators, reducers)".clone_into(&mut folded.words);
        out.push(folded);
    }
    out
}

/// Most neighbours that are named.
const MOST: usize = 40;

fn detail(view: &View, number: u32) -> Option<Detail> {
    let study = &view.study;
    let row = study.rows.get(number as usize)?;
    let mut out = Detail { line: rows::line(study, number), ..Detail::default() };
    let named = |r: u32| (r, cut(&study.rows[r as usize].name.to_string()));
    let end = row.offset.saturating_add(row.size);
    let slab = study.slab(row);
    let mut sharers: Vec<u32> = study
        .rows
        .iter()
        .enumerate()
        .filter(|(i, r)| {
            *i as u32 != number
                && r.slab == row.slab
                && r.offset < end
                && row.offset < r.offset.saturating_add(r.size)
        })
        .map(|(i, _)| i as u32)
        .collect();
    sharers.sort_by_key(|r| (study.rows[*r as usize].range, *r));
    let count = sharers.len();
    out.sharers = sharers.into_iter().take(MOST).map(named).collect();
    let mut place = vec![format!(
        "{} at {} of allocation {} ({}, {}, memory space {}).",
        both(row.size),
        grouped(row.offset),
        slab.number,
        slab.role.name(),
        both(slab.size),
        space_name(slab.color)
    )];
    place.push(format!("Whose memory that is: {}.", slab.role.address()));
    if let Some(data) = row.unpadded.filter(|u| *u != row.size) {
        place.push(format!(
            "Of it {} are data; {} are padding, a factor of {:.2}.",
            both(data),
            both(row.size.saturating_sub(data)),
            row.size as f64 / data.max(1) as f64
        ));
    }
    if count > 0 {
        place.push(format!("{} other values stand on some of the same bytes.", grouped(count as u64)));
    }
    out.words.push(Words { title: "Where it stands".to_owned(), lines: place, table: Vec::new() });
    if let (Some(program), Some(value)) = (&study.program, row.value) {
        of_program(view, program, value, &mut out);
    }
    Some(out)
}

fn of_program(view: &View, program: &Program, value: ValueId, out: &mut Detail) {
    let (module, facts) = (&program.module, &program.facts);
    let instruction = facts.defining(value);
    let named = |v: &ValueId| view.row_of.get(v).map(|r| (*r, cut(&facts.label(module, *v))));
    out.text_line = Some(module.location(module.instruction(instruction).text.start).line.saturating_sub(1));
    out.instruction = cut_line(module.str(module.instruction(instruction).text));
    let mut operands: Vec<(u32, String)> = Vec::new();
    for o in module.operands(instruction) {
        for v in facts.dataflow.at(analysis::Position { instruction: *o, sub: 0 }) {
            operands.extend(named(v));
        }
    }
    operands.truncate(MOST);
    out.operands = operands;
    let mut readers: Vec<(u32, String)> = Vec::new();
    for u in &facts.value(value).uses {
        let root = analysis::Position { instruction: u.user, sub: 0 };
        readers.extend(facts.dataflow.at(root).iter().filter_map(named));
    }
    readers.sort();
    readers.dedup();
    readers.truncate(MOST);
    out.readers = readers;
    if let Some(range) = facts.ranges.get(value) {
        let at = |step: analysis::Step| {
            facts.clock.at(step).map_or_else(|| "the end".to_owned(), |i| cut(module.name_of(i)))
        };
        use assigner::explain::Until;
        let until = match assigner::explain::until(module, facts, &facts.ranges, value) {
            Until::Read(i) => format!("{} reads it last.", cut(module.name_of(i))),
            Until::Parameter => {
                "It is an argument that was not donated: the caller still has it, so it is kept to the end.".to_owned()
            }
            Until::Result => "It is a part of the result, which is kept to the end.".to_owned(),
            Until::Carried => {
                "Nothing reads it that late by itself: it stands in something that lives on, a tuple, a loop's or a call's result.".to_owned()
            }
        };
        out.words.push(Words {
            title: "What holds it".to_owned(),
            lines: vec![
                format!(
                    "Wanted from step {} ({}) to step {} ({}).",
                    range.start,
                    at(range.start),
                    range.end,
                    at(range.end)
                ),
                until,
            ],
            table: Vec::new(),
        });
    }
    if let Some(story) = questions::story(&view.study, value) {
        let all = story.lines(&view.study);
        let more = all.len().saturating_sub(MOST);
        // Most trials end in a refusal; the last lines are those that count.
        let mut lines: Vec<String> = all[more..].iter().map(|l| cut_line(l)).collect();
        if more > 0 {
            lines.insert(0, format!("{more} earlier refusals are in the decision log."));
        }
        out.words.push(Words { title: "Why it is there".to_owned(), lines, table: Vec::new() });
    }
}
