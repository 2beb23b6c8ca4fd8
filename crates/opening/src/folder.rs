//! The files that were opened, and which of them belong to one module.

use crate::kind::{HOW, Kind, kind};
use crate::name::{DumpName, LONGEST_NAME, dump_name, is_numbered, too_long};
use crate::unpack::{Blob, unpack};
use crate::{
    Foreign, Form, Limits, OutOfMemory, Remark, VerboseLog, is_verbose_log, out_of_memory_errors, verbose_log,
};
use analysis::Backend;
use std::collections::BTreeMap;

/// A file that was opened.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name, behind those of the archives it was in.
    pub name: String,
    /// What is in it, unpacked.
    pub bytes: Vec<u8>,
    /// What it is.
    pub kind: Kind,
}

/// The files of one module. Numbers are indices into [`Opened::files`].
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The module's number as the file names write it, `0012`.
    pub id: Option<String>,
    /// Its name: as the module itself says, else as the file names do.
    pub name: String,
    /// The folder that its files are in.
    pub folder: String,
    /// The stage of the files, `cpu_after_optimizations`, as their names tell it.
    pub stage: String,
    /// The compiler, as the file names or contents tell it.
    pub backend: Option<Backend>,
    /// The HLO text that is taken.
    pub hlo: Option<usize>,
    /// The protocol buffer of the same stage.
    pub proto: Option<usize>,
    /// The files about its assignment.
    pub dumps: Vec<usize>,
    /// Modules of other stages of the same compilation, not taken.
    pub other_stages: Vec<usize>,
    /// Verbose logs that go by the module's name.
    pub logs: Vec<usize>,
    /// Other modules of the same name: the same function compiled again, mostly for other shapes. Indices into
    /// [`Opened::modules`].
    pub same_name: Vec<usize>,
    /// Parameters and result as the module's header tells them.
    pub signature: Option<String>,
    /// What was odd when its files were put together.
    pub remarks: Vec<Remark>,
}

/// Everything that was opened.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// The files, in the order in which they came.
    pub files: Vec<File>,
    /// The modules, by folder, number and name.
    pub modules: Vec<Entry>,
    /// Out-of-memory errors: the file's index, and what it says.
    pub errors: Vec<(usize, OutOfMemory)>,
    /// Verbose logs: the file's index, and what it comes to.
    pub logs: Vec<(usize, VerboseLog)>,
    /// What has to be said of files that belong to no module, and of archives.
    pub remarks: Vec<Remark>,
}

/// How far opening has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// The file at hand.
    pub file: String,
    /// Bytes, or files, that are done.
    pub done: u64,
    /// Of how many, where that is known.
    pub of: Option<u64>,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Archives are unpacked; counted in packed bytes.
    Unpacking,
    /// Files are told apart; counted in files.
    Telling,
}

/// Opens what there is.
#[must_use]
pub fn open(blobs: Vec<Blob>, limits: &Limits) -> Opened {
    open_with(blobs, limits, &mut |_| true).unwrap_or_default()
}

