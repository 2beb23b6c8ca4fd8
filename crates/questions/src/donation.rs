//! Which arguments were donated, which output took them, and why nobody took the rest.

use crate::hold::value_at;
use crate::study::{Program, Role, Study};
use assigner::words::{bytes, list};
use hlo::{Alias, AliasKind, InstructionId, Module, Opcode, ShapeId, ShapeIndex};
use std::collections::{HashMap, HashSet};

/// One argument: a leaf of an entry parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The parameter's number.
    pub parameter: u32,
    /// Where in it.
    pub index: ShapeIndex,
    /// The parameter's name, or the name that the program gave it.
    pub name: String,
    /// Its shape with layout.
    pub shape: String,
    /// Bytes it takes.
    pub bytes: u64,
    /// Its memory space.
    pub space: u32,
    /// What became of it.
    pub state: State,
    /// What is needed although it was taken, or because it is read late.
    pub extras: Vec<Extra>,
}

/// What became of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// An output stands in its memory.
    Taken {
        /// Where in the result.
        output: ShapeIndex,
        /// May or must.
        kind: AliasKind,
    },
    /// It was offered (`buffer_donor`), and nobody took it.
    NotTaken(Vec<(ShapeIndex, WhyNot)>),
    /// It was not offered. These outputs would fit.
    NotOffered(Vec<ShapeIndex>),
}

/// Why an output did not take an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    /// It stands in another argument's memory.
    HasAnother,
    /// It has another number of bytes.
    Bytes(u64),
    /// It has as many bytes, but another shape or type; XLA would take it, JAX does not offer it.
    Shape,
    /// It has another sharding.
    Sharding,
    /// It is in another memory space, such as the host's.
    Space,
    /// Nothing is in the way: XLA could have taken it.
    Nothing,
}

/// What is needed in spite of a donation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extra {
    /// The output is computed in work space and copied into the argument's memory in the end.
    CopiedAtTheEnd {
        /// The copy.
        copy: InstructionId,
        /// What it copies: an index into [`Study::rows`].
        from: usize,
        /// Bytes of the work space.
        bytes: u64,
    },
    /// The argument is saved before it is written over.
    Saved {
        /// The copy.
        copy: InstructionId,
        /// Who reads the copy last.
        reader: Option<InstructionId>,
        /// Bytes of the copy.
        bytes: u64,
        /// The argument in whose memory the copy is, if it is not in work space: its parameter number.
        inside: Option<u32>,
    },
}

/// One array of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where in the result.
    pub index: ShapeIndex,
    /// Its shape with layout.
    pub shape: String,
    /// Bytes it takes.
    pub bytes: u64,
    /// Its memory space.
    pub space: u32,
    /// The argument in whose memory it stands: parameter and index.
    pub takes: Option<(u32, ShapeIndex)>,
    /// An argument of which it is a plain copy: its parameter number, and the copy.
    pub copy_of: Option<(u32, InstructionId)>,
}

/// Arguments and outputs.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Donation {
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
    /// The outputs, in order.
    pub outputs: Vec<Output>,
    /// Bytes of arguments that an output took.
    pub taken: u64,
    /// Bytes of outputs that could stand in arguments that are not donated, each argument and output once.
    pub could_save: u64,
}

impl Donation {
    /// What has to be said of arguments that no output fits: the program may have offered them. `None` where there are none.
    #[must_use]
    pub fn unseen_offers(&self) -> Option<&'static str> {
        let fits_nothing = |a: &Argument| matches!(&a.state, State::NotOffered(fits) if fits.is_empty());
        self.arguments.iter().any(fits_nothing).then_some(
            "An argument that is not donated in the module may have been in the program: JAX leaves an offer out, with a warning, where no output of a device has its shape and type.",
        )
    }
}

impl WhyNot {
    /// In words: what the output does instead; `own` is the argument's number of bytes.
    #[must_use]
    pub fn words(self, own: u64) -> String {
        match self {
            Self::HasAnother => "stands in another argument".to_owned(),
            Self::Bytes(n) if n < own => format!("takes {} only", bytes(n)),
            Self::Bytes(n) => format!("takes {}", bytes(n)),
            Self::Shape => "has another shape or type, though as many bytes".to_owned(),
            Self::Sharding => "has another sharding".to_owned(),
            Self::Space => "is in another memory space".to_owned(),
            Self::Nothing => "would fit".to_owned(),
        }
    }
}

