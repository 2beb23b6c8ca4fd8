//! The checker, told what the analysis knows to be bound to one buffer.

use analysis::{Backend, Facts, Position};
use checker::{CheckError, Plan, Report};
use hlo::Module;

/// Whose rules hold.
pub(crate) fn backend(target: Backend) -> checker::Backend {
    match target {
        Backend::Cpu => checker::Backend::Cpu,
        Backend::Gpu => checker::Backend::Gpu,
        Backend::Tpu => checker::Backend::Tpu,
    }
}

/// What the checker says. Without facts nothing is known to be the module's own fault.
pub(crate) fn report(
    module: &Module,
    facts: Option<&Facts>,
    plan: &Plan,
    options: &checker::Options,
) -> Result<Report, CheckError> {
    let Some(facts) = facts else {
        let verdict = checker::check(module, plan, options)?;
        return Ok(Report { verdict, forced: Vec::new() });
    };
    let bound = |instruction, sub| {
        let value = facts.dataflow.unique_at(Position { instruction, sub })?;
        Some(facts.value(value).buffer.0)
    };
    checker::check_bound(module, plan, options, &bound)
}

/// In debug builds, every assignment of ours is executed before anybody sees it. What the module itself loses is not its
/// fault, and one rule of XLA's is known to lose values: a fusion that reads one value through two operands is asked about
/// one of them only, and may write over what it has still to read through the other.
pub(crate) fn assert_right(module: &Module, facts: &Facts, assignment: &assigner::Assignment) {
    let text = dumps::buffer_assignment(module, facts, assignment);
    let plan = match Plan::parse(&text) {
        Ok(plan) => plan,
        Err(e) => panic!("our own assignment: {e}"),
    };
    let options =
        checker::Options { budget: 1_000_000, ..checker::Options::new(backend(facts.target.backend)) };
    // Modules that the checker cannot run, too deep or too large, are nobody's fault.
    let Ok(report) = report(module, Some(facts), &plan, &options) else { return };
    let checker::Verdict::Wrong(violation) = report.verdict else { return };
    let is_known = matches!(*violation, checker::Violation::OverOperand { is_second_reading: true, .. });
    assert!(is_known, "our own assignment: {violation}");
}
