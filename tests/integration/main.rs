//! Integration tests: one binary, one file per behaviour.

#[cfg(feature = "cli")]
mod attack;
mod attack_run;
#[cfg(feature = "toolkit")]
mod augment;
#[cfg(feature = "cli")]
mod certify;
#[cfg(feature = "toolkit")]
#[path = "../support/changes.rs"]
mod changes;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod cli_deadlines;
#[cfg(feature = "cli")]
mod cli_edit;
#[cfg(feature = "cli")]
mod cli_files;
#[cfg(feature = "cli")]
mod cli_inputs;
#[cfg(feature = "cli")]
mod cli_looks;
#[cfg(feature = "cli")]
mod cli_models;
#[cfg(feature = "cli")]
mod cli_output;
#[cfg(feature = "cli")]
mod cli_preemption;
#[cfg(feature = "cli")]
mod cli_report;
#[cfg(feature = "cli")]
mod cli_serving;
#[cfg(feature = "cli")]
mod cli_training;
#[path = "../support/common.rs"]
mod common;
mod compat;
mod compiled_tree;
mod decima_golden;
#[cfg(feature = "cli")]
mod degenerate;
#[cfg(feature = "cli")]
#[path = "../support/degenerate_student.rs"]
mod degenerate_student;
mod dl2_golden;
#[path = "../../examples/embed.rs"]
mod embed;
#[cfg(feature = "cli")]
mod embedded;
#[cfg(feature = "cli")]
mod explain;
#[cfg(feature = "toolkit")]
mod explainer_counterfactual;
#[cfg(feature = "toolkit")]
mod explainer_definitions;
#[cfg(feature = "toolkit")]
mod explainer_reference;
mod export;
mod export_source;
mod export_student;
#[cfg(feature = "toolkit")]
mod features;
#[cfg(feature = "cli")]
mod figures;
#[cfg(feature = "toolkit")]
#[path = "../support/foreign_tree.rs"]
mod foreign_tree;
#[cfg(feature = "cli")]
mod formulas;
#[cfg(feature = "cli")]
mod front_door;
mod golden_traces;
#[cfg(feature = "cli")]
mod histories;
#[cfg(feature = "toolkit")]
mod itself;
mod job_logs;
#[cfg(feature = "toolkit")]
#[path = "../support/json_schema.rs"]
mod json_schema;
#[cfg(all(feature = "cli", unix))]
mod kills;
mod laws;
#[cfg(feature = "toolkit")]
mod learner_reference;
#[cfg(feature = "cli")]
mod limits;
#[cfg(feature = "toolkit")]
mod loops;
#[cfg(feature = "cli")]
mod mutants;
#[cfg(feature = "toolkit")]
#[path = "../support/mutate.rs"]
mod mutate;
mod new_scenario;
#[cfg(feature = "cli")]
mod numbers;
#[cfg(feature = "toolkit")]
#[path = "../support/other_numbers.rs"]
mod other_numbers;
mod preemption_golden;
#[cfg(feature = "cli")]
#[path = "../support/program.rs"]
mod program;
#[cfg(feature = "cli")]
#[path = "../support/random_scorer.rs"]
mod random_scorer;
#[path = "../support/random_student.rs"]
mod random_student;
#[path = "../support/random_tree.rs"]
mod random_tree;
#[cfg(feature = "toolkit")]
mod registry;
#[path = "../support/replay.rs"]
mod replay;
#[cfg(feature = "report")]
mod report;
#[cfg(feature = "cli")]
mod scorer;
#[cfg(feature = "toolkit")]
mod serve;
#[cfg(feature = "toolkit")]
mod shards;
mod simulator;
#[cfg(feature = "toolkit")]
mod states;
mod strand;
#[cfg(feature = "toolkit")]
#[path = "../support/synthetic.rs"]
mod synthetic;
mod tpch_cleaning;
#[cfg(feature = "toolkit")]
mod trace_files;