/// [`open`], which tells how far it is and stops with `None` when it is told `false`.
pub fn open_with(
    blobs: Vec<Blob>,
    limits: &Limits,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Option<Opened> {
    let of: u64 = blobs.iter().map(|b| b.bytes.len() as u64).sum();
    let unpacked = unpack(blobs, limits, |file, done| {
        go_on(&Progress { stage: Stage::Unpacking, file: file.to_owned(), done: done.min(of), of: Some(of) })
    })?;
    let mut out = Opened { remarks: unpacked.remarks, ..Opened::default() };
    let count = unpacked.blobs.len() as u64;
    for (i, blob) in unpacked.blobs.into_iter().enumerate() {
        if !go_on(&Progress {
            stage: Stage::Telling,
            file: blob.name.clone(),
            done: i as u64,
            of: Some(count),
        }) {
            return None;
        }
        let kind = kind(&blob.bytes);
        out.files.push(File { name: blob.name, bytes: blob.bytes, kind });
    }
    out.tell();
    out.put_together();
    Some(out)
}

/// What puts files together.
type Key = (String, Option<String>, String);

impl Opened {
    /// Reads errors and logs, and says what of the rest is of no use.
    fn tell(&mut self) {
        for (i, file) in self.files.iter().enumerate() {
            match file.kind {
                Kind::OutOfMemory | Kind::VerboseLog => {
                    let text = String::from_utf8_lossy(&file.bytes);
                    if file.kind == Kind::OutOfMemory {
                        for (oom, remarks) in out_of_memory_errors(&text) {
                            self.remarks.extend(remarks.into_iter().map(|d| Remark::of(&file.name, d)));
                            match self.errors.iter_mut().find(|(_, e)| e.is_same(&oom)) {
                                // One error in two files: the fuller text is kept, and one that is no list of several.
                                Some(kept) => {
                                    let rank = |i: usize, e: &OutOfMemory| {
                                        let is_list =
                                            self.files[i].bytes.trim_ascii_start().starts_with(b"[");
                                        (e.buffers.len(), !is_list)
                                    };
                                    if rank(kept.0, &kept.1) < rank(i, &oom) {
                                        *kept = (i, oom);
                                    }
                                }
                                None => self.errors.push((i, oom)),
                            }
                        }
                    }
                    if is_verbose_log(&text) {
                        self.logs.push((i, verbose_log(&text)));
                    }
                }
                Kind::Foreign(_) | Kind::Hlo | Kind::HloProto | Kind::Dump(_) => {}
            }
        }
    }

    /// Says of files that are of no use what they are. What a compilation leaves beside its HLO is counted only, where there
    /// is HLO.
    fn tell_of_the_rest(&mut self) {
        let mut beside: Vec<(&str, usize)> = Vec::new();
        let mut first = None;
        for file in &self.files {
            let Kind::Foreign(foreign) = file.kind else { continue };
            let words = file.kind.words();
            let is_of_a_dump = !self.modules.is_empty() && file.name.split(['/', '\\']).any(is_numbered);
            if is_of_a_dump && !matches!(foreign, Foreign::Empty | Foreign::Utf16) {
                first.get_or_insert(&file.name);
                match beside.iter_mut().find(|(of, _)| *of == words) {
                    Some((_, count)) => *count += 1,
                    None => beside.push((words, 1)),
                }
                continue;
            }
            let text = match file.kind.advice() {
                "" => format!("is {words}; it is passed over"),
                advice => format!("is {words}; {advice}"),
            };
            self.remarks.push(Remark::warning(&file.name, text));
        }
        let Some(first) = first else { return };
        let kinds: Vec<String> = beside.iter().map(|(words, count)| format!("{count} × {words}")).collect();
        let count: usize = beside.iter().map(|(_, count)| count).sum();
        let text = match count {
            1 => format!("is passed over; a compilation leaves it beside its HLO: {}", beside[0].0),
            _ => format!(
                "and {} more are passed over; a compilation leaves them beside its HLO: {}",
                count - 1,
                kinds.join(", ")
            ),
        };
        self.remarks.push(Remark::warning(first, text));
    }

    /// Compilations that left files, but no HLO.
    fn tell_of_modules_without_text(&mut self) {
        let mut lost: BTreeMap<(String, String), String> = BTreeMap::new();
        for file in self.files.iter().filter(|f| matches!(f.kind, Kind::Foreign(_))) {
            let name = dump_name(&file.name);
            let Some(id) = name.id else { continue };
            if !self.modules.iter().any(|e| e.id.as_ref() == Some(&id) && e.folder == name.folder) {
                let known = lost.entry((name.folder, id)).or_default();
                if let Some(module) = name.module.strip_suffix(".debug_options") {
                    module.clone_into(known);
                }
            }
        }
        // What the others end in, so will it.
        let stage =
            self.modules.iter().map(|e| e.stage.as_str()).find(|s| s.ends_with("after_optimizations"));
        for ((folder, id), module) in lost {
            let Some(stage) = stage else { return };
            let text = format!("module_{id}.{module}.{stage}.txt");
            let why = if module.is_empty() || text.len() <= LONGEST_NAME {
                format!("{HOW}; it is the file that ends in after_optimizations.txt")
            } else {
                too_long(&text)
            };
            let slash = if folder.is_empty() { "" } else { "/" };
            let file = format!("{folder}{slash}module_{id}.{module}");
            self.remarks.push(Remark::warning(&file, format!("left files here, but no HLO text: {why}")));
        }
    }

    fn put_together(&mut self) {
        let mut groups: BTreeMap<Key, Vec<(usize, DumpName)>> = BTreeMap::new();
        for (i, file) in self.files.iter().enumerate() {
            let name = dump_name(&file.name);
            let belongs = match file.kind {
                Kind::Hlo | Kind::HloProto | Kind::Dump(_) => true,
                Kind::VerboseLog => name.id.is_some(),
                Kind::OutOfMemory | Kind::Foreign(_) => false,
            };
            if belongs {
                let key = (name.folder.clone(), name.id.clone(), name.module.clone());
                groups.entry(key).or_default().push((i, name));
            }
        }
        for (key, files) in groups {
            let entries = self.entries_of(&key, &files);
            self.modules.extend(entries);
        }
        self.adopt();
        self.modules.retain(|e| e.hlo.is_some() || e.proto.is_some() || !e.dumps.is_empty());
        self.find_same_names();
        self.tell_of_the_rest();
        self.tell_of_modules_without_text();
    }

    /// The modules in a group of files with one folder, number and name: one for each compiler.
    fn entries_of(&self, key: &Key, files: &[(usize, DumpName)]) -> Vec<Entry> {
        let (folder, id, module) = key;
        // The ends of compilations; if there is none, everything is one entry.
        let mut stages: Vec<&str> =
            files.iter().filter(|(_, n)| n.is_after_optimizations()).map(|(_, n)| n.stage.as_str()).collect();
        stages.sort_unstable();
        stages.dedup();
        if stages.is_empty() {
            stages.push("");
        }
        let mut out: Vec<Entry> = stages
            .iter()
            .map(|stage| Entry {
                id: id.clone(),
                name: module.clone(),
                folder: folder.clone(),
                stage: (*stage).to_owned(),
                ..Entry::default()
            })
            .collect();
        for (i, name) in files {
            let at = stages.iter().position(|s| *s == name.stage).unwrap_or(0);
            let is_of_stage = stages[at] == name.stage || stages[at].is_empty();
            let entry = &mut out[at];
            entry.backend = entry.backend.or(name.backend());
            match self.files[*i].kind {
                Kind::Hlo if is_of_stage && entry.hlo.is_none() => entry.hlo = Some(*i),
                Kind::HloProto if is_of_stage && entry.proto.is_none() => entry.proto = Some(*i),
                Kind::Hlo | Kind::HloProto => entry.other_stages.push(*i),
                Kind::Dump(_) => entry.dumps.push(*i),
                _ => entry.logs.push(*i),
            }
        }
        for entry in &mut out {
            if !entry.stage.is_empty() || entry.hlo.is_none() {
                continue;
            }
            // No end of a compilation: of several stages the last one is nearest to it.
            let stage = |i: &usize| dump_name(&self.files[*i].name).stage;
            let last = entry.other_stages.iter().chain(&entry.hlo).copied().max_by_key(|i| {
                let stage = stage(i);
                (!stage.contains("before_optimizations"), stage, *i)
            });
            if let Some(last) = last.filter(|i| self.files[*i].kind == Kind::Hlo && Some(*i) != entry.hlo) {
                entry.other_stages.retain(|i| *i != last);
                entry.other_stages.extend(entry.hlo.replace(last));
                entry.other_stages.sort_unstable();
            }
            entry.stage = entry.hlo.as_ref().map(stage).unwrap_or_default();
        }
        for entry in &mut out {
            self.describe(entry);
        }
        out
    }

    /// Takes what the module's own header says.
    fn describe(&self, entry: &mut Entry) {
        for i in &entry.other_stages {
            let file = &self.files[*i].name;
            let stage = dump_name(file).stage;
            let stage = if stage.is_empty() {
                "another text of the same module".to_owned()
            } else {
                format!("stage {stage}")
            };
            entry.remarks.push(Remark::warning(file, format!("is {stage}; it is not taken")));
        }
        if let (None, Some(proto)) = (entry.hlo, entry.proto)
            && let Some(name) = proto_name(&self.files[proto].bytes)
        {
            entry.name = name;
        }
        let Some(hlo) = entry.hlo else { return };
        let bytes = &self.files[hlo].bytes;
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 20)]);
        let Some((_, rest)) = head.split_once("HloModule ") else { return };
        let line = rest.lines().next().unwrap_or_default();
        let name = line.split([',', ' ']).next().unwrap_or_default().trim();
        if !name.is_empty() {
            if entry.id.is_some() && !entry.name.is_empty() && !entry.name.ends_with(name) {
                entry.remarks.push(Remark::warning(
                    &self.files[hlo].name,
                    format!("holds the module {name}, though its name says {}", entry.name),
                ));
            }
            name.clone_into(&mut entry.name);
        }
        entry.signature = line.split_once("entry_computation_layout={").map(|(_, s)| braced(s).to_owned());
        if entry.backend.is_none() {
            entry.backend = backend_in(line, &head);
        }
    }

    /// Files about an assignment whose names fit no module are given to the one whose values they name.
    fn adopt(&mut self) {
        let orphans: Vec<usize> = (0..self.modules.len())
            .filter(|i| {
                self.modules[*i].hlo.is_none()
                    && self.modules[*i].proto.is_none()
                    && self.modules[*i].id.is_none()
            })
            .collect();
        for orphan in orphans {
            let names = self.sample(&self.modules[orphan]);
            let folder = self.modules[orphan].folder.clone();
            let mut best: Option<(usize, usize)> = None;
            for (i, entry) in self.modules.iter().enumerate() {
                let Some(hlo) = entry.hlo.filter(|_| entry.folder == folder && i != orphan) else { continue };
                let text = String::from_utf8_lossy(&self.files[hlo].bytes);
                let hits = names.iter().filter(|n| text.contains(&format!("{n} = "))).count();
                if hits * 5 >= names.len() * 4 && best.is_none_or(|(most, _)| hits > most) && hits > 0 {
                    best = Some((hits, i));
                }
            }
            if let Some((_, home)) = best {
                let dumps = std::mem::take(&mut self.modules[orphan].dumps);
                for i in &dumps {
                    let remark = Remark::warning(
                        &self.files[*i].name,
                        format!("is taken for a file of {}, whose values it names", self.modules[home].name),
                    );
                    self.modules[home].remarks.push(remark);
                }
                self.modules[home].dumps.extend(dumps);
            }
        }
    }

    /// Some instructions that the dumps of an entry name.
    fn sample(&self, entry: &Entry) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for i in &entry.dumps {
            let text = String::from_utf8_lossy(&self.files[*i].bytes);
            let (dump, _) = dumps::read::everything(&text);
            let of_values = dump.values.iter().flat_map(|v| &v.values).map(|v| &v.value.name.instruction);
            let placed = dump.assignment.iter().flat_map(|a| &a.allocations).flat_map(|a| &a.values);
            let ranges = dump.live_range.iter().flat_map(|l| &l.ranges).map(|r| &r.name.instruction);
            out.extend(
                of_values.chain(placed.map(|p| &p.value.name.instruction)).chain(ranges).take(50).cloned(),
            );
        }
        out
    }

    fn find_same_names(&mut self) {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, e) in self.modules.iter().enumerate() {
            by_name.entry(e.name.as_str()).or_default().push(i);
        }
        let several: Vec<Vec<usize>> = by_name.into_values().filter(|all| all.len() > 1).collect();
        for all in several {
            for i in &all {
                self.modules[*i].same_name = all.iter().copied().filter(|j| j != i).collect();
            }
        }
    }

    /// A module's folder without what the folders of all modules begin with. Together with the number it still tells modules
    /// apart.
    #[must_use]
    pub fn short_folder<'e>(&self, entry: &'e Entry) -> &'e str {
        let mut common: Option<Vec<&str>> = None;
        for e in &self.modules {
            let parts: Vec<&str> = e.folder.split('/').collect();
            let same = common
                .as_ref()
                .map_or(parts.len(), |c| c.iter().zip(&parts).take_while(|(a, b)| a == b).count());
            common = Some(parts[..same].to_vec());
        }
        let skipped = common.unwrap_or_default().len();
        let at = entry.folder.split('/').take(skipped).map(|p| p.len() + 1).sum::<usize>();
        entry.folder.get(at..).unwrap_or("")
    }

    /// The out-of-memory errors about a module: those that name it, or name none where it is the only module.
    pub fn errors_of(&self, module: usize) -> impl Iterator<Item = &(usize, OutOfMemory)> {
        let name = self.modules.get(module).map(|e| e.name.as_str());
        self.errors.iter().filter(move |(_, e)| match &e.module {
            Some(of) => Some(of.as_str()) == name,
            None => name.is_some() && self.modules.len() == 1,
        })
    }

    /// Bytes of main memory that there were when a module did not fit, as an error about it says.
    #[must_use]
    pub fn limit_of(&self, module: usize) -> Option<u64> {
        let is_main =
            |e: &OutOfMemory| e.form != Form::Scoped && e.space.as_deref().is_none_or(|s| s == "hbm");
        self.errors_of(module).filter(|(_, e)| is_main(e)).find_map(|(_, e)| Some(e.limit?.bytes))
    }

    /// What to do if there is no module at all; `None` if there is one.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        if !self.modules.is_empty() {
            return None;
        }
        let why = match self.errors.first() {
            Some((_, oom)) => {
                let of = oom.module.as_ref().map(|m| format!(" of {m}")).unwrap_or_default();
                format!(
                    "To take the memory{of} apart, open the dumps, which are written before the compiler fails"
                )
            }
            None => "To get one".to_owned(),
        };
        Some(format!(
            "There is no module here. {why}: {HOW}. A module that comes from a compilation cache is not dumped."
        ))
    }
}