impl Argument {
    /// What became of it, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.state {
            State::Taken { output, kind } => {
                let kind = if *kind == AliasKind::Must { "must" } else { "may" };
                format!("taken by output {output} ({kind} alias)")
            }
            State::NotTaken(why) if why.is_empty() => "offered, but there is no output".to_owned(),
            State::NotTaken(why) => {
                let why: Vec<String> =
                    why.iter().map(|(o, w)| format!("{o} {}", w.words(self.bytes))).collect();
                format!("offered, and nobody took it: output {}", list(&why, 6))
            }
            State::NotOffered(fits) if fits.is_empty() => {
                "not donated in this module; no free output has its size".to_owned()
            }
            State::NotOffered(fits) => {
                let fits: Vec<String> = fits.iter().map(ToString::to_string).collect();
                format!("not donated; output {} could stand there", list(&fits, 4))
            }
        }
    }
}

impl Extra {
    /// In words, as what follows upon the state of the argument. Needs the study that the table is of.
    #[must_use]
    pub fn words(&self, study: &Study) -> String {
        let name = |id: InstructionId| study.program.as_ref().map_or("", |p| p.module.name_of(id));
        match self {
            Self::CopiedAtTheEnd { copy, from, bytes: n } => format!(
                "yet the output is computed in {} of work space ({}) and copied there by {}",
                bytes(*n),
                study.rows[*from].name,
                name(*copy)
            ),
            Self::Saved { copy, reader, bytes: n, inside } => {
                let reader = reader.map(|r| format!(", which {} reads last", name(r))).unwrap_or_default();
                let inside = inside.map(|p| format!(", in the memory of argument {p}")).unwrap_or_default();
                format!(
                    "it is still wanted when it is written over: {} saves it{inside}, {}{reader}",
                    name(*copy),
                    bytes(*n)
                )
            }
        }
    }
}

/// The donation table. Needs the program.
#[must_use]
pub fn donation(study: &Study) -> Option<Donation> {
    let program = study.program.as_ref()?;
    let Program { module, facts, .. } = program;
    let entry = module.computation(module.entry);
    let bytes = |shape: ShapeId| facts.target.bytes(&module.shapes, shape);
    let root = entry.root;
    let by_output: HashMap<&ShapeIndex, &Alias> =
        module.input_output_alias.iter().map(|a| (&a.output, a)).collect();
    let by_argument: HashMap<(u32, &ShapeIndex), &Alias> =
        module.input_output_alias.iter().map(|a| ((a.parameter, &a.parameter_index), a)).collect();
    let mut outputs: Vec<Output> = leaves(module, module.instruction(root).shape)
        .map(|(sub, index, shape)| Output {
            takes: by_output.get(&index).map(|a| (a.parameter, a.parameter_index.clone())),
            copy_of: copied_argument(program, root, sub),
            shape: module.shapes.long(shape).to_owned(),
            bytes: bytes(shape),
            space: module.shapes.memory_space(shape),
            index,
        })
        .collect();
    // A scalar that every program returns is no use as a taker; it is listed all the same.
    outputs.sort_by(|a, b| a.index.0.cmp(&b.index.0));
    let offered = donors(module.header_attribute("buffer_donor").unwrap_or(""));
    let mut out = Donation::default();
    for (number, id) in entry.parameters.iter().enumerate() {
        let number = number as u32;
        for (sub, index, shape) in leaves(module, module.instruction(*id).shape) {
            let alias = by_argument.get(&(number, &index)).copied();
            let own = bytes(shape);
            let long = module.shapes.long(shape).to_owned();
            let space = module.shapes.memory_space(shape);
            let is_offered = offered.contains(&(number, index.clone()));
            let state = match alias {
                Some(a) => State::Taken { output: a.output.clone(), kind: a.kind },
                None if is_offered => {
                    let why = outputs
                        .iter()
                        .map(|o| (o.index.clone(), why_not(module, *id, root, o, (own, space), &long)));
                    State::NotTaken(why.collect())
                }
                None => State::NotOffered(
                    outputs
                        .iter()
                        .filter(|o| o.takes.is_none() && o.bytes == own && o.space == space)
                        .map(|o| o.index.clone())
                        .collect(),
                ),
            };
            if alias.is_some() {
                out.taken = out.taken.saturating_add(own);
            }
            let extras = extras(study, program, *id, sub, alias.map(|a| &a.output));
            out.arguments.push(Argument {
                parameter: number,
                space,
                name: name_of(module, *id),
                index,
                shape: long,
                bytes: own,
                state,
                extras,
            });
        }
    }
    // Each argument can be taken once: the largest first.
    let mut free: Vec<&Output> = outputs.iter().filter(|o| o.takes.is_none()).collect();
    let mut arguments: Vec<&Argument> =
        out.arguments.iter().filter(|a| !matches!(a.state, State::Taken { .. })).collect();
    arguments.sort_by_key(|a| std::cmp::Reverse(a.bytes));
    let mut could_save = 0u64;
    for a in arguments {
        if let Some(i) = free.iter().position(|o| o.bytes == a.bytes && o.space == a.space) {
            could_save = could_save.saturating_add(free.remove(i).bytes);
        }
    }
    out.could_save = could_save;
    out.outputs = outputs;
    Some(out)
}

