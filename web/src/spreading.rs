//! Memory spaces carried from the schedule into fusions, place by place.

use hlo::{ComputationId, InstructionId, Module, Opcode};
use memory_space::propagation::{Cause, Change, Place, Spread, apply, spread};
use std::sync::OnceLock;

/// A line of the figure: an instruction of the schedule, or one inside a fusion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The instruction.
    pub id: InstructionId,
    /// Its name.
    pub name: String,
    /// Its opcode and operands.
    pub rest: String,
    /// How deep it stands: 0 in the schedule.
    pub depth: u32,
    /// Its memory space before anything was carried, of the whole result.
    pub before: u32,
    /// As libtpu's own module has it.
    pub theirs: u32,
}

/// The program of the figure, read once: its lines and what is carried, in order.
#[derive(Debug)]
pub struct Story {
    /// The lines.
    pub lines: Vec<Line>,
    /// What is carried.
    pub steps: Vec<Spread>,
    module: Module,
}

/// The program of chapter 7, as libtpu left it; the spaces inside its fusions are taken out and carried in again.
pub fn story() -> Option<&'static Story> {
    static STORY: OnceLock<Option<Story>> = OnceLock::new();
    STORY.get_or_init(|| tell(include_str!("../../assets/modules/tpu_update.txt"))).as_ref()
}

fn tell(text: &str) -> Option<Story> {
    let original = hlo::read(text).complete().ok()?;
    let mut module = original.clone();
    let fused: Vec<ComputationId> = module
        .instruction_ids()
        .filter(|id| module.instruction(*id).opcode == Opcode::Fusion)
        .flat_map(|id| module.called(id).to_vec())
        .collect();
    let inside: Vec<InstructionId> =
        module.instruction_ids().filter(|id| fused.contains(&module.instruction(*id).computation)).collect();
    let cleared: Vec<Change> = inside
        .iter()
        .map(|id| Change { place: Place { instruction: *id, sub: 0 }, from: space(&module, *id), to: 0 })
        .filter(|change| change.from != 0)
        .collect();
    if apply(&mut module, &cleared) > 0 {
        return None;
    }
    let steps: Vec<Spread> = spread(&module).into_iter().filter(|s| s.from != s.to).collect();
    let mut lines = Vec::new();
    for id in &module.computation(module.entry).instructions {
        if module.instruction(*id).opcode != Opcode::Fusion {
            continue;
        }
        for operand in module.operands(*id) {
            if lines.iter().all(|l: &Line| l.id != *operand) {
                lines.push(line(&module, &original, *operand, 0));
            }
        }
        // What a fusion calls stands below it; a stack of our own, since fusions can be nested deeply.
        let mut waiting = vec![(*id, 0)];
        while let Some((id, depth)) = waiting.pop() {
            if lines.iter().all(|l| l.id != id) {
                lines.push(line(&module, &original, id, depth));
            }
            if module.instruction(id).opcode == Opcode::Fusion {
                let inner = module.called(id).iter().flat_map(|c| &module.computation(*c).instructions);
                let inner: Vec<(InstructionId, u32)> = inner.map(|i| (*i, depth + 1)).collect();
                waiting.extend(inner.into_iter().rev());
            }
        }
    }
    Some(Story { lines, steps, module })
}

fn space(module: &Module, id: InstructionId) -> u32 {
    module.shapes.memory_space(module.instruction(id).shape)
}

fn line(module: &Module, original: &Module, id: InstructionId, depth: u32) -> Line {
    let operands: Vec<&str> = module.operands(id).iter().map(|o| module.name_of(*o)).collect();
    let opcode = module.str(module.instruction(id).opcode_name);
    let rest = if opcode == "parameter" {
        format!("parameter({})", module.parameter_number(id).unwrap_or(0))
    } else {
        format!("{opcode}({})", operands.join(", "))
    };
    Line {
        id,
        name: module.name_of(id).to_owned(),
        rest,
        depth,
        before: space(module, id),
        theirs: space(original, id),
    }
}

impl Story {
    /// The space of a line once so many steps are done.
    pub fn space(&self, line: &Line, done: usize) -> u32 {
        let last = self.steps[..done.min(self.steps.len())].iter().rev();
        last.filter(|s| s.place.instruction == line.id).map(|s| s.to).next().unwrap_or(line.before)
    }

    /// From where a step comes.
    pub fn source(&self, step: &Spread) -> InstructionId {
        match step.cause {
            Cause::Operand { call, operand } => {
                self.module.operands(call).get(operand as usize).copied().unwrap_or(call)
            }
            Cause::Result { call } => call,
            Cause::Own => step.place.instruction,
            Cause::SameValue { of } | Cause::InPlace { of } | Cause::Into { of } | Cause::Out { of } => {
                of.instruction
            }
        }
    }

    /// A step in words.
    pub fn words(&self, done: usize) -> String {
        let count = self.steps.len();
        let Some(step) = done.checked_sub(1).and_then(|at| self.steps.get(at)) else {
            return format!(
                "Inside the fusions no line names a memory yet. {count} places follow, each from one that is known."
            );
        };
        let name = self.module.name_of(step.place.instruction);
        let from = self.module.name_of(self.source(step));
        let why = match step.cause {
            Cause::Operand { call, .. } => {
                format!("it is the parameter for {from}, which {} reads there", self.module.name_of(call))
            }
            Cause::Result { .. } => {
                format!("it is the root, and so the result of {from}, which stands there")
            }
            Cause::Own => "it has it already".to_owned(),
            Cause::SameValue { .. } => format!("it is the same value as {from}"),
            Cause::InPlace { .. } => format!("{from} is written over it, in place"),
            Cause::Into { .. } => {
                format!("it is the same memory as {from}, seen from inside the fusion that reads it")
            }
            Cause::Out { .. } => format!("it is the same memory as {from}, seen from outside"),
        };
        let end = if done >= count { self.ending() } else { String::new() };
        format!("{done} of {count}: {name} gets S({}), because {why}.{end}", step.to)
    }

    /// Is it what libtpu has?
    fn ending(&self) -> String {
        let done = self.steps.len();
        let same = self.lines.iter().filter(|l| self.space(l, done) == l.theirs).count();
        if same == self.lines.len() {
            " Now every line is as in libtpu's own module.".to_owned()
        } else {
            format!(" Now {same} of {} lines are as in libtpu's own module.", self.lines.len())
        }
    }

    /// The bitcasts that read fast memory and give something that is not there.
    pub fn kept_apart(&self) -> usize {
        let done = self.steps.len();
        let is_fast = |id: InstructionId| self.lines.iter().any(|l| l.id == id && self.space(l, done) == 1);
        let bitcasts = self.lines.iter().filter(|l| l.rest.starts_with("bitcast("));
        bitcasts
            .filter(|l| self.space(l, done) != 1 && self.module.operands(l.id).iter().any(|o| is_fast(*o)))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_comes_back_as_libtpu_has_it() {
        let story = story().expect("it can be read");
        let all = story.steps.len();
        assert!(all >= 6 && story.words(all).ends_with("as in libtpu's own module."), "{}", story.words(all));
        assert!(story.words(0).starts_with("Inside the fusions"));
        assert!(story.kept_apart() > 0);
        for (n, step) in story.steps.iter().enumerate() {
            let line = story.lines.iter().find(|l| l.id == step.place.instruction).expect("it is shown");
            assert_eq!((story.space(line, n), story.space(line, n + 1)), (0, step.to));
        }
    }
}