/// The module's name in a serialised HloModuleProto, or in a HloProto, whose first field is one: the first field in turn.
fn proto_name(bytes: &[u8]) -> Option<String> {
    let field = |bytes: &'_ [u8]| -> Option<std::ops::Range<usize>> {
        let (mut length, mut shift, mut at) = (0usize, 0, 1);
        if bytes.first() != Some(&0x0a) {
            return None;
        }
        loop {
            let b = *bytes.get(at)?;
            length |= usize::from(b & 0x7f).checked_shl(shift)?;
            at += 1;
            shift += 7;
            if b & 0x80 == 0 {
                break;
            }
        }
        let end = at.checked_add(length)?;
        (end <= bytes.len() && shift < 36).then_some(at..end)
    };
    let outer = &bytes[field(bytes)?];
    let inner = field(outer).map_or(outer, |r| &outer[r]);
    let name = std::str::from_utf8(inner).ok()?;
    let is_name = !name.is_empty() && name.len() < 4096 && !name.contains(char::is_control);
    is_name.then(|| name.to_owned())
}

/// What stands before the brace that closes; `text` begins behind the one that opens.
fn braced(text: &str) -> &str {
    let mut depth = 1;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..i];
        }
    }
    text
}

/// Tiles mean TPU, a fingerprint of the latency-hiding scheduler GPU.
fn backend_in(header: &str, head: &str) -> Option<Backend> {
    if head.contains(":T(") {
        Some(Backend::Tpu)
    } else if header.contains("fingerprint_before_lhs") {
        Some(Backend::Gpu)
    } else {
        None
    }
}