/// The arrays in a shape: their number among its parts, index and shape.
fn leaves(module: &Module, shape: ShapeId) -> impl Iterator<Item = (u32, ShapeIndex, ShapeId)> + '_ {
    module
        .shapes
        .subshapes(shape)
        .iter()
        .enumerate()
        .filter(|(_, s)| module.shapes.is_array(s.shape))
        .map(|(i, s)| (i as u32, s.index.clone(), s.shape))
}

fn name_of(module: &Module, parameter: InstructionId) -> String {
    dumps::op_name(module, parameter).unwrap_or_else(|| module.name_of(parameter).to_owned())
}

/// `{ (0, {}), (1, {0}) }`
pub(crate) fn donors(text: &str) -> HashSet<(u32, ShapeIndex)> {
    let mut out = HashSet::new();
    for piece in text.split('(').skip(1) {
        let piece = piece.split(')').next().unwrap_or("");
        let Some((number, index)) = piece.split_once(',') else { continue };
        let numbers = index.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<u32>().ok());
        if let Ok(number) = number.trim().parse() {
            out.insert((number, ShapeIndex(numbers.collect())));
        }
    }
    out
}

fn why_not(
    module: &Module,
    parameter: InstructionId,
    root: InstructionId,
    o: &Output,
    (own, space): (u64, u32),
    shape: &str,
) -> WhyNot {
    let sharding = |i| module.attribute(i, "sharding");
    if o.takes.is_some() {
        WhyNot::HasAnother
    } else if o.bytes != own {
        WhyNot::Bytes(o.bytes)
    } else if o.space != space {
        WhyNot::Space
    } else if o.shape != shape {
        WhyNot::Shape
    } else if sharding(parameter).is_some()
        && sharding(root).is_some()
        && sharding(parameter) != sharding(root)
    {
        WhyNot::Sharding
    } else {
        WhyNot::Nothing
    }
}

/// Is a copy, or a fusion that does nothing else?
pub(crate) fn is_copy(module: &Module, id: InstructionId) -> bool {
    match module.instruction(id).opcode {
        Opcode::Copy => true,
        Opcode::Fusion => module.called(id).first().is_some_and(|c| {
            let root = module.root(*c);
            module.instruction(root).opcode == Opcode::Copy
                && module.operands(root).iter().all(|o| module.instruction(*o).opcode == Opcode::Parameter)
        }),
        _ => false,
    }
}

/// The argument that an output is a plain copy of.
fn copied_argument(program: &Program, root: InstructionId, sub: u32) -> Option<(u32, InstructionId)> {
    let Program { module, facts, .. } = program;
    let copy = facts.defining(value_at(program, root, sub)?);
    if !is_copy(module, copy) {
        return None;
    }
    let source = facts.defining(value_at(program, *module.operands(copy).first()?, 0)?);
    let is_argument = module.instruction(source).computation == module.entry;
    module.parameter_number(source).filter(|_| is_argument).map(|n| (n, copy))
}

fn extras(
    study: &Study,
    program: &Program,
    parameter: InstructionId,
    sub: u32,
    output: Option<&ShapeIndex>,
) -> Vec<Extra> {
    let Program { module, facts, .. } = program;
    let mut out = Vec::new();
    let root = module.root(module.entry);
    let Some(output) = output else { return out };
    let place = module.shapes.find(module.instruction(root).shape, &output.0);
    if let Some(value) = place.and_then(|sub| value_at(program, root, sub)) {
        let copy = facts.defining(value);
        if is_copy(module, copy)
            && let Some(source) = module.operands(copy).first().and_then(|o| value_at(program, *o, 0))
            && let Some(from) = study.row_of(source)
            && study.slab(&study.rows[from]).role == Role::Temp
        {
            out.push(Extra::CopiedAtTheEnd { copy, from, bytes: study.rows[from].size });
        }
    }
    let Some(value) = value_at(program, parameter, sub) else { return out };
    for u in &facts.value(value).uses {
        let copy = u.user;
        let is_output = facts
            .dataflow
            .at(analysis::Position { instruction: copy, sub: 0 })
            .iter()
            .any(|v| facts.value(*v).live_out);
        if !is_copy(module, copy) || is_output {
            continue;
        }
        let Some(row) = value_at(program, copy, 0).and_then(|v| study.row_of(v)) else { continue };
        let row_ref = &study.rows[row];
        let reader = crate::hold::hold(study, row).and_then(|h| h.last_readers.last().copied());
        let slab = study.slab(row_ref);
        out.push(Extra::Saved {
            copy,
            reader,
            bytes: row_ref.size,
            inside: slab.parameter.as_ref().map(|p| p.0),
        });
    }
    out
}
