//! The command line: reads arguments, runs one command, turns the outcome into an exit status.

mod analyze;
mod arguments;
mod campaign_series;
mod cli;
mod evaluate;
mod evaluate_calibration;
mod evaluate_campaigns;
mod evaluate_headers;
mod evaluate_kinds;
mod evaluate_paths;
mod evaluate_sessions;
mod explain;
mod feed;
mod files;
mod follow;
mod gate;
mod gate_file;
mod incident;
mod inspect;
mod kb;
mod labelled;
mod lessons;
mod lists;
mod logs;
mod model;
mod path_examples;
mod paths;
mod plan;
mod publish;
mod replay;
mod report;
mod reports;
mod second;
mod session_examples;
mod simulate;
mod table_8;
mod train;
mod train_campaigns;
mod train_headers;
mod train_paths;
mod train_sessions;

use std::io;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

/// Millions of small profiles are made by several threads: glibc's allocator needs a quarter more memory and time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = cli::Cli::parse().command;
    let outcome = arguments::check(&command).and_then(|()| run(command));
    match outcome {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "cattlegrid: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: cli::Command) -> anyhow::Result<ExitCode> {
    match command {
        cli::Command::Analyze(arguments) => analyze::run(&arguments),
        cli::Command::Report(arguments) => report::run(&arguments),
        cli::Command::Inspect(arguments) => inspect::run(&arguments),
        cli::Command::Simulate(arguments) => simulate::run(&arguments),
        cli::Command::Paths { command } => paths::run(&command),
        cli::Command::Train(arguments) if arguments.headers => train_headers::run(&arguments),
        cli::Command::Train(arguments) if arguments.campaigns => train_campaigns::run(&arguments),
        cli::Command::Train(arguments) if arguments.paths => train_paths::run(&arguments),
        cli::Command::Train(arguments) if arguments.sessions => train_sessions::run(&arguments),
        cli::Command::Train(arguments) => train::run(&arguments),
        cli::Command::Evaluate(arguments) if arguments.paths => evaluate_paths::run(&arguments),
        cli::Command::Evaluate(arguments) if arguments.sessions => {
            evaluate_sessions::run(&arguments)
        }
        cli::Command::Evaluate(arguments) if arguments.campaigns => {
            evaluate_campaigns::run(&arguments)
        }
        cli::Command::Evaluate(arguments) if arguments.headers => evaluate_headers::run(&arguments),
        cli::Command::Evaluate(arguments) if arguments.leave_kinds_out => {
            evaluate_kinds::run(&arguments)
        }
        cli::Command::Evaluate(arguments) => evaluate::run(&arguments),
        cli::Command::Model { command } => match command {
            cli::ModelCommand::Publish(arguments) => publish::publish(&arguments),
            cli::ModelCommand::Back { model } => publish::back(&model),
            cli::ModelCommand::Show { model } => publish::show(model.as_deref()),
        },
        cli::Command::Explain { detector } => explain::run(detector.as_deref()),
        cli::Command::Plan(arguments) => plan::run(&arguments),
        cli::Command::Replay(arguments) => replay::run(&arguments),
        cli::Command::Kb(arguments) => kb::run(&arguments),
        cli::Command::Gate(arguments) => gate::run(&arguments),
        cli::Command::Incident(arguments) => incident::run(&arguments),
        cli::Command::Check { config } => gate::check(&config),
        cli::Command::RotateKeys { config, leaked } => gate::rotate_keys(&config, leaked),
        cli::Command::Lists { command } => match command {
            cli::ListsCommand::Update { from, lists, force } => {
                let change = match force {
                    true => lists::Change::Forced,
                    false => lists::Change::Checked,
                };
                lists::update(&from, lists, change)
            }
            cli::ListsCommand::Show { lists } => lists::show(lists),
        },
        cli::Command::Config {
            command: cli::ConfigCommand::Show,
        } => explain::show_defaults(),
    }
}

/// Whoever reads our output has seen enough: that is no error.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
