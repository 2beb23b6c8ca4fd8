//! A module's way through the whole engine, and what must hold on it.

use crate::modules;
use analysis::{Backend, Facts, Orders, Position, Target};
use assigner::{Assignment, Decisions, Options};
use checker::{Plan, Verdict, Violation};
use hlo::Module;
use packing::Algorithm;

/// A module and how it is taken.
pub struct Case {
    /// Its text.
    pub text: String,
    /// The compiler.
    pub backend: Backend,
    /// Is it taken as if it had no schedule?
    pub no_schedule: bool,
    /// The packer and the limit of a heap.
    pub options: Options,
}

impl Case {
    /// Four bytes of options, and the rest for the module.
    pub fn new(bytes: &[u8]) -> Self {
        let at = |n: usize| bytes.get(n).copied().unwrap_or(0);
        let algorithm = Algorithm::ALL.get(usize::from(at(2)).wrapping_sub(1)).copied();
        let heap_limit = (at(3) >= 224).then(|| u64::from(at(3) - 223) * 64);
        Self {
            text: modules::module(bytes.get(4..).unwrap_or(&[])),
            backend: [Backend::Cpu, Backend::Gpu, Backend::Tpu][usize::from(at(0)) % 3],
            no_schedule: at(1) >= 224,
            options: Options { algorithm, heap_limit, ..Options::default() },
        }
    }
}

struct Run<'a> {
    case: &'a Case,
    module: Module,
    facts: Facts,
    assignment: Assignment,
    decisions: Decisions,
}

/// Whatever the module, its assignment is the same again, no value is lost that another assignment could keep, heaps are
/// packed as the slow packer does it and no smaller than what is alive, and the dumps read back as they were written.
///
/// # Panics
///
/// When that is not so.
pub fn assign(bytes: &[u8]) {
    let case = Case::new(bytes);
    let run = Run::new(&case);
    run.is_the_same_again();
    run.loses_nothing();
    run.is_packed_well();
    run.reads_back();
}

impl<'a> Run<'a> {
    fn new(case: &'a Case) -> Self {
        let text = &case.text;
        let module = match hlo::read(text).complete() {
            Ok(module) => module,
            Err(remarks) => panic!("{remarks:?}\n{text}"),
        };
        let target = Target::tuned(case.backend, &module);
        let orders = Orders::guess(&module, &target);
        let facts = if case.no_schedule {
            Facts::without_schedule(&module, orders, target)
        } else {
            Facts::new(&module, orders, target)
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(e) => panic!("{}\n{text}", e.describe(&module)),
        };
        let (assignment, decisions) = assigner::assign(&module, &facts, &facts.ranges, &case.options);
        Self { case, module, facts, assignment, decisions }
    }

    /// In words, with what can be done about it.
    fn about(&self) -> String {
        let Case { text, backend, no_schedule, options } = self.case;
        let dump = dumps::buffer_assignment(&self.module, &self.facts, &self.assignment);
        format!("{} no_schedule: {no_schedule} {options:?}\n{text}\n{dump}", backend.name())
    }

    fn is_the_same_again(&self) {
        let again = Run::new(self.case);
        assert_eq!(self.decisions, again.decisions, "{}", self.about());
        let all = dumps::all(&self.module, &self.facts, &self.assignment);
        assert_eq!(all, dumps::all(&again.module, &again.facts, &again.assignment), "{}", self.about());
    }

    fn loses_nothing(&self) {
        let facts = &self.facts;
        let plan = Plan::parse(&dumps::buffer_assignment(&self.module, facts, &self.assignment));
        let plan = plan.expect("our own assignment");
        let backend = match self.case.backend {
            Backend::Cpu => checker::Backend::Cpu,
            Backend::Gpu => checker::Backend::Gpu,
            Backend::Tpu => checker::Backend::Tpu,
        };
        let bound = |instruction, sub| {
            let value = facts.dataflow.unique_at(Position { instruction, sub })?;
            Some(facts.value(value).buffer.0)
        };
        let options = checker::Options { budget: 200_000, ..checker::Options::new(backend) };
        let report = checker::check_bound(&self.module, &plan, &options, &bound).expect("a module that runs");
        if let Verdict::Wrong(violation) = &report.verdict {
            // XLA's own rule; see `a_second_name_of_an_operand` in the checker's tests.
            let is_known = matches!(**violation, Violation::OverOperand { is_second_reading: true, .. });
            assert!(is_known, "{violation}\n{}", self.about());
        }
    }

    fn is_packed_well(&self) {
        for heap in &self.assignment.heaps {
            let plain = packing::fuzzing::pack_plainly(&heap.events, &heap.options);
            assert_eq!(Ok(&heap.packing), plain.as_ref(), "{}", self.about());
            let alive = packing::peak_live_size(&heap.events).expect("events in order");
            assert!(heap.packing.total() >= alive, "{alive} B are alive\n{}", self.about());
            let alignment = heap.options.alignment;
            let chunks = heap.packing.heaps.iter().flat_map(|h| &h.chunks);
            for (_, chunk) in chunks {
                assert!(chunk.offset.is_multiple_of(alignment), "{chunk:?}\n{}", self.about());
            }
        }
    }

    fn reads_back(&self) {
        let (module, facts) = (&self.module, &self.facts);
        let name = |v| facts.label(module, v).trim_end_matches("{}").to_owned();
        let text = dumps::buffer_assignment(module, facts, &self.assignment);
        let (file, remarks) = dumps::read::buffer_assignment(&text);
        assert!(remarks.is_empty(), "{remarks:?}\n{}", self.about());
        let had: Vec<_> = self
            .assignment
            .allocations
            .iter()
            .map(|a| {
                let values = a.values.iter().map(|p| (p.value.0, name(p.value), p.size, p.offset));
                (a.size, a.color.0, a.is_constant, a.maybe_live_out, values.collect::<Vec<_>>())
            })
            .collect();
        let got: Vec<_> = file
            .allocations
            .iter()
            .map(|a| {
                let values =
                    a.values.iter().map(|p| (p.value.id, p.value.name.to_string(), p.size, p.offset));
                (a.size.bytes, a.color, a.is_constant, a.maybe_live_out, values.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(got, had, "{}", self.about());
        let (_, remarks) = dumps::read::values(&dumps::values(module, facts, &self.assignment));
        assert!(remarks.is_empty(), "{remarks:?}\n{}", self.about());
        let (file, remarks) = dumps::read::live_range(&dumps::live_range(module, facts));
        assert!(remarks.is_empty(), "{remarks:?}\n{}", self.about());
        let had: Vec<_> = facts.ranges.iter().map(|(v, r)| (name(v), r.start.0, r.end.0)).collect();
        let got: Vec<_> = file.ranges.iter().map(|r| (r.name.to_string(), r.start, r.end)).collect();
        assert_eq!(got, had, "{}", self.about());
        let report = dumps::memory_usage_report(module, facts, &self.assignment);
        let (_, remarks) = dumps::read::memory_usage_report(&report);
        assert!(remarks.is_empty(), "{remarks:?}\n{}", self.about());
    }
}
