//! `bufferscope try MODULE [EDITS] [--room VALUE] [--json]`: changes made by hand, and what they come to.

use crate::input::{AssignmentArguments, ModuleArguments, read_bytes};
use crate::{Answer, Failure, say, shown};
use assigner::words::{both, difference};
use clap::{Arg, ArgAction, ArgMatches, Command};
use hlo::ShapeIndex;
use questions::{Edit, State, Study, WhyNot};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    #[command(flatten)]
    edits: Edits,
    /// Where the instruction that makes this value may run, and which reads of the value can be left out; after the edits
    #[arg(long, value_name = "VALUE")]
    room: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// The edits, in the order in which the command line has them.
struct Edits(Vec<(&'static str, String)>);

/// Name, value and help of each option that is an edit.
const OPTIONS: [(&str, Option<&str>, &str); 14] = [
    ("move", Some("NAME:STEP"), "Run an instruction at another step, within its dependencies"),
    ("sooner", Some("NAME"), "Run an instruction as soon as what it waits for is done"),
    ("later", Some("NAME"), "Run an instruction right before the first that waits for it"),
    (
        "drop-read",
        Some("READER:OPERAND"),
        "Leave out one read: the instruction and the number of its operand, from 0",
    ),
    (
        "range",
        Some("VALUE:START-END"),
        "Take a value as wanted from one step to another, whatever the program says",
    ),
    (
        "donate",
        Some("ARGUMENT[:OUTPUT]"),
        "Donate an argument, `2` or `2{0}`, to an output, `{1}` [default: a free one that fits and with which no value is lost]",
    ),
    ("undonate", Some("ARGUMENT"), "Take a donation back; copy insertion runs again"),
    ("drop-output", Some("ELEMENT"), "Do not return an element of the result"),
    ("drop-copy", Some("NAME"), "Leave a copy out: its readers read what it copies"),
    ("drop-copies", None, "Leave every plain copy out"),
    ("add-copies", None, "Run copy insertion"),
    ("align", Some("BYTES"), "Align everything to this"),
    ("packer", Some("NAME"), "Use another packer"),
    ("edits", Some("FILE"), "Edits as JSON: a list, or a file that the lab has saved"),
];

impl clap::Args for Edits {
    fn augment_args(command: Command) -> Command {
        OPTIONS.iter().fold(command, |command, (name, value, help)| {
            let option = Arg::new(*name).long(*name).help(*help);
            command.arg(match value {
                Some(value) => option.value_name(*value).action(ArgAction::Append),
                None => option.action(ArgAction::SetTrue),
            })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Edits {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut found: Vec<(usize, &'static str, String)> = Vec::new();
        for (name, value, _) in &OPTIONS {
            if value.is_none() {
                if matches.get_flag(name) {
                    found.push((matches.index_of(name).unwrap_or(0), name, String::new()));
                }
                continue;
            }
            let values = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(places.zip(values).map(|(at, text)| (at, *name, text.clone())));
        }
        found.sort_by_key(|f| f.0);
        Ok(Self(found.into_iter().map(|(_, name, text)| (name, text)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Outputs that are tried for an argument, if none is named.
const MOST_OUTPUTS: usize = 16;

/// Edits that are told one by one, if there are more than one more.
const MOST_WORDS: usize = 5;

/// What came of a text that is no edit.
fn wrong(name: &str, text: &str, expected: &str) -> Failure {
    Failure(format!("--{name}: {text}, expected {expected}"))
}

/// An argument or an output with the index in it: `2`, `2{0}`, `{1,0}`.
fn place(text: &str) -> Option<(Option<u32>, Vec<u32>)> {
    let (number, index) = match text.split_once('{') {
        Some((number, index)) => (number, index.strip_suffix('}')?),
        None => (text, ""),
    };
    let number = if number.is_empty() { None } else { Some(number.parse().ok()?) };
    let index = index.split(',').map(str::trim).filter(|n| !n.is_empty());
    Some((number, index.map(str::parse).collect::<Result<_, _>>().ok()?))
}

/// What an option of the command line says; of a donation without an output one edit for each that is free.
fn edit(study: &Study, name: &str, text: &str) -> Result<Vec<Edit>, Failure> {
    let number = |part: &str, expected: &str| part.parse::<u32>().map_err(|_| wrong(name, text, expected));
    let pair = |expected: &str| {
        let halves = text.rsplit_once(':').filter(|(name, rest)| !name.is_empty() && !rest.is_empty());
        halves.ok_or_else(|| wrong(name, text, expected))
    };
    let argument = |text: &str| {
        place(text)
            .and_then(|(n, i)| Some((n?, i)))
            .ok_or_else(|| wrong(name, text, "an argument like 2 or 2{0}"))
    };
    Ok(vec![match name {
        "move" => {
            let (name, step) = pair("NAME:STEP")?;
            Edit::Move { name: name.to_owned(), to: number(step, "a step")? }
        }
        "sooner" => Edit::Sooner { name: text.to_owned() },
        "later" => Edit::Later { names: vec![text.to_owned()] },
        "drop-read" => {
            let (reader, operand) = pair("READER:OPERAND")?;
            Edit::DropRead {
                reader: reader.to_owned(),
                operand: number(operand, "the number of an operand")?,
            }
        }
        "range" => {
            let (value, range) = pair("VALUE:START-END")?;
            let (start, end) = range.split_once('-').ok_or_else(|| wrong(name, text, "VALUE:START-END"))?;
            Edit::Range {
                name: value.to_owned(),
                start: number(start, "a step")?,
                end: number(end, "a step")?,
            }
        }
        "donate" => {
            let (from, to) = match text.split_once(':') {
                Some((from, to)) => (from, Some(to)),
                None => (text, None),
            };
            let (parameter, index) = argument(from)?;
            let output = match to {
                Some(to) => match place(to) {
                    Some((None, output)) => output,
                    Some((Some(element), rest)) if rest.is_empty() => vec![element],
                    _ => return Err(wrong(name, to, "an output like {1} or 1")),
                },
                None => {
                    let free =
                        free_outputs(study, parameter, &index).map_err(|why| wrong(name, text, &why))?;
                    let edit = |output| Edit::Donate { parameter, index: index.clone(), output };
                    return Ok(free.into_iter().map(edit).collect());
                }
            };
            Edit::Donate { parameter, index, output }
        }
        "undonate" => {
            let (parameter, index) = argument(text)?;
            Edit::Undonate { parameter, index }
        }
        "drop-output" => Edit::DropOutput { output: number(text, "the number of an element")? },
        "drop-copy" => Edit::DropCopy { name: text.to_owned() },
        "drop-copies" => Edit::DropCopies,
        "add-copies" => Edit::InsertCopies,
        "align" => Edit::Alignment { bytes: text.parse().map_err(|_| wrong(name, text, "a power of two"))? },
        "packer" => Edit::Algorithm { name: text.to_owned() },
        _ => return from_file(Path::new(text)),
    }])
}

/// The outputs that could take an argument, those of the same shape first; of these the first is as far behind the others as
/// the argument is behind others of the shape. If there is none, what was expected.
fn free_outputs(study: &Study, parameter: u32, index: &[u32]) -> Result<Vec<Vec<u32>>, String> {
    const FITS: &str = "an argument that fits an output which is free";
    let table = questions::donation(study).ok_or(FITS)?;
    let is_it = |a: &&questions::Argument| a.parameter == parameter && a.index.0[..] == *index;
    let Some(argument) = table.arguments.iter().find(is_it) else {
        let count = table.arguments.iter().map(|a| a.parameter + 1).max().unwrap_or(0);
        if parameter >= count {
            return Err(format!("an argument: the program has {count}, numbered from 0"));
        }
        return Err(format!("an array of argument {parameter}: there is none at this index"));
    };
    let fits: Vec<&ShapeIndex> = match &argument.state {
        State::NotOffered(fits) => fits.iter().collect(),
        State::NotTaken(why) => why.iter().filter(|(_, w)| *w == WhyNot::Nothing).map(|(o, _)| o).collect(),
        State::Taken { .. } => return Err("an argument that is not donated already".to_owned()),
    };
    let is_same = |o: &ShapeIndex| table.outputs.iter().any(|x| x.index == *o && x.shape == argument.shape);
    let (mut free, others): (Vec<&ShapeIndex>, Vec<&ShapeIndex>) = fits.into_iter().partition(|o| is_same(o));
    let is_open = |a: &&questions::Argument| !matches!(a.state, State::Taken { .. });
    let before = table.arguments.iter().take_while(|a| !is_it(a)).filter(is_open);
    let place = before.filter(|a| a.shape == argument.shape).count();
    if place < free.len() {
        let first = free.remove(place);
        free.insert(0, first);
    }
    free.extend(others);
    if free.is_empty() {
        return Err(FITS.to_owned());
    }
    Ok(free.into_iter().map(|o| o.0.to_vec()).collect())
}

/// What the lab saves, of which only the edits are wanted.
#[derive(serde::Deserialize)]
struct Saved {
    edits: Vec<Edit>,
}

fn from_file(path: &Path) -> Result<Vec<Edit>, Failure> {
    let bytes = read_bytes(path)?;
    let is_saved = bytes.trim_ascii_start().starts_with(b"{");
    let read = if is_saved {
        serde_json::from_slice(&bytes).map(|saved: Saved| saved.edits)
    } else {
        serde_json::from_slice(&bytes)
    };
    read.map_err(|e| {
        Failure(format!(
            "{}:{}:{}: {}",
            path.display(),
            e.line(),
            e.column(),
            crate::json::words(&e.to_string(), "a list of edits, or a file that the lab has saved")
        ))
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    if arguments.module.is_without_schedule() {
        return Err(Failure(
            "--no-schedule: edits are of steps, and a module without a schedule has none; expected `try` without it"
                .to_owned(),
        ));
    }
    let study = arguments.module.study(&AssignmentArguments::default(), false)?;
    let need = || {
        Failure(
            "what edits come to is found by changing the program, expected the file that ends in after_optimizations.txt"
                .to_owned(),
        )
    };
    let baseline = questions::baseline(&study, None).ok_or_else(need)?;
    let mut edits = Vec::new();
    for (name, text) in &arguments.edits.0 {
        // Which output is free is asked of the program as the edits before have made it.
        let is_asked = *name == "donate" && !text.contains(':');
        let so_far = if is_asked && !edits.is_empty() {
            Some(questions::try_edits(&study, &baseline, &edits).map_err(Failure)?.study)
        } else {
            None
        };
        let said = edit(so_far.as_ref().unwrap_or(&study), name, text)?;
        if !is_asked {
            edits.extend(said);
            continue;
        }
        // The first that loses no value; if every one does, the first.
        let is_sound = |e: &&Edit| {
            let with: Vec<Edit> = edits.iter().chain([*e]).cloned().collect();
            questions::try_edits(&study, &baseline, &with).is_ok_and(|t| !t.soundness.is_unsound())
        };
        let sound = if said.len() > 1 { said.iter().take(MOST_OUTPUTS).find(is_sound) } else { None };
        edits.extend(sound.or(said.first()).cloned());
    }
    let tried = questions::try_edits(&study, &baseline, &edits).map_err(Failure)?;
    let room = match &arguments.room {
        Some(name) => Some(room(&tried.study, name)?),
        None => None,
    };
    let answer = if tried.soundness.is_unsound() { Answer::No } else { Answer::Yes };
    let sums = [
        ("total", "All allocations", tried.before.total, tried.after.total),
        ("temp", "Temporaries", tried.before.temp, tried.after.temp),
        ("peak", "Most temporaries in use at once", tried.before.peak, tried.after.peak),
    ];
    if arguments.json {
        let mut out = json!({
            "edits": edits,
            "words": tried.edits,
            "soundness": tried.soundness.name(),
            "why": tried.soundness.words(),
            "sharings": tried.sharings,
            "remarks": tried.remarks,
        });
        for (name, _, before, after) in sums {
            out[name] = json!([before, after]);
        }
        if let Some((_, room)) = room {
            out["room"] = room;
        }
        say(&format!("{out}\n"))?;
        return Ok(answer);
    }
    let mut out = String::new();
    let told = if tried.edits.len() > MOST_WORDS + 1 { MOST_WORDS } else { tried.edits.len() };
    for words in &tried.edits[..told] {
        _ = writeln!(out, "{words}");
    }
    if told < tried.edits.len() {
        _ = writeln!(out, "and {} more", tried.edits.len() - told);
    }
    for (_, what, before, after) in sums {
        _ = writeln!(out, "{what}: {}, before {}: {}.", both(after), both(before), difference(before, after));
    }
    for words in tried.sharings.iter().chain(&tried.remarks) {
        _ = writeln!(out, "{words}");
    }
    _ = writeln!(out, "{}", tried.soundness.words());
    if let Some((words, _)) = room {
        out += &words;
    }
    say(&shown(&out))?;
    Ok(answer)
}

/// What can be tried with a value, in words and as JSON.
fn room(study: &Study, name: &str) -> Result<(String, Value), Failure> {
    let program = study.program.as_ref().ok_or_else(|| Failure("no program".to_owned()))?;
    let no_value =
        || Failure(format!("--room: {name}, expected a value of the module, as fusion.1 or while.2{{0}}"));
    let row = &study.rows[study.find(name).ok_or_else(no_value)?];
    let instruction = row.instruction.ok_or_else(no_value)?;
    let module = &program.module;
    let room = questions::room(program, instruction);
    let mut words = match &room {
        Ok(room) => room.words(module),
        Err(why) => why.clone(),
    };
    words += "\n";
    let mut reads = Vec::new();
    for read in row.value.map(|v| questions::droppable_reads(program, v)).unwrap_or_default() {
        let reader = module.name_of(read.reader);
        let step = program.facts.clock.time(read.reader).map_or(0, |s| s.0);
        _ = writeln!(words, "Read by {reader} at step {step}: --drop-read {reader}:{}", read.operand);
        reads.push(json!({"reader": reader, "operand": read.operand, "step": step}));
    }
    let json = match room {
        Ok(r) => json!({
            "instruction": module.name_of(instruction),
            "step": r.now,
            "earliest": r.earliest,
            "latest": r.latest,
            "behind": r.behind.map(|i| module.name_of(i)),
            "before": r.before.map(|i| module.name_of(i)),
            "reads": reads,
        }),
        Err(why) => json!({"instruction": module.name_of(instruction), "why": why, "reads": reads}),
    };
    Ok((words, json))
}
