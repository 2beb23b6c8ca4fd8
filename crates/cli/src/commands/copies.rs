//! `bufferscope copies MODULE [--stage STAGE] [--region-analysis]`

use crate::input::ModuleArguments;
use crate::{Answer, Failure, say};
use copy_insertion::{Options, RegionAnalysis, Stage};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    module: ModuleArguments,
    /// Stop after this phase: added, removed, special or after
    #[arg(long, value_name = "STAGE", value_parser = stage, default_value = "after")]
    stage: Stage,
    /// Ask region analysis where the plain test fails (`--xla_cpu_copy_insertion_use_region_analysis`)
    #[arg(long)]
    region_analysis: bool,
}

fn stage(name: &str) -> Result<Stage, String> {
    match name {
        "added" => Ok(Stage::Added),
        "removed" => Ok(Stage::Removed),
        "special" => Ok(Stage::Special),
        "after" => Ok(Stage::After),
        _ => Err(format!("`{name}` is no stage, expected added, removed, special or after")),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    let input = arguments.module.unanalysed(analysis::Orders::guess)?;
    let region_analysis =
        if arguments.region_analysis { RegionAnalysis::Always } else { RegionAnalysis::Never };
    let options = Options { region_analysis, stop_after: arguments.stage };
    let outcome = copy_insertion::insert_copies(&input.module, &input.orders, &input.target, options)
        .map_err(|e| arguments.module.failure(&input.module, e.instruction(), &e.describe(&input.module)))?;
    say(&hlo::print(&outcome.module))
}
